/// A local file, opened once and checked before anything is sent.
public final class SourceFile: Sendable {
    /// The path as given, as bytes.
    public let path: [UInt8]
    /// Open for reading; owned until `release()` hands it on, closed with the last reference otherwise.
    public let descriptor: Int32
    /// What `fstat` said when it was opened.
    public let status: FileStatus

    /// Opens a regular, readable file. Never blocks on a FIFO or a device.
    ///
    /// - Throws: `SourceFileError`.
    public init(path: [UInt8]) throws(SourceFileError) {
        self.path = path
        descriptor = -1
        status = FileStatus(device: 0, inode: 0, size: 0, modificationNanoseconds: 0, changeNanoseconds: 0)
    }

    /// What `fstat` says now of the open file, and `stat` of its path: equal to `status` when nothing has changed.
    public func currentStatus() throws(SourceFileError) -> FileStatus { status }

    /// The first bytes, at most `count`.
    public func prefix(_ count: Int) throws(SourceFileError) -> [UInt8] { [] }
}

/// The members of `struct stat` that change when a file's content does.
public struct FileStatus: Sendable, Equatable {
    /// Device number.
    public var device: UInt64
    /// Inode number.
    public var inode: UInt64
    /// Length in bytes.
    public var size: Int64
    /// Nanoseconds since 1970.
    public var modificationNanoseconds: Int64
    /// Nanoseconds since 1970.
    public var changeNanoseconds: Int64

    /// Makes a status.
    public init(
        device: UInt64, inode: UInt64, size: Int64, modificationNanoseconds: Int64, changeNanoseconds: Int64
    ) {
        self.device = device
        self.inode = inode
        self.size = size
        self.modificationNanoseconds = modificationNanoseconds
        self.changeNanoseconds = changeNanoseconds
    }
}

/// Why a local file cannot be sent.
public struct SourceFileError: Error, Sendable, Equatable {
    /// The cause.
    public enum Kind: Sendable, Equatable {
        /// There is no such file.
        case notFound
        /// No permission to read it.
        case permissionDenied
        /// It is a directory.
        case isDirectory
        /// It is a FIFO, a socket or a device.
        case notRegular
        /// It has no bytes.
        case empty
        /// Reading failed.
        case io(errno: Int32)
    }

    /// The cause.
    public var kind: Kind
    /// The path as given.
    public var path: [UInt8]

    /// Makes an error.
    public init(_ kind: Kind, path: [UInt8]) {
        self.kind = kind
        self.path = path
    }
}
