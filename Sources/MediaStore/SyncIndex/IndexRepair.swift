import Glibc

/// Opens the index, and replaces one that is corrupt. Checking all of it would take seconds at every start, so damage may
/// be found only in use; it is noted beside the file for the next start.
struct IndexRepair {
    let directory: DataDirectory
    let fileSystem: FileSystemKind
    let busyLimit: Duration

    private var path: String { directory.file(StoreSchema.index.fileName) }

    func open() throws(StoreError) -> (connection: StoreConnection, warnings: [String]) {
        do {
            return (try openWhole(), [])
        } catch {
            guard error.kind == .corrupt else { throw error }
            if let replaced = try setAside() { return (replaced, []) }
            let warning = "\"\(path)\" was not usable (\(error.detail)) and is being built anew"
            return (try connect(), [warning])
        }
    }

    /// Has the whole content checked at the next start when an error says that it is corrupt.
    static func noteCorruption(_ error: StoreError, path: String) {
        guard error.kind == .corrupt else { return }
        let descriptor = Glibc.open(suspicion(path), O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
        if descriptor >= 0 { close(descriptor) }
    }

    private static func suspicion(_ path: String) -> String { path + ".suspect" }

    private func connect() throws(StoreError) -> StoreConnection {
        try StoreConnection(.index, in: directory, fileSystem: fileSystem, busyLimit: busyLimit)
    }

    private func openWhole() throws(StoreError) -> StoreConnection {
        let connection = try connect()
        if try FileStatus(at: Self.suspicion(path)) != nil {
            try connection.read { try StoreSchema.checkContent($0, path: path) }
            unlink(Self.suspicion(path))
        }
        return connection
    }

    /// Renames the corrupt index, in place of one that was renamed earlier.
    ///
    /// - Returns: The one that another process has put in its place meanwhile.
    private func setAside() throws(StoreError) -> StoreConnection? {
        let lock = try StoreConnection.lock(.index, in: directory, limit: busyLimit)
        defer { lock.remove() }
        // Without a file, opening would wait for the lock that is held here.
        let isThere = try FileStatus(at: path) != nil
        if isThere, let whole = try? openWhole() { return whole }
        if isThere {
            guard rename(path, path + ".corrupt") == 0 else {
                throw StoreError(errno: errno, path: path, action: "cannot set aside")
            }
        }
        for companion in StoreConnection.companions { unlink(path + companion) }
        unlink(Self.suspicion(path))
        return nil
    }
}
