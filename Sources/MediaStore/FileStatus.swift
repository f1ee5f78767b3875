import CFileSystem
import Glibc
import MediaSystem

/// The result of `lstat` or `fstat`, limited to what the store uses.
struct FileStatus {
    private let status: stat

    /// The entry itself, not the target of a link; nil if there is none.
    init?(at path: String) throws(StoreError) {
        var status = stat()
        guard lstat(path, &status) == 0 else {
            if errno == ENOENT { return nil }
            throw StoreError(errno: errno, path: path, action: "cannot examine")
        }
        self.status = status
    }

    /// An open file; nil if the descriptor is bad.
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
    var permissions: mode_t { status.st_mode & 0o7777 }
    /// Whether group or others have any permission.
    var isLoose: Bool { permissions & 0o077 != 0 }
    /// Whether group or others may change the file.
    var isWritableByOthers: Bool { permissions & 0o022 != 0 }
    var modifiedAt: Double { Double(status.st_mtim.tv_sec) + Double(status.st_mtim.tv_nsec) / 1e9 }

    /// Identifies the file, regardless of its name and content.
    var key: FileIdentity.Key { FileIdentity.Key(FileIdentity(status)) }

    /// Inode, length and times as text, which differs after every change that is not deliberately hidden.
    var fingerprint: String {
        "\(status.st_ino) \(status.st_size) \(status.st_mtim.tv_sec).\(status.st_mtim.tv_nsec) "
            + "\(status.st_ctim.tv_sec).\(status.st_ctim.tv_nsec)\n"
    }

    /// Throws `.unsafe` for anything but a regular file owned by this user.
    static func requireOwnFile(_ status: FileStatus?, at path: String) throws(StoreError) {
        guard let status, status.isRegularFile, status.isOwnedByUser else {
            throw StoreError(.unsafe, path: path, detail: "not a regular file owned by this user")
        }
    }
}

/// The columns of the identity of a file; all are null if there is no identity.
protocol IdentityColumns {
    var device: Int64? { get set }
    var inode: Int64? { get set }
    var fileSize: Int64? { get set }
    var modifiedNanoseconds: Int64? { get set }
    var changedNanoseconds: Int64? { get set }
}

extension IdentityColumns {
    var storedIdentity: FileIdentity? {
        get {
            guard let device, let inode, let fileSize, let modifiedNanoseconds, let changedNanoseconds else {
                return nil
            }
            return FileIdentity(
                device: UInt64(bitPattern: device),
                inode: UInt64(bitPattern: inode),
                size: fileSize,
                modificationNanoseconds: modifiedNanoseconds,
                changeNanoseconds: changedNanoseconds
            )
        }
        set {
            device = newValue.map { Int64(bitPattern: $0.device) }
            inode = newValue.map { Int64(bitPattern: $0.inode) }
            fileSize = newValue?.size
            modifiedNanoseconds = newValue?.modificationNanoseconds
            changedNanoseconds = newValue?.changeNanoseconds
        }
    }
}

/// The capabilities of the file system that contains the store.
enum FileSystemKind: Sendable {
    /// Shared memory works between processes: write-ahead log.
    case local
    /// Shared memory does not work across machines, but locks do: rollback journal.
    case network
    /// Not even locks work: the store cannot be kept there.
    case networkWithoutLocks

    static func detect(_ directory: DataDirectory) throws(StoreError) -> FileSystemKind {
        guard try isNetwork(directory.path) else { return .local }
        return try locksWork(in: directory) ? .network : .networkWithoutLocks
    }

    /// Whether a file or directory may be on another machine.
    static func isNetwork(_ path: String) throws(StoreError) -> Bool {
        var type: UInt32 = 0
        let code = file_system_type(path, &type)
        guard code == 0 else { throw StoreError(errno: code, path: path, action: "cannot examine the file system") }
        return networkTypes.contains(type)
    }

    /// `f_type` of statfs(2). FUSE does not report its backing store (sshfs, or a local disk): the rollback journal is
    /// correct on both and only slower, so it counts as network.
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

    /// Whether record locks, which SQLite requires, and `flock`, which the store requires, are granted.
    private static func locksWork(in directory: DataDirectory) throws(StoreError) -> Bool {
        let path = directory.lockFile("probe-" + RandomName.make())
        let descriptor = try openFile(path, O_RDWR | O_CREAT | O_EXCL, "cannot create")
        defer {
            unlink(path)
            close(descriptor)
        }
        var range = Glibc.flock()
        range.l_type = Int16(F_WRLCK)
        range.l_whence = Int16(SEEK_SET)
        guard fcntl(descriptor, F_SETLK, &range) == 0 else { return false }
        // On NFS, `flock` takes a record lock, so the lock above must be released first.
        range.l_type = Int16(F_UNLCK)
        guard fcntl(descriptor, F_SETLK, &range) == 0 else { return false }
        return flock(descriptor, LOCK_EX | LOCK_NB) == 0
    }
}

enum FreeSpace {
    /// Bytes available to this user. Some network file systems report more than 64 bits can hold; the result is then
    /// the maximum.
    static func bytes(_ status: statvfs) -> UInt64 {
        let (bytes, isTooMany) = UInt64(status.f_bavail).multipliedReportingOverflow(by: UInt64(status.f_frsize))
        return isTooMany ? .max : bytes
    }
}
