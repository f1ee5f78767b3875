internal import Glibc

/// The current directory of the process.
package enum CurrentDirectory {
    /// The absolute path of the directory; nil if it was removed.
    package static var path: [UInt8]? {
        // The system allocates the required memory.
        guard let path = getcwd(nil, 0) else { return nil }
        defer { free(path) }
        return Array(UnsafeRawBufferPointer(start: path, count: strlen(path)))
    }
}
