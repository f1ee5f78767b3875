internal import Glibc
internal import MediaSystem

extension PartialFile {
    /// Gives the file its name in the place of whatever had it, and waits until that is on the disk. Blocks.
    ///
    /// - Parameter name: Readers find the file that had it, or this one; never a part.
    /// - Throws: `FileWriteError`; the file may have its name already when only the waiting failed.
    package func publish(replacing name: String) throws(FileWriteError) {
        try publish(replacing: Array(name.utf8))
    }

    /// The same for a name that need not be UTF-8.
    package func publish(replacing new: [UInt8]) throws(FileWriteError) {
        let directoryDescriptor = directory.descriptor
        guard
            renameat(
                directoryDescriptor,
                self.name.cString,
                directoryDescriptor,
                new.cString
            ) == 0
        else { throw FileWriteError(errno: errno, path: directory.path(of: new)) }
        try directory.synchronize()
    }
}
