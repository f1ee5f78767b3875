extension DataDirectory {
    /// Directories that are made when they are first needed.
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

    /// Path of a part, whether it is there or not.
    package func path(of part: Part) -> String { file(part.rawValue) }

    /// Makes a part (0700) unless it is there.
    ///
    /// - Returns: Its path.
    /// - Throws: `StoreError`; `.unsafe` for anything but a directory of this user.
    package func make(_ part: Part) throws(StoreError) -> String {
        let path = path(of: part)
        try Self.create(path)
        guard let status = try FileStatus(at: path), status.isDirectory, status.isOwnedByUser else {
            throw StoreError(.unsafe, path: path, detail: "not a directory of this user")
        }
        return path
    }

    /// Nobody reaches what lies in a directory that was closed to others, so that its content is looked at only in one
    /// that was not. The first level of each part is always looked at: the keys are there.
    static func tighten(_ part: Part, in directory: String) throws(StoreError) -> [String] {
        let path = directory + "/" + part.rawValue
        guard let status = try FileStatus(at: path), status.isDirectory, status.isOwnedByUser else { return [] }
        var warnings: [String] = []
        for name in try entries(of: path) {
            let entry = path + "/" + name
            guard let status = try FileStatus(at: entry), status.isOwnedByUser, status.isLoose else { continue }
            guard status.isRegularFile || status.isDirectory else { continue }
            warnings += tighten(entry, status)
            if status.isDirectory { warnings += try tightenEntries(of: entry) { _ in true } }
        }
        return warnings
    }
}
