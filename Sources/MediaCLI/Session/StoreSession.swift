internal import GigHive
internal import MediaStore

/// The open token store. Opening it also stores what an earlier process had received but could not keep.
struct StoreSession: Sendable {
    let directory: DataDirectory
    let store: TokenStore

    /// Opens the store, adopts rescue files, and tells the user what was found.
    ///
    /// - Throws: `StoreError`, `GigHiveError`.
    static func open(_ settings: SettingsSession) async throws -> StoreSession {
        let console = settings.console
        let directory = try DataDirectory.open(settings.locations.dataDirectory)
        let store = try TokenStore(in: directory)
        // Those of the directory are among them.
        for warning in store.warnings {
            console.warning(ErrorCatalogue.clean(warning))
        }
        for warning in try await RescueAdoption.run(store: store, directory: directory) {
            console.note(TextRenderer.warning(warning))
        }
        return StoreSession(directory: directory, store: store)
    }
}

extension SettingsSession {
    /// The digests of files that have not changed since.
    func hashCache() -> HashCache { HashCache(directory: locations.cacheDirectory) }
}
