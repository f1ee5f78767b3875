import Glibc

/// What a file system has left.
enum FreeSpace {
    /// Bytes that this user may still write; a number that fits nowhere, as some network file systems tell, is a great many.
    static func bytes(_ status: statvfs) -> UInt64 {
        let (bytes, isTooMany) = UInt64(status.f_bavail).multipliedReportingOverflow(by: UInt64(status.f_frsize))
        return isTooMany ? .max : bytes
    }
}
