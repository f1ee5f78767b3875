internal import ArgumentParser
internal import GigHive
internal import MediaCore
internal import MediaStore
internal import MediaTransport
internal import Tus

struct JournalSelection: Sendable {
    let store: StoreSession
    /// nil for all hosts.
    let host: String?

    /// The command that resumes an upload; `id` may be `--all`.
    static func resumption(of id: String, isGuest: Bool) -> String {
        "mediactl uploads resume \(id)" + (isGuest ? " --event-link-file FILE" : "")
    }

    /// The command that discards an upload.
    static func discard(_ id: String, isGuest: Bool) -> String {
        "mediactl uploads discard \(id)" + (isGuest ? " --event-link-file FILE" : "")
    }

    /// - Throws: `ValidationError` if any ID cannot be an ID in the journal.
    static func check(_ ids: [String]) throws {
        for id in ids where !id.hasPrefix("u-") {
            throw ValidationError(
                "\(ErrorCatalog.quoted(id)) is not an upload ID (u-…); list them with: mediactl uploads status"
            )
        }
    }

    /// The uploads with these IDs or unique prefixes of IDs, without duplicates.
    ///
    /// - Throws: `UserFacingError` for an unknown ID; `StoreError`.
    func named(_ ids: [String]) throws -> [UploadRecord] {
        try ids.map { id in
            guard let record = try store.store.upload(named: id), host == nil || record.host == host else {
                throw UserFacingError(
                    .unknownUpload,
                    "no upload \(ErrorCatalog.quoted(id)) in the journal"
                        + (host.map { " for \(ErrorCatalog.clean($0))" } ?? ""),
                    hint: "list the unfinished uploads with: mediactl uploads status"
                )
            }
            return record
        }
        .uniqued { $0.uploadID }
    }

    /// The resumable uploads, oldest first; at most one unless `all`. Uploads whose files are missing or changed are
    /// included, to report the reason, if `all` is set or if there are no others.
    ///
    /// - Throws: `UserFacingError` (usage) if there are several and `all` is false; `StoreError`, `GigHiveError`.
    func resumable(all: Bool) throws -> [UploadRecord] {
        var records = try store.store.uploads(states: [], host: host).filter { try Self.isResumable($0, in: store) }
        if !all, records.count > 1 {
            let complete = try records.filter { try Self.sourceError(of: $0, in: store) == nil }
            if !complete.isEmpty { records = complete }
        }
        guard all || records.count <= 1 else {
            throw UserFacingError.usage(
                "\(records.count) uploads can be resumed",
                hint: "specify an ID, or use --all; list them with: mediactl uploads status"
            )
        }
        return records.reversed()
    }

    /// Whether an upload can be resumed now; false if another process is sending it.
    static func isResumable(_ record: UploadRecord, in store: StoreSession) throws -> Bool {
        try Uploader.isResumable(record, in: store.store) && !isBeingSent(record, in: store)
    }

    /// Why an interrupted upload that could otherwise be resumed would be refused: its file is missing or was modified.
    /// nil if the file need not be sent, or may be sent later, for example because it is currently unreadable.
    static func sourceError(of record: UploadRecord, in store: StoreSession) throws -> GigHiveError? {
        guard record.transport == .tus, try !Uploader.mayBeFinalizing(record, in: store.store) else { return nil }
        do throws(GigHiveError) {
            try Uploader.checkSource(of: record)
            return nil
        } catch {
            let isMissing = error.code == .notResumable && error.field == nil
            return isMissing || error.code == .sourceChanged ? error : nil
        }
    }

    /// Whether another process is sending the upload. The check briefly holds the lock; a process that tries to start
    /// the upload during that time is refused.
    static func isBeingSent(_ record: UploadRecord, in store: StoreSession) throws -> Bool {
        guard let lock = try UploadLock.acquire(record.uploadID, in: store.directory) else { return true }
        lock.release()
        return false
    }
}

extension TokenStore {
    /// The upload with this ID or ID prefix.
    ///
    /// - Throws: `UserFacingError` if several match; `StoreError`.
    func upload(named id: String) throws -> UploadRecord? {
        try upload(id) ?? uploads(states: [], host: nil).named(id, "upload", \.uploadID)
    }
}

/// Creates uploaders for uploads in the journal: each for its own server and type of access.
struct UploaderSource: Sendable {
    let settings: SettingsSession
    let store: StoreSession
    let servers: ServerSession
    var guest: GuestOptions?
    /// For uploads that start over.
    var parallelParts = 1
    /// The command for the hint if there are no credentials for a server.
    var command = "mediactl uploads resume"

    /// - Throws: `CredentialError`, `ServerURLError`; for a guest's upload, also the errors from `GuestSession`, and
    ///   `GigHiveError` if no event link was given.
    func uploader(for record: UploadRecord, needsTerms: Bool) async throws -> Uploader {
        guard record.isGuest else {
            let server = try ServerURL(record.baseURL)
            let client = try await servers.client(for: server, retryCommand: "\(command) \(record.uploadID)")
            return make(client, guest: nil)
        }
        let guest = try guestOptions(for: record)
        let session = try await GuestSession.open(guest, settings: settings, servers: servers, needsTerms: needsTerms)
        return make(session.client, guest: session.access)
    }

    /// - Throws: `GigHiveError` if no event link was given.
    func guestOptions(for record: UploadRecord) throws -> GuestOptions {
        guard let guest, guest.isGuest else {
            throw GigHiveError(.notResumable, path: record.path).with(\.field, "event_link")
        }
        return guest
    }

    /// An uploader without credentials, for requests that do not need any.
    func anonymousUploader(for record: UploadRecord) async throws -> Uploader {
        make(await servers.anonymousClient(for: try ServerURL(record.baseURL)), guest: nil)
    }

    private func make(_ client: GigHiveClient, guest: GuestAccess?) -> Uploader {
        let options = settings.uploadOptions(parallelParts: parallelParts, guest: guest)
        return store.uploader(client, options, settings.hashCache())
    }
}

extension SettingsSession {
    /// Combines the arguments with the settings. `parallelParts` is per file; `outlastsRestart` is for a command that
    /// keeps running while the server restarts; `retries`, if set, takes precedence.
    func uploadOptions(
        anyExtension: Bool = false,
        again: Bool = false,
        outlastsRestart: Bool = false,
        parallelParts: Int = 1,
        guest: GuestAccess? = nil
    ) -> UploadOptions {
        let retry = outlastsRestart && settings.retries.origin == .builtIn ? .restart : retryPolicy
        return UploadOptions(
            maximumBytes: settings.maxBytes.value,
            anyExtension: anyExtension,
            again: again,
            retry: retry,
            timeouts: timeouts,
            processingTime: settings.settleTimeout.value,
            transport: settings.transport.value,
            chunks: TusSendOptions(chunkBytes: settings.chunkSize.value),
            parallelParts: parallelParts,
            guest: guest
        )
    }
}
