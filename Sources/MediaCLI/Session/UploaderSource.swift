internal import GigHive
internal import MediaStore
internal import MediaTransport

/// Makes uploaders for uploads of the journal: each for its own server, with its own kind of access.
struct UploaderSource: Sendable {
    let settings: SettingsSession
    let store: StoreSession
    let servers: ServerSession
    var guest: GuestOptions?
    /// The command for the hint when there are no credentials for a server.
    var command = "mediactl uploads resume"

    /// An uploader for a row.
    ///
    /// - Throws: `CredentialError`, `ServerURLError`; for a guest's row what `GuestSession` throws, and `GigHiveError` when
    ///   no event link was given.
    func uploader(for record: UploadRecord, needsTerms: Bool) async throws -> Uploader {
        guard record.isGuest else {
            let server = try ServerURL(record.baseURL)
            let client = try await servers.client(for: server, retryCommand: "\(command) \(record.uploadID)")
            return make(client, guest: nil)
        }
        guard let guest, guest.isGuest else {
            throw GigHiveError(
                .notResumable,
                detail: "it was started with an event link; add --event-link-file FILE",
                path: record.path
            )
        }
        let session = try await GuestSession.open(guest, settings: settings, servers: servers, needsTerms: needsTerms)
        return make(session.client, guest: session.access)
    }

    /// An uploader that has no access to the server, for what needs none.
    ///
    /// - Throws: `ServerURLError`.
    func anonymousUploader(for record: UploadRecord) async throws -> Uploader {
        make(await servers.anonymousClient(for: try ServerURL(record.baseURL)), guest: nil)
    }

    private func make(_ client: GigHiveClient, guest: GuestAccess?) -> Uploader {
        Uploader(
            client: client,
            store: store.store,
            directory: store.directory,
            options: settings.uploadOptions(guest: guest),
            hashes: settings.hashCache()
        )
    }
}
