import Glibc
internal import MediaCore
import MediaSystem

/// The directory of the databases, rescue files, spooled input, and capture data. Its mode is 0700, unless it also
/// contains other files; the mode of its files is 0600.
///
/// Only its owner can write to it, so another user cannot replace paths inside it.
public struct DataDirectory: Sendable {
    /// Absolute path; the target if the last component was a link.
    public let path: String
    /// Repairs made while opening, for the user: loose permissions that were tightened.
    public let warnings: [String]

    /// Creates the directory (0700, missing parents included) or opens it, and tightens loose permissions of the
    /// directory and of the store's files in it.
    ///
    /// A link is followed only if the user or root created it. A directory that also contains other files (a home
    /// directory, `/tmp`) keeps its own permissions, and so do those files; one that others may write to is refused.
    ///
    /// - Throws: `StoreError`: `.unsafe` if it belongs to another user, is not a directory, is writable by others and
    ///   contains more than the store, or has a link in place of one of the store's files; `.notWritable`, `.full`.
    public static func open(_ path: String) throws(StoreError) -> DataDirectory {
        try open(path, refusing: { _ in true })
    }

    /// Opens the directory for a repair of the token store, which sets aside a link in place of the store.
    package static func openForRepair(_ path: String) throws(StoreError) -> DataDirectory {
        let store = StoreSchema.tokens.fileName
        let replaced = [store] + StoreConnection.companions.map { store + $0 }
        return try open(path, refusing: { !replaced.contains($0) })
    }

    private static func open(_ path: String, refusing isRefused: (String) -> Bool) throws(StoreError) -> DataDirectory {
        let absolute = try absolutePath(path)
        try create(absolute)
        let resolved = try followingOwnLink(absolute)
        guard let status = try FileStatus(at: resolved), status.isDirectory else {
            throw StoreError(.unsafe, path: resolved, detail: notADirectory)
        }
        guard status.isOwnedByUser else {
            throw StoreError(.unsafe, path: resolved, detail: "owned by another user")
        }
        var warnings: [String] = []
        if try entries(of: resolved).allSatisfy(isOfStore) {
            warnings += tighten(resolved, status)
        } else if status.isWritableByOthers {
            let rights = status.permissions.padded(4, radix: 8)
            throw StoreError(
                .unsafe,
                path: resolved,
                detail: "contains other files, and other users can write to it (\(rights)); choose a separate directory"
            )
        }
        let locks = resolved + "/" + lockDirectoryName
        try create(locks)
        try refuseLinks(in: resolved, where: isRefused)
        warnings += try tightenEntries(of: resolved, where: isOfStore)
        warnings += try tightenEntries(of: locks)
        for part in Part.allCases { warnings += try tighten(part, in: resolved) }
        return DataDirectory(path: resolved, warnings: warnings)
    }

    package static let loginsFileName = "logins.json"

    /// Refuses links in place of the store's files: they could redirect its writes anywhere. Only the directory itself
    /// may be reached through a link. A link that a repair has set aside is never opened.
    private static func refuseLinks(
        in directory: String,
        where isRefused: (String) -> Bool = { _ in true }
    ) throws(StoreError) {
        for name in try entries(of: directory)
        where isOfStore(name) && !DamagedCopies.isName(name) && isRefused(name) {
            let path = directory + "/" + name
            guard let status = try FileStatus(at: path) else { continue }
            let isDirectory = name == lockDirectoryName || Part(rawValue: name) != nil
            try refuseLink(path, status, isDirectory: isDirectory)
            guard isDirectory else { continue }
            for entry in try entries(of: path) {
                guard let status = try FileStatus(at: path + "/" + entry) else { continue }
                try refuseLink(path + "/" + entry, status, isDirectory: false)
            }
        }
    }

    private static func refuseLink(_ path: String, _ status: FileStatus, isDirectory: Bool) throws(StoreError) {
        guard !status.isSymbolicLink else { throw StoreError(.unsafe, path: path, detail: "it is a symbolic link") }
        if isDirectory { try requireOwnDirectory(path, status) }
    }

    private static func requireOwnDirectory(_ path: String, _ status: FileStatus?) throws(StoreError) {
        guard let status, status.isDirectory, status.isOwnedByUser else {
            throw StoreError(.unsafe, path: path, detail: "not a directory owned by this user")
        }
    }

    /// Opens a directory without changing anything, for reading when nothing can be written. A missing directory counts
    /// as empty.
    ///
    /// - Throws: `.unsafe` if it is not a directory owned by this user.
    package static func unchanged(_ path: String) throws(StoreError) -> DataDirectory {
        let resolved = try followingOwnLink(absolutePath(path))
        guard let status = try FileStatus(at: resolved) else { return DataDirectory(path: resolved, warnings: []) }
        try requireOwnDirectory(resolved, status)
        try refuseLinks(in: resolved)
        return DataDirectory(path: resolved, warnings: [])
    }

    /// Whether an entry of the directory is the store's own, by its name.
    private static func isOfStore(_ name: String) -> Bool {
        let databases = [StoreSchema.tokens, .library, .index].map(\.fileName)
        // The second name is used for the logins file while it is being written.
        let prefixes = databases + [RescueLog.prefix, SpoolFile.prefix, loginsFileName, ".\(loginsFileName)"]
        return name == lockDirectoryName || Part(rawValue: name) != nil || prefixes.contains(where: name.hasPrefix)
    }

    static let lockDirectoryName = "locks"

    package static let notADirectory = "not a directory"

    func file(_ name: String) -> String { path + "/" + name }

    var lockFolder: String { file(Self.lockDirectoryName) }

    /// Path of a lock file. Locks are stored next to the data that they protect, so `--data-dir` moves both.
    func lockFile(_ name: String) -> String { path + "/" + Self.lockDirectoryName + "/" + name + ".lock" }

    /// Names of the entries that begin with a prefix, in order.
    func entries(withPrefix prefix: String) throws(StoreError) -> [String] {
        try Self.entries(of: path).filter { $0.hasPrefix(prefix) }.sorted()
    }

    /// Waits until created and removed names are on disk.
    func synchronize() throws(StoreError) { try Self.synchronize(path) }

    // MARK: Creating

    private static func absolutePath(_ path: String) throws(StoreError) -> String {
        guard !path.isEmpty else { throw StoreError(.notWritable, path: path, detail: "empty path") }
        var trimmed = path
        while trimmed.count > 1, trimmed.hasSuffix("/") { trimmed.removeLast() }
        guard !trimmed.hasPrefix("/") else { return trimmed }
        guard let current = getcwd(nil, 0) else {
            throw StoreError(errno: errno, path: path, action: "cannot find the current directory")
        }
        defer { free(current) }
        return String(cString: current) + "/" + trimmed
    }

    /// Creates a directory (0700) with missing parents; an existing one is not changed.
    static func create(_ path: String) throws(StoreError) {
        var isMade = mkdir(path, 0o700) == 0
        if !isMade, errno == ENOENT, path != "/" {
            try create(parent(of: path))
            isMade = mkdir(path, 0o700) == 0
        }
        guard isMade else {
            if errno == EEXIST { return }
            guard errno != ENOTDIR else {
                throw StoreError(.unsafe, path: existingParent(of: path), detail: notADirectory)
            }
            throw StoreError(errno: errno, path: path, action: "cannot create the directory")
        }
        // The umask may have removed the owner's own permissions.
        try StoreError.check(path, "cannot set permissions", chmod(path, 0o700))
        try synchronize(parent(of: path))
    }

    /// Refuses anything else in place of a directory, or of one of its parents.
    ///
    /// - Throws: `.unsafe` with the path of the file.
    package static func refuseFile(inPlaceOf path: String) throws(StoreError) {
        let path = try absolutePath(path)
        var status = stat()
        if stat(path, &status) == 0 {
            guard status.st_mode & S_IFMT == S_IFDIR else {
                throw StoreError(.unsafe, path: path, detail: notADirectory)
            }
        } else if errno == ENOTDIR {
            throw StoreError(.unsafe, path: existingParent(of: path), detail: notADirectory)
        }
    }

    /// The nearest parent that exists.
    private static func existingParent(of path: String) -> String {
        var path = parent(of: path)
        while path != "/", access(path, F_OK) != 0 { path = parent(of: path) }
        return path
    }

    private static func parent(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/"), slash != path.startIndex else { return "/" }
        return String(path[..<slash])
    }

    static func synchronize(_ path: String) throws(StoreError) {
        let descriptor = Glibc.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        // A directory that can be searched but not read cannot be synchronized; this is its owner's choice.
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        // EINVAL: the file system keeps directories durable by itself.
        guard fsync(descriptor) == 0 || errno == EINVAL else {
            throw StoreError(errno: errno, path: path, action: "cannot synchronize the directory")
        }
    }

    static func synchronizeFile(_ path: String) throws(StoreError) {
        let descriptor = try openFile(path, O_RDONLY)
        defer { close(descriptor) }
        try StoreError.check(path, "cannot synchronize", fsync(descriptor))
    }

    /// The target of a link created by the user or root; the path itself if it is not a link.
    static func followingOwnLink(_ path: String) throws(StoreError) -> String {
        guard let status = try FileStatus(at: path), status.isSymbolicLink else { return path }
        guard status.isOwnedByUser || status.isOwnedByRoot else {
            throw StoreError(.unsafe, path: path, detail: "a link created by another user")
        }
        guard let resolved = resolved(path) else {
            throw StoreError(errno: errno, path: path, action: "cannot follow the link")
        }
        return resolved
    }

    /// The path with links resolved; nil, with `errno` set, if it does not exist.
    static func resolved(_ path: String) -> String? {
        guard let resolved = realpath(path, nil) else { return nil }
        defer { free(resolved) }
        return String(cString: resolved)
    }

    // MARK: Permissions

    static func tightenEntries(
        of directory: String,
        enteringLoose entersLoose: Bool = false,
        where isOurs: (String) -> Bool = { _ in true }
    ) throws(StoreError) -> [String] {
        var warnings: [String] = []
        for name in try entries(of: directory) where isOurs(name) {
            let path = directory + "/" + name
            guard let status = try FileStatus(at: path), status.isOwnedByUser else { continue }
            guard status.isRegularFile || status.isDirectory else { continue }
            warnings += tighten(path, status)
            if entersLoose, status.isDirectory, status.isLoose { warnings += try tightenEntries(of: path) }
        }
        return warnings
    }

    /// Removes the permissions of group and others; warns if there were any.
    static func tighten(_ path: String, _ status: FileStatus) -> [String] {
        guard status.isLoose else { return [] }
        let found = "permissions of \"\(path)\" were \(status.permissions.padded(4, radix: 8))"
        let wanted = status.permissions & 0o700
        guard chmod(path, wanted) == 0 else {
            return ["\(found) and cannot be changed: \(SystemError.words(errno))"]
        }
        return ["\(found), tightened to \(wanted.padded(4, radix: 8))"]
    }

    static func entries(of path: String) throws(StoreError) -> [String] {
        var names: [String] = []
        do {
            try DirectoryStream(Array(path.utf8), followingLinks: true)
                .forEachName { names.append(String(decoding: $0, as: UTF8.self)) }
        } catch {
            throw StoreError(errno: error.code, path: path, action: "cannot list the directory")
        }
        return names
    }
}

extension DataDirectory {
    /// Directories that are created when first needed.
    package enum Part: String, Sendable, CaseIterable {
        /// The vault: a directory for each capture, and the key.
        case captures
        /// Private keys of devices.
        case captureKeys = "capture-keys"
        /// Signature counters of devices.
        case captureCounters = "capture-counters"
        /// Copies of the token store.
        case backups
    }

    /// The path of a part, which need not exist.
    package func path(of part: Part) -> String { file(part.rawValue) }

    /// The number of captures in the vault, not counting drafts.
    package func vaultCaptureCount() throws(StoreError) -> Int {
        let vault = path(of: .captures)
        guard try FileStatus(at: vault) != nil else { return 0 }
        return try Self.entries(of: vault).count { CaptureID.isValid($0) }
    }

    /// Creates a part (0700) unless it exists, and refuses anything else with its name.
    package func make(_ part: Part) throws(StoreError) -> String {
        let path = path(of: part)
        try Self.create(path)
        try Self.requireOwnDirectory(path, try FileStatus(at: path))
        return path
    }

    /// The content of a directory is checked only if others had access to the directory. The first level of each part
    /// is always checked: it contains the keys.
    static func tighten(_ part: Part, in directory: String) throws(StoreError) -> [String] {
        let path = directory + "/" + part.rawValue
        guard let status = try FileStatus(at: path), status.isDirectory, status.isOwnedByUser else { return [] }
        return try tightenEntries(of: path, enteringLoose: true)
    }
}
