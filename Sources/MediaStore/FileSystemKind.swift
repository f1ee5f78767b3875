import CFileSystem
import Glibc

/// What the store may expect of the file system it lies on.
enum FileSystemKind: Sendable {
    /// Shared memory works between processes: write-ahead log.
    case local
    /// Shared memory does not reach other machines, locks do: rollback journal.
    case network
    /// Not even locks: the store cannot be kept there.
    case networkWithoutLocks

    /// Looks at a directory.
    static func detect(_ directory: DataDirectory) throws(StoreError) -> FileSystemKind {
        guard try isNetwork(directory.path) else { return .local }
        return try locksWork(in: directory) ? .network : .networkWithoutLocks
    }

    /// Whether a file or directory may lie on another machine.
    static func isNetwork(_ path: String) throws(StoreError) -> Bool {
        var type: UInt32 = 0
        let code = file_system_type(path, &type)
        guard code == 0 else { throw StoreError(errno: code, path: path, action: "cannot examine the file system") }
        return networkTypes.contains(type)
    }

    /// `f_type` of statfs(2). FUSE does not tell what is behind it (sshfs, or a local disk): the rollback journal is
    /// right on both and only slower, so it counts as network.
    private static let networkTypes: Set<UInt32> = [
        0x6969,  // NFS
        0x517B, 0xFE53_4D42, 0xFF53_4D42,  // SMB, SMB2, CIFS
        0x6573_5546,  // FUSE, virtiofs
        0x0102_1997,  // 9p
        0x5346_414F, 0x6B41_4653,  // AFS
        0x00C3_6400,  // Ceph
        0x7375_7245,  // Coda
        0x564C,  // NCP
        0x0BD0_0BD0,  // Lustre
        0x786F_4256,  // VirtualBox shared folder
        0x0116_1970, 0x7461_636F,  // GFS2, OCFS2
    ]

    /// Whether record locks, which SQLite needs, and `flock`, which we need, are granted.
    private static func locksWork(in directory: DataDirectory) throws(StoreError) -> Bool {
        let path = directory.lockFile("probe-" + RandomName.make())
        let descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw StoreError(errno: errno, path: path, action: "cannot create") }
        defer {
            unlink(path)
            close(descriptor)
        }
        var range = Glibc.flock()
        range.l_type = Int16(F_WRLCK)
        range.l_whence = Int16(SEEK_SET)
        guard fcntl(descriptor, F_SETLK, &range) == 0 else { return false }
        // On NFS a flock is a record lock, so the one above has to go first.
        range.l_type = Int16(F_UNLCK)
        guard fcntl(descriptor, F_SETLK, &range) == 0 else { return false }
        return flock(descriptor, LOCK_EX | LOCK_NB) == 0
    }
}
