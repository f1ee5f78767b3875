internal import GigHive
internal import MediaStore

/// The open token store. Opening it also stores what an earlier process had received but could not keep.
struct StoreSession: Sendable {
    let directory: DataDirectory
    let store: TokenStore

    /// What a command does with the store.
    enum Access {
        case writing
        /// Also where nothing can be written.
        case reading
    }

    /// Opens the store, adopts rescue files, and tells the user what was found.
    ///
    /// - Throws: `StoreError`, `GigHiveError`.
    static func open(_ settings: SettingsSession, for access: Access = .writing) async throws -> StoreSession {
        let console = settings.console
        let directory = try directory(settings, for: access)
        let store = try access == .reading ? TokenStore(reading: directory) : TokenStore(in: directory)
        // Those of the directory are among them.
        for warning in store.warnings {
            console.warning(ErrorCatalogue.clean(warning))
        }
        if store.isReadOnly {
            console.note("\(ErrorCatalogue.quoted(directory.path)) cannot be written; the store is only read")
            return StoreSession(directory: directory, store: store)
        }
        do {
            for warning in try await RescueAdoption.run(store: store, directory: directory) {
                console.note(TextRenderer.warning(warning))
            }
        } catch {
            // What is stored can be read also where nothing more can be stored.
            guard access == .reading, error.store?.kind == .full || error.store?.kind == .notWritable else {
                throw error
            }
            console.warning(ErrorCatalogue.diagnosis(of: error).message)
        }
        if access == .writing {
            console.atEnd {
                finishRemovals(store, console)
                backUp(store, in: directory, console)
            }
        }
        return StoreSession(directory: directory, store: store)
    }

    /// Removes deleted tokens from the backups if an earlier process did not.
    private static func finishRemovals(_ store: TokenStore, _ console: Console) {
        do throws(StoreError) {
            try store.finishInterruptedRemovals()
        } catch {
            console.warning("deleted tokens may be left in backups: \(ErrorCatalogue.diagnosis(of: error).message)")
        }
    }

    /// The daily backup. Its failure is not that of the command.
    private static func backUp(_ store: TokenStore, in directory: DataDirectory, _ console: Console) {
        do throws(StoreError) {
            guard let backup = try StoreBackups(in: directory).createIfDue(from: store) else { return }
            console.trace("backed up the token store to \(ErrorCatalogue.quoted(backup.path))")
        } catch {
            console.warning("cannot back up the token store: \(ErrorCatalogue.diagnosis(of: error).message)")
        }
    }

    /// The data directory of a command.
    ///
    /// - Throws: `StoreError`.
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
    /// Prints how to restore the newest backup, if there is one that can be read.
    func hintAtBackup(in directory: DataDirectory) {
        let (backup, errors) = StoreBackups(in: directory).newestWithRows()
        for error in errors {
            warning("a backup cannot be read: \(ErrorCatalogue.diagnosis(of: error).message)")
        }
        guard let backup else { return }
        hint("restore the newest backup: mediactl store restore \(HintOptions.word(backup.path))")
    }

    /// Completes the removals of a command, and prints the error if that fails.
    ///
    /// - Returns: The exit code of the error; `.success` if there is none.
    func finishRemovals(in store: TokenStore) -> ExitCode {
        do throws(StoreError) {
            try store.finishRemovals()
            return .success
        } catch {
            let diagnosis = ErrorCatalogue.diagnosis(of: error)
            self.error(diagnosis)
            return diagnosis.exitCode
        }
    }
}

extension SettingsSession {
    /// The digests of files that have not changed since.
    func hashCache() -> HashCache { HashCache(directory: locations.cacheDirectory) }
}
