internal import GigHive
internal import MediaStore

/// The open token store. Opening it also adopts tokens that an earlier process received but could not store.
struct StoreSession: Sendable {
    let directory: DataDirectory
    let store: TokenStore

    enum Access {
        case writing
        /// Reads only; works even in a read-only directory.
        case reading
    }

    /// Opens the store, adopts rescue files, and prints the warnings.
    static func open(_ settings: SettingsSession, for access: Access = .writing) async throws -> StoreSession {
        let console = settings.console
        let directory = try directory(settings, for: access)
        let now = console.context.now
        let store =
            try access == .reading ? TokenStore(reading: directory, now: now) : TokenStore(in: directory, now: now)
        // The store's warnings include those about the directory.
        for warning in store.warnings {
            console.warning(ErrorCatalog.clean(warning))
        }
        if store.isReadOnly {
            noteReadOnly(directory, console)
            return StoreSession(directory: directory, store: store)
        }
        do {
            for warning in try await RescueAdoption.run(store: store, directory: directory) {
                // Only the warning about a rescued token does not require any action.
                if case .rescued = warning {
                    console.note(TextRenderer.warning(warning))
                } else {
                    console.warning(TextRenderer.warning(warning))
                }
            }
        } catch {
            // Reading works even if nothing can be stored.
            guard access == .reading, error.store?.kind == .full || error.store?.kind == .notWritable else {
                throw error
            }
            console.warning(ErrorCatalog.userFacingError(of: error).message)
        }
        if access == .writing {
            console.atEnd {
                finishRemovals(store, console)
                backUp(store, in: directory, console)
            }
        }
        return StoreSession(directory: directory, store: store)
    }

    /// Whether the data directory has a token store. Creates nothing, for example in a mistyped directory.
    ///
    /// - Throws: `StoreError` if the path is not a directory owned by this user.
    static func exists(_ settings: SettingsSession) throws(StoreError) -> Bool {
        let path = settings.locations.dataDirectory
        try DataDirectory.refuseFile(inPlaceOf: path)
        return try TokenStore.exists(in: DataDirectory.unchanged(path))
    }

    /// Opens the store of captures, tapes and logins, and prints its warnings.
    static func library(
        _ settings: SettingsSession,
        for access: Access
    ) throws -> (directory: DataDirectory, store: LibraryStore) {
        let directory = try directory(settings, for: access)
        let store = try access == .reading ? LibraryStore(reading: directory) : LibraryStore(in: directory)
        for warning in store.warnings {
            settings.console.warning(ErrorCatalog.clean(warning))
        }
        if store.isReadOnly { noteReadOnly(directory, settings.console) }
        return (directory, store)
    }

    private static func noteReadOnly(_ directory: DataDirectory, _ console: Console) {
        console.note("cannot write to \(ErrorCatalog.quoted(directory.path)); the store is opened read-only")
    }

    /// Removes deleted tokens from the backups if an earlier process failed to do so.
    private static func finishRemovals(_ store: TokenStore, _ console: Console) {
        do throws(StoreError) {
            try store.finishInterruptedRemovals()
        } catch {
            console.warning("deleted tokens may be left in backups: \(ErrorCatalog.userFacingError(of: error).message)")
        }
    }

    /// Creates the daily backup. If it fails, the command still succeeds.
    private static func backUp(_ store: TokenStore, in directory: DataDirectory, _ console: Console) {
        do throws(StoreError) {
            let backups = StoreBackups(in: directory)
            guard let backup = try backups.createIfDue(from: store) else { return }
            console.trace("backed up the token store to \(ErrorCatalog.quoted(backup.path))")
            if let missing = try backups.withMissingTokens(in: store) { console.warn(ofMissing: missing) }
        } catch {
            console.warning("cannot back up the token store: \(ErrorCatalog.userFacingError(of: error).message)")
        }
    }

    static func directory(_ settings: SettingsSession, for access: Access) throws(StoreError) -> DataDirectory {
        let path = settings.locations.dataDirectory
        do {
            return try DataDirectory.open(path)
        } catch {
            guard access == .reading, error.kind == .notWritable || error.kind == .full else { throw error }
            return try DataDirectory.unchanged(path)
        }
    }
}

extension Console {
    /// Prints how to restore the newest readable backup, if there is one.
    func hintAtBackup(in directory: DataDirectory) {
        let (backup, errors) = StoreBackups(in: directory).newestWithRows()
        for error in errors {
            warning("a backup cannot be read: \(ErrorCatalog.userFacingError(of: error).message)")
        }
        guard let backup else { return }
        hint("restore the newest backup: mediactl store restore \(ShellWord.quoted(backup.path))")
    }

    /// Warns of a backup with delete tokens that the store does not have, and prints how to restore them.
    func warn(ofMissing missing: StoreBackups.Missing) {
        warning(
            "a backup has \(Formats.count(missing.tokens, "delete token")) that the token store does not have",
            hint: "restore what is missing: mediactl store restore \(ShellWord.quoted(missing.backup.path))"
        )
    }

    /// Completes the removals of a command. Prints an error and returns its exit code.
    func finishRemovals(in store: TokenStore) -> ExitCode {
        do throws(StoreError) {
            try store.finishRemovals()
            return .success
        } catch {
            let userFacingError = ErrorCatalog.userFacingError(of: error)
            self.error(userFacingError)
            return userFacingError.exitCode
        }
    }
}

extension StoreSession {
    /// An uploader that records its uploads in this store.
    func uploader(_ client: GigHiveClient, _ options: UploadOptions, _ hashes: HashCache? = nil) -> Uploader {
        Uploader(client: client, store: store, directory: directory, options: options, hashes: hashes)
    }
}

extension SettingsSession {
    /// Digests of files that have not changed since they were hashed.
    func hashCache() -> HashCache { HashCache(directory: locations.cacheDirectory) }
}
