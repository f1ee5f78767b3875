internal import Glibc
internal import MediaSystem

/// What programs need that keep more than whole files in a directory: links, directories that must be new, and small files of
/// their own. Nothing here follows a link.
extension TargetDirectory {
    // MARK: Opening

    /// Opens a directory that the user has named for adding to it. One that may be searched but not read will do: it cannot
    /// be listed then, nor synchronised.
    ///
    /// - Returns: nil when it is missing.
    /// - Throws: `FileWriteError`; `.unsafe` when it is no directory.
    package static func openForAdding(_ path: [UInt8]) throws(FileWriteError) -> TargetDirectory? {
        do {
            return try open(path, creating: false)
        } catch {
            guard error.kind == .denied else { throw error }
            return try open(path, flags: searchOnly)
        }
    }

    /// Opens a directory in this one, whose name need not be text, for adding to it.
    ///
    /// - Returns: nil when there is none.
    /// - Throws: `FileWriteError`; `.unsafe` for a link or a file of that name.
    package func subdirectoryForAdding(_ name: [UInt8]) throws(FileWriteError) -> TargetDirectory? {
        do {
            return try subdirectory(name, flags: O_RDONLY)
        } catch {
            guard error.kind == .denied else { throw error }
            return try subdirectory(name, flags: Self.searchOnly)
        }
    }

    /// Makes a directory in this one.
    ///
    /// - Returns: nil when somebody has removed it before it could be opened.
    /// - Throws: `FileWriteError`; `.exists` when the name is taken.
    package func makeSubdirectory(_ name: [UInt8]) throws(FileWriteError) -> TargetDirectory? {
        guard mkdirat(descriptor, name.cString, 0o777) == 0 else {
            throw FileWriteError(errno: errno, path: path(of: name))
        }
        return try subdirectoryForAdding(name)
    }

    /// `O_PATH` of open(2), a macro that Swift does not see.
    private static let searchOnly: Int32 = 0o10000000

    // MARK: Links

    /// Makes a symbolic link; whatever has the name stays.
    ///
    /// - Throws: `FileWriteError`; `.exists` when the name is taken.
    package func makeLink(_ name: [UInt8], to target: [UInt8]) throws(FileWriteError) {
        guard symlinkat(target.cString, descriptor, name.cString) == 0 else {
            throw FileWriteError(errno: errno, path: path(of: name))
        }
    }

    /// What a symbolic link says, as bytes; nil when there is no link of that name.
    ///
    /// - Throws: `FileWriteError`.
    package func target(ofLink name: [UInt8]) throws(FileWriteError) -> [UInt8]? {
        // PATH_MAX, which no target reaches.
        var characters = [CChar](repeating: 0, count: 4096)
        let count = readlinkat(descriptor, name.cString, &characters, characters.count)
        guard count >= 0 else {
            if errno == ENOENT || errno == EINVAL { return nil }
            throw FileWriteError(errno: errno, path: path(of: name))
        }
        return characters[..<count].map(UInt8.init(bitPattern:))
    }

    /// What an entry is; nil when there is none.
    ///
    /// - Throws: `FileWriteError`.
    package func kind(of name: [UInt8]) throws(FileWriteError) -> FileKind? {
        try systemStatus(of: name).map { FileKind(mode: $0.st_mode) }
    }

    /// Whether an entry belongs to another user; false where there is none.
    ///
    /// - Throws: `FileWriteError`.
    package func isOfOthers(_ name: [UInt8]) throws(FileWriteError) -> Bool {
        try systemStatus(of: name).map { $0.st_uid != geteuid() } ?? false
    }

    /// Whether going up so many times leads to the directory of a path.
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

    /// The content of a regular file; nil when there is none of that name.
    ///
    /// - Parameters:
    ///   - name: Of the file.
    ///   - longest: A longer file is refused unread.
    /// - Returns: All of it.
    /// - Throws: `FileWriteError`; `.unsafe` for a link, a directory, a FIFO or what is too long.
    package func content(of name: [UInt8], longest: Int) throws(FileWriteError) -> [UInt8]? {
        // O_NONBLOCK: the open of a FIFO would wait for its writer.
        let flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC
        let opened = openat(descriptor, name.cString, flags, 0)
        guard opened >= 0 else {
            if errno == ENOENT { return nil }
            // ENXIO is what a socket says.
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

    // MARK: Rights

    /// What decides who may do what in the directory, as far as the system tells.
    ///
    /// - Throws: `FileWriteError`.
    package func rights() throws(FileWriteError) -> DirectoryRights {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw FileWriteError(errno: errno, path: path) }
        var volume = statvfs()
        guard fstatvfs(descriptor, &volume) == 0 else { throw FileWriteError(errno: errno, path: path) }
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

    /// Where searching is not allowed, nothing is.
    private func allows(_ mode: Int32) -> Bool { faccessat(descriptor, ".", mode, AT_EACCESS) == 0 }
}

/// Rights in a directory. Only hints: access lists and network shares decide for themselves.
package struct DirectoryRights: Sendable, Equatable {
    /// Permission bits, with the sticky bit.
    package var mode: UInt32
    /// User id of the owner.
    package var owner: UInt32
    /// Group id.
    package var group: UInt32
    /// Device number.
    package var device: UInt64
    /// Whether the file system is mounted read-only.
    package var isReadOnly: Bool
    /// Whether this process may list it.
    package var isReadable: Bool
    /// Whether this process may make and remove entries.
    package var isWritable: Bool
    /// Whether this process may reach its entries.
    package var isSearchable: Bool

    /// Whether somebody else's entries cannot be removed (sticky bit).
    package var keepsEntriesOfOthers: Bool { mode & 0o1000 != 0 && owner != geteuid() && geteuid() != 0 }
}
