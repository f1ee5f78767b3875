import Glibc

/// What `lstat` or `fstat` says, as far as the store asks.
struct FileStatus {
    private let status: stat

    /// The entry itself, not what a link points to; nil when there is none.
    ///
    /// - Throws: `StoreError` when it cannot be told.
    init?(at path: String) throws(StoreError) {
        var status = stat()
        guard lstat(path, &status) == 0 else {
            if errno == ENOENT { return nil }
            throw StoreError(errno: errno, path: path, action: "cannot examine")
        }
        self.status = status
    }

    /// An open file; nil when the descriptor is bad.
    init?(descriptor: Int32) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return nil }
        self.status = status
    }

    var isRegularFile: Bool { status.st_mode & S_IFMT == S_IFREG }
    var isDirectory: Bool { status.st_mode & S_IFMT == S_IFDIR }
    var isSymbolicLink: Bool { status.st_mode & S_IFMT == S_IFLNK }
    var isOwnedByUser: Bool { status.st_uid == geteuid() }
    var isOwnedByRoot: Bool { status.st_uid == 0 }
    var size: Int64 { Int64(status.st_size) }
    /// The permission bits.
    var permissions: mode_t { status.st_mode & 0o7777 }
    /// Whether group or others have any right.
    var isLoose: Bool { permissions & 0o077 != 0 }
    /// Whether group or others may change it.
    var isWritableByOthers: Bool { permissions & 0o022 != 0 }
    /// Seconds since 1970.
    var modifiedAt: Double { Double(status.st_mtim.tv_sec) + Double(status.st_mtim.tv_nsec) / 1e9 }

    /// Inode, length and times as a text: another one after every change that does not set out to hide itself.
    var fingerprint: String {
        "\(status.st_ino) \(status.st_size) \(status.st_mtim.tv_sec).\(status.st_mtim.tv_nsec) "
            + "\(status.st_ctim.tv_sec).\(status.st_ctim.tv_nsec)\n"
    }

    /// Whether both are the same file.
    func isSameFile(as other: FileStatus) -> Bool {
        status.st_dev == other.status.st_dev && status.st_ino == other.status.st_ino
    }
}
