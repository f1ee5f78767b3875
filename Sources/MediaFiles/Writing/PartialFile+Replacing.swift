internal import Glibc
internal import MediaSystem

extension PartialFile {
    /// Gives the file its name in the place of whatever had it, and waits until that is on the disk. Blocks.
    ///
    /// - Parameter new: Need not be UTF-8. Readers find the file that had it, or this one; never a part.
    /// - Throws: `FileWriteError`; the file may have its name already when only the waiting failed.
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
