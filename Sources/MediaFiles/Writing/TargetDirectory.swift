internal import CFileSystem
internal import Glibc
package import MediaSystem

/// An open directory to which files are written. All access is through its descriptor, so changes to its path cannot
/// lead outside it.
package final class TargetDirectory: Sendable {
    /// The path by which it was opened, as bytes, without a trailing slash; for messages and records.
    package let path: [UInt8]
    let descriptor: Int32

    private init(path: [UInt8], descriptor: Int32) {
        self.path = path
        self.descriptor = descriptor
    }

    deinit {
        // Closing is not sufficient: a child forked by another thread shares the lock until its exec.
        flock(descriptor, LOCK_UN)
        close(descriptor)
    }

    /// Opens a directory that the user specified, following links. `path` is absolute or relative. A missing directory
    /// is created with its parents if `isCreated` is true; otherwise the result is nil.
    package static func open(_ path: [UInt8], creating isCreated: Bool) throws(FileWriteError) -> TargetDirectory? {
        guard !path.contains(0) else { throw FileWriteError(errno: ENOENT, path: path) }
        let path = withoutTrailingSlashes(path)
        if isCreated { try makeDirectories(path) }
        let directory = try open(path, flags: O_RDONLY)
        if directory == nil, isCreated { throw FileWriteError(errno: ENOENT, path: path) }
        return directory
    }

    static func open(_ path: [UInt8], flags: Int32) throws(FileWriteError) -> TargetDirectory? {
        let path = withoutTrailingSlashes(path)
        let descriptor = Glibc.open(path.cString, flags | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw FileWriteError(errno: errno, path: path)
        }
        return TargetDirectory(path: path, descriptor: descriptor)
    }

    /// Opens a directory in this one; nil if it is missing and not to be created.
    ///
    /// - Throws: `.unsafe` for a link, which is not followed, or a file with that name.
    package func subdirectory(_ name: String, creating isCreated: Bool) throws(FileWriteError) -> TargetDirectory? {
        let bytes = Array(name.utf8)
        let path = path(of: bytes)
        if isCreated, mkdirat(descriptor, bytes.cString, 0o777) == 0 {
            try synchronize()
        } else if isCreated, errno != EEXIST {
            throw FileWriteError(errno: errno, path: path)
        }
        let directory = try subdirectory(bytes, flags: O_RDONLY)
        if directory == nil, isCreated { throw FileWriteError(errno: ENOENT, path: path) }
        return directory
    }

    func subdirectory(_ name: [UInt8], flags: Int32) throws(FileWriteError) -> TargetDirectory? {
        let opened = openat(descriptor, name.cString, flags | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0)
        guard opened >= 0 else {
            if errno == ENOENT { return nil }
            throw FileWriteError(errno: errno, path: path(of: name))
        }
        return TargetDirectory(path: path(of: name), descriptor: opened)
    }

    /// Creates a directory (0700) in this one and opens it; nil if it was removed before it could be opened.
    ///
    /// - Throws: `.exists` if the name is taken.
    package func makePrivateSubdirectory(_ name: String) throws(FileWriteError) -> TargetDirectory? {
        let bytes = Array(name.utf8)
        try check(bytes) { mkdirat(descriptor, bytes.cString, 0o700) }
        // The umask may have removed the owner's own permissions.
        guard fchmodat(descriptor, bytes.cString, 0o700, 0) == 0 else {
            if errno == ENOENT { return nil }
            throw FileWriteError(errno: errno, path: path(of: bytes))
        }
        return try subdirectory(name, creating: false)
    }

    /// Whether an entry of another directory is this directory.
    package func isEntry(_ name: [UInt8], of parent: TargetDirectory) throws(FileWriteError) -> Bool {
        var mine = stat()
        try check { fstat(descriptor, &mine) }
        guard let named = try parent.systemStatus(of: name) else { return false }
        return (named.st_dev, named.st_ino) == (mine.st_dev, mine.st_ino)
    }

    /// Removes an empty directory in this one; a missing directory is not an error.
    package func removeDirectory(_ name: [UInt8]) throws(FileWriteError) {
        try check(name, allowing: [ENOENT]) { unlinkat(descriptor, name.cString, AT_REMOVEDIR) }
    }

    /// Locks the directory until this object is freed or its process exits. This excludes only other callers of this
    /// method, and only if the file system supports such locks.
    ///
    /// - Throws: `.busy` if another object or process has locked it.
    package func lock() throws(FileWriteError) {
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK else {
            throw FileWriteError(.busy, path: path)
        }
    }

    /// Throws the system's error for an entry, or for the directory, if a call has failed.
    func check(_ name: [UInt8]? = nil, allowing allowed: [Int32] = [], _ call: () -> Int32) throws(FileWriteError) {
        guard call() < 0 else { return }
        let code = errno
        guard !allowed.contains(code) else { return }
        throw FileWriteError(errno: code, path: name.map(path(of:)) ?? path)
    }

    /// Whether this process may create files here, as far as can be determined without an attempt.
    package var isWritable: Bool { faccessat(descriptor, ".", W_OK | X_OK, AT_EACCESS) == 0 }

    package func path(of name: [UInt8]) -> [UInt8] { path + Array("/".utf8) + name }

    /// Calls `body` with each name, in unspecified order.
    package func forEachName(_ body: ([UInt8]) -> Void) throws(FileWriteError) {
        // Uses a separate descriptor, so each listing has its own position in the directory.
        let opened = openat(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0)
        guard opened >= 0 else { throw FileWriteError(errno: errno, path: path) }
        do {
            try DirectoryStream(owning: opened).forEachName(body)
        } catch {
            throw FileWriteError(errno: error.code, path: path)
        }
    }

    /// All names, in unspecified order.
    package func names() throws(FileWriteError) -> [[UInt8]] {
        var names: [[UInt8]] = []
        try forEachName { names.append($0) }
        return names
    }

    /// The status of an entry, without following links; nil if there is no such entry.
    package func status(of name: [UInt8]) throws(FileWriteError) -> FileIdentity? {
        try systemStatus(of: name).map(FileIdentity.init)
    }

    func systemStatus(of name: [UInt8]) throws(FileWriteError) -> stat? {
        var status = stat()
        guard fstatat(descriptor, name.cString, &status, AT_SYMLINK_NOFOLLOW) == 0 else {
            if errno == ENOENT { return nil }
            throw FileWriteError(errno: errno, path: path(of: name))
        }
        return status
    }

    /// Renames an entry without replacing anything.
    ///
    /// - Throws: `.exists` if the new name is taken.
    package func rename(_ old: [UInt8], to new: [UInt8]) throws(FileWriteError) {
        switch rename_without_replacing(descriptor, old.cString, new.cString) {
        case 0: return
        case EINVAL, ENOSYS, EOPNOTSUPP: try link(old, to: new)
        case let code: throw FileWriteError(errno: code, path: path(of: new))
        }
    }

    /// Like `rename`, for file systems (NFS, some of FUSE) on which only `link` never replaces a file. A directory
    /// cannot have a second name: for directories, `rename` itself refuses to replace a non-empty one.
    func link(_ old: [UInt8], to new: [UInt8]) throws(FileWriteError) {
        if let status = try systemStatus(of: old), status.st_mode & S_IFMT == S_IFDIR {
            return try renameDirectory(old, to: new)
        }
        try check(new) { linkat(descriptor, old.cString, descriptor, new.cString, 0) }
        try check(old) { unlinkat(descriptor, old.cString, 0) }
    }

    private func renameDirectory(_ old: [UInt8], to new: [UInt8]) throws(FileWriteError) {
        guard try systemStatus(of: new) == nil else { throw FileWriteError(.exists, path: path(of: new)) }
        try check(new) { renameat(descriptor, old.cString, descriptor, new.cString) }
    }

    /// Removes an entry; a missing entry is not an error.
    package func remove(_ name: [UInt8]) throws(FileWriteError) {
        try check(name, allowing: [ENOENT]) { unlinkat(descriptor, name.cString, 0) }
    }

    /// Syncs the directory to make its names durable.
    package func synchronize() throws(FileWriteError) {
        // EBADF: a directory that can be searched but not read cannot be synced; its owner has set these permissions.
        try check(allowing: [EINVAL, EBADF]) { fsync(descriptor) }
    }

    private static func withoutTrailingSlashes(_ path: [UInt8]) -> [UInt8] {
        var path = path
        while path.count > 1, path.last == UInt8(ascii: "/") { path.removeLast() }
        return path
    }

    private static func makeDirectories(_ path: [UInt8]) throws(FileWriteError) {
        if try makeDirectory(path) { return }
        guard let slash = path.lastIndex(of: UInt8(ascii: "/")), slash > 0 else {
            throw FileWriteError(errno: ENOENT, path: path)
        }
        try makeDirectories(withoutTrailingSlashes(Array(path[..<slash])))
        guard try makeDirectory(path) else { throw FileWriteError(errno: ENOENT, path: path) }
    }

    /// Creates one directory durably, unless it exists. Returns false if its parent is missing.
    private static func makeDirectory(_ path: [UInt8]) throws(FileWriteError) -> Bool {
        guard mkdir(path.cString, 0o777) == 0 else {
            if errno == EEXIST { return true }
            if errno == ENOENT { return false }
            throw FileWriteError(errno: errno, path: path)
        }
        // The directory's name is in its parent; a parent that cannot be read cannot be synced.
        try? open(path + Array("/..".utf8), flags: O_RDONLY)?.synchronize()
        return true
    }
}

/// Links, new directories, and small files. These methods never follow links.
extension TargetDirectory {
    // MARK: Opening

    /// Opens a directory that the user specified, to add entries to it; nil if it is missing. Permission to search the
    /// directory is sufficient; without permission to read it, it can be neither listed nor synced.
    ///
    /// - Throws: `.unsafe` if the path is not a directory.
    package static func openForAdding(_ path: [UInt8]) throws(FileWriteError) -> TargetDirectory? {
        do {
            return try open(path, creating: false)
        } catch {
            guard error.kind == .denied else { throw error }
            return try open(path, flags: searchOnly)
        }
    }

    /// Opens a directory in this one to add entries to it; nil if there is no such directory. `name` need not be UTF-8.
    ///
    /// - Throws: `.unsafe` for a link or a file with that name.
    package func subdirectoryForAdding(_ name: [UInt8]) throws(FileWriteError) -> TargetDirectory? {
        do {
            return try subdirectory(name, flags: O_RDONLY)
        } catch {
            guard error.kind == .denied else { throw error }
            return try subdirectory(name, flags: Self.searchOnly)
        }
    }

    /// Creates a directory in this one and opens it; nil if it was removed before it could be opened.
    ///
    /// - Throws: `.exists` if the name is taken.
    package func makeSubdirectory(_ name: [UInt8]) throws(FileWriteError) -> TargetDirectory? {
        try check(name) { mkdirat(descriptor, name.cString, 0o777) }
        return try subdirectoryForAdding(name)
    }

    /// `O_PATH` from open(2), a macro that is not imported into Swift.
    private static let searchOnly: Int32 = 0o10000000

    // MARK: Links

    /// Creates a symbolic link without replacing anything.
    ///
    /// - Throws: `.exists` if the name is taken.
    package func makeLink(_ name: [UInt8], to target: [UInt8]) throws(FileWriteError) {
        try check(name) { symlinkat(target.cString, descriptor, name.cString) }
    }

    /// The target of a link, as bytes; nil if there is no link with that name.
    package func target(ofLink name: [UInt8]) throws(FileWriteError) -> [UInt8]? {
        // PATH_MAX, which is larger than any target.
        var characters = [CChar](repeating: 0, count: 4096)
        let count = readlinkat(descriptor, name.cString, &characters, characters.count)
        guard count >= 0 else {
            if errno == ENOENT || errno == EINVAL { return nil }
            throw FileWriteError(errno: errno, path: path(of: name))
        }
        return characters[..<count].map(UInt8.init(bitPattern:))
    }

    /// The kind of an entry; nil if there is no such entry.
    package func kind(of name: [UInt8]) throws(FileWriteError) -> FileKind? {
        try systemStatus(of: name).map { FileKind(mode: $0.st_mode) }
    }

    /// Whether an entry belongs to another user; false if there is no such entry.
    package func isOfOthers(_ name: [UInt8]) throws(FileWriteError) -> Bool {
        try systemStatus(of: name).map { $0.st_uid != geteuid() } ?? false
    }

    /// Whether the directory `levels` levels above this one is the directory at a path.
    package func ancestor(_ levels: Int, isDirectory path: [UInt8]) -> Bool {
        var above = stat()
        var named = stat()
        let up = Array(repeatElement(Array("../".utf8), count: levels).joined()) + Array(".".utf8)
        guard fstatat(descriptor, up.cString, &above, 0) == 0, stat(path.cString, &named) == 0 else {
            return false
        }
        return (above.st_dev, above.st_ino) == (named.st_dev, named.st_ino)
    }

    // MARK: Small files

    /// The content of a regular file; nil if there is no file with that name.
    ///
    /// - Throws: `.unsafe` for a link, a directory, a FIFO, or a file larger than `longest` bytes, which is not read.
    package func content(of name: [UInt8], longest: Int) throws(FileWriteError) -> [UInt8]? {
        // O_NONBLOCK: opening a FIFO would wait for its writer.
        let flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC
        let opened = openat(descriptor, name.cString, flags, 0)
        guard opened >= 0 else {
            if errno == ENOENT { return nil }
            // ENXIO: the file is a socket.
            throw FileWriteError(errno: errno == ENXIO ? ELOOP : errno, path: path(of: name))
        }
        defer { close(opened) }
        var status = stat()
        guard fstat(opened, &status) == 0 else { throw FileWriteError(errno: errno, path: path(of: name)) }
        guard status.st_mode & S_IFMT == S_IFREG, status.st_size <= longest else {
            throw FileWriteError(.unsafe, path: path(of: name))
        }
        do {
            return try FileBytes.read(opened, at: 0, count: Int(status.st_size))
        } catch {
            throw FileWriteError(errno: error.code, path: path(of: name))
        }
    }

    // MARK: Permissions

    /// The permissions of the directory, as far as the system reports them.
    package func rights() throws(FileWriteError) -> DirectoryRights {
        var status = stat()
        try check { fstat(descriptor, &status) }
        var volume = statvfs()
        try check { fstatvfs(descriptor, &volume) }
        return DirectoryRights(
            mode: UInt32(status.st_mode & 0o7777),
            owner: status.st_uid,
            group: status.st_gid,
            device: UInt64(status.st_dev),
            isReadOnly: volume.f_flag & UInt(ST_RDONLY) != 0,
            isReadable: allows(R_OK),
            isWritable: allows(W_OK),
            isSearchable: allows(X_OK)
        )
    }

    /// Without permission to search the directory, no access is possible.
    private func allows(_ mode: Int32) -> Bool { faccessat(descriptor, ".", mode, AT_EACCESS) == 0 }
}

/// Permissions for a directory. These are only hints: access control lists and network shares may differ.
package struct DirectoryRights: Sendable, Equatable {
    /// Permission bits, with the sticky bit.
    package var mode: UInt32
    package var owner: UInt32
    package var group: UInt32
    package var device: UInt64
    /// Whether the file system is mounted read-only.
    package var isReadOnly: Bool
    /// Whether this process may list the directory.
    package var isReadable: Bool
    /// Whether this process may create and remove entries.
    package var isWritable: Bool
    /// Whether this process may access its entries.
    package var isSearchable: Bool

    /// Whether entries of other users cannot be removed (sticky bit).
    package var keepsEntriesOfOthers: Bool { mode & 0o1000 != 0 && owner != geteuid() && geteuid() != 0 }
}

/// A directory (0700) that only this process uses.
package struct PrivateDirectory: Sendable {
    package let directory: TargetDirectory
    private let parent: TargetDirectory
    private let name: [UInt8]

    package init(in parent: TargetDirectory, _ name: String) throws(FileWriteError) {
        (self.parent, self.name) = (parent, Array(name.utf8))
        guard let directory = try parent.makePrivateSubdirectory(name) else {
            throw FileWriteError(.unsafe, path: parent.path(of: self.name))
        }
        self.directory = directory
    }

    /// Removes the directory and its files, as far as possible.
    package func remove() {
        for name in (try? directory.names()) ?? [] { try? directory.remove(name) }
        try? parent.removeDirectory(name)
    }
}
