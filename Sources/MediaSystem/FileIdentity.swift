package import Glibc

/// Identifies the content of a local file without reading it, by the members of `struct stat` that change with it.
public struct FileIdentity: Sendable, Equatable {
    public var device: UInt64
    public var inode: UInt64
    /// Length in bytes.
    public var size: Int64
    /// Time of the last change of content, nanoseconds since 1970.
    public var modificationNanoseconds: Int64
    /// Time of the last change of status, nanoseconds since 1970.
    public var changeNanoseconds: Int64

    public init(device: UInt64, inode: UInt64, size: Int64, modificationNanoseconds: Int64, changeNanoseconds: Int64) {
        self.device = device
        self.inode = inode
        self.size = size
        self.modificationNanoseconds = modificationNanoseconds
        self.changeNanoseconds = changeNanoseconds
    }

    /// Identifies the file, regardless of its content.
    package struct Key: Sendable, Hashable {
        private let device: UInt64
        private let inode: UInt64

        package init(_ identity: FileIdentity) {
            device = identity.device
            inode = identity.inode
        }
    }

    package init(_ status: stat) {
        self.init(
            device: UInt64(status.st_dev),
            inode: UInt64(status.st_ino),
            size: Int64(status.st_size),
            modificationNanoseconds: Self.nanoseconds(status.st_mtim),
            changeNanoseconds: Self.nanoseconds(status.st_ctim)
        )
    }

    /// The identity of the regular file at a path, following symbolic links, without opening the file; nil if there is
    /// none.
    package init?(ofRegularFile path: [UInt8]) {
        var status = stat()
        guard !path.contains(0), stat(path.cString, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            return nil
        }
        self.init(status)
    }

    /// The identity of the file of an open descriptor; nil if the descriptor is bad.
    package init?(descriptor: Int32) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return nil }
        self.init(status)
    }

    /// Whether only the file's name, links, permissions or attributes may have changed since `earlier`, unless a
    /// program has changed the content and restored the time of modification.
    package func isProbablyUnchanged(since earlier: FileIdentity) -> Bool {
        Key(self) == Key(earlier) && size == earlier.size
            && modificationNanoseconds == earlier.modificationNanoseconds
    }

    /// The error for the file or directory at a path, following symbolic links; 0 if its metadata can be read.
    package static func errorCode(of path: [UInt8]) -> Int32 {
        var status = stat()
        guard !path.contains(0) else { return ENOENT }
        return stat(path.cString, &status) == 0 ? 0 : errno
    }

    /// Whether nothing exists at a path. False if that cannot be determined, for example because its directory cannot
    /// be read.
    package static func isMissing(_ path: [UInt8]) -> Bool { [ENOENT, ENOTDIR].contains(errorCode(of: path)) }

    /// Wraps around for the implausible times of some file systems; the value is only compared.
    private static func nanoseconds(_ time: timespec) -> Int64 {
        Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
    }
}

extension [UInt8] {
    /// A path as the system requires it: signed, NUL-terminated.
    package var cString: [CChar] { map(CChar.init(bitPattern:)) + [0] }
}
