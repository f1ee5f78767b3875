internal import Foundation
internal import GigHive
internal import MediaCore
internal import MediaStore
internal import MediaTransport

/// Determines the server and scope of each deletion.
struct DeletionPlan: Sendable {
    /// One ID on one host.
    struct Target: Sendable, Equatable {
        var fileID: Int64
        /// The scope whose entries are used.
        var host: String
        /// Address for requests.
        var server: ServerURL
    }

    let store: TokenStore
    /// The configured server.
    let server: ServerURL?
    /// The host of the chosen entry, otherwise of `--server` if used as a filter; it applies to the whole command.
    var host: String?
    /// Time of the plan, from which ages are counted.
    let now: Date
    /// Whether to delete with admin rights; printed commands keep the option.
    var isAdmin = false

    var options: String { isAdmin ? " --as-admin" : "" }

    /// The scope of all IDs; nil if each ID has its own scope.
    private var scope: String? { host ?? server?.scope }

    /// The newest upload, for `--last`, even if it has no token: an older file must not be deleted instead.
    ///
    /// - Throws: `StoreError`; `UserFacingError` if there is no upload, or if it added a file to a second event:
    ///   deleting the file would remove it from its first event as well.
    func last() throws -> (host: String, fileID: Int64) {
        let entry = try store.newestToken(host: scope)
        // The entry of an upload is newer than its row.
        if let upload = try store.newestUpload(host: scope), let fileID = upload.fileID,
            upload.createdAt > entry?.createdAt ?? .distantPast
        {
            guard upload.state != .linked else {
                throw UserFacingError(
                    .noDeleteToken,
                    "the last upload added \(fileID), which the server already had, to another event",
                    hint: "to delete it from all of its events: mediactl uploads delete \(fileID)"
                )
            }
            return (upload.host, fileID)
        }
        guard let entry else { throw UserFacingError(.noDeleteToken, "no stored delete tokens") }
        return (entry.host, entry.fileID)
    }

    /// The newest entry of a file with this content; nil if there is none and `isRequired` is false.
    ///
    /// - Throws: `StoreError`; `UserFacingError` if there is no entry, or if several hosts have one.
    func entry(checksumSHA256: String, isRequired: Bool) throws -> TokenEntry? {
        let entries = try store.tokens(checksumSHA256: checksumSHA256, host: scope)
        if entries.isEmpty, isRequired {
            throw UserFacingError(
                .noDeleteToken,
                "no stored delete token for the checksum \(checksumSHA256)",
                hint: "an administrator can delete it: mediactl uploads delete --as-admin --sha256 \(checksumSHA256)"
            )
        }
        let servers = Self.servers(of: entries)
        guard servers.count < 2 else {
            throw UserFacingError.usage(
                "several servers have this file: \(servers.joined(separator: ", "))",
                hint: "mediactl uploads delete\(options) --sha256 \(checksumSHA256) --server \(servers[0])"
            )
        }
        return entries.first
    }

    /// The scope and address for an administrator if there is no entry: those of the configured server, otherwise of
    /// the only host with this ID in the journal; nil if neither is known.
    func adminTarget(for fileID: Int64?) throws -> (host: String, server: ServerURL)? {
        if let server, host == nil || server.scope == host {
            return (server.scope, server)
        }
        let records = try journal(fileID)
        guard let record = records.first, Set(records.map(\.host)).count == 1 else { return nil }
        return (record.host, try ServerURL(record.baseURL))
    }

    /// The checksum in the journal for an ID whose token was lost.
    func journaledChecksum(of fileID: Int64, host: String) throws -> String? {
        try journal(fileID).first { $0.host == host && $0.checksumSHA256 != nil }?.checksumSHA256
    }

    private func journal(_ fileID: Int64?) throws -> [UploadRecord] {
        guard let fileID else { return [] }
        return try store.uploads(fileID: fileID, host: host)
    }

    /// - Throws: `StoreError`; `GigHiveError` with code `.noDeleteToken`; `UserFacingError` if several hosts have the ID;
    ///   `ServerURLError` for an entry with an invalid address.
    func target(for fileID: Int64) throws -> Target {
        let entries = try store.tokens(fileID: fileID, host: nil)
        if let scope {
            // Use the configured server for its own scope, otherwise the address of the entry.
            if let server, server.scope == scope { return Target(fileID: fileID, host: scope, server: server) }
            guard let own = entries.first(where: { $0.host == scope }) else {
                throw GigHiveError.withoutToken(fileID, host: scope, in: store)
            }
            return Target(fileID: fileID, host: scope, server: try ServerURL(own.baseURL))
        }
        guard let entry = entries.first else { throw GigHiveError.withoutToken(fileID, host: nil, in: store) }
        let servers = Self.servers(of: entries)
        guard servers.count == 1 else {
            throw UserFacingError.severalServers(
                have: fileID,
                servers,
                hint: "specify one, for example: mediactl uploads delete \(fileID)\(options) --server \(servers[0])"
            )
        }
        return Target(fileID: fileID, host: entry.host, server: try ServerURL(entry.baseURL))
    }

    /// The addresses of the entries' hosts, one per host.
    private static func servers(of entries: [TokenEntry]) -> [String] {
        entries.uniqued { $0.host }.map { ErrorCatalog.clean($0.baseURL) }.sorted()
    }
}

/// Finds files on the server that have no local entry, for deletions with admin rights.
extension DeleteRun {
    /// The IDs of files with the required checksum, from the listing.
    ///
    /// - Throws: `GigHiveError`; `UserFacingError` if there is no such file.
    func listedIDs() async throws -> [Int64] {
        guard let checksumSHA256 else { return [] }
        guard let (_, server) = try plan.adminTarget(for: nil) else { throw Self.noServer }
        var query = MediaQuery()
        query.checksumSHA256 = checksumSHA256
        let found = try await servers.client(for: server).media(matching: query).map(\.fileID)
        guard !found.isEmpty else {
            throw UserFacingError(
                .notFound,
                "the server has no file with the checksum \(checksumSHA256)"
            )
        }
        return found
    }

    /// The file with an ID. Its checksum must match the expected one: from the options, otherwise from the journal.
    ///
    /// - Throws: `GigHiveError`; `UserFacingError` if the server has no such file, or if no checksum is known with `--yes`.
    func candidate(for fileID: Int64) async throws -> DeletionBatch.Step {
        guard let (host, server) = try plan.adminTarget(for: fileID) else { throw Self.noServer }
        let known = try checksumSHA256 ?? plan.journaledChecksum(of: fileID, host: host)
        guard known != nil || !confirmation.isGiven || isDryRun else {
            throw UserFacingError.usage(
                "--yes requires --sha256 or --file for \(fileID), which has no local entry",
                hint: "mediactl media show \(fileID)"
            )
        }
        let client = try await servers.client(for: server)
        if !isDryRun {
            try await client.requireAdmin()
        }
        guard let asset = try await client.asset(fileID) else { throw UserFacingError.noSuchMedia(fileID) }
        guard let checksum = asset.checksumSHA256 else {
            throw GigHiveError(.adminUnverified, detail: "the server does not report a checksum").with(\.fileID, fileID)
        }
        guard checksum == known ?? checksum else {
            throw GigHiveError(.idReused, detail: "its checksum is \(checksum)").with(\.fileID, fileID)
        }
        let file = try await client.media(including: asset)
        let target = AdminDeletion(fileID: fileID, checksumSHA256: checksum, sizeBytes: asset.sizeBytes)
        let deleter = Deleter(client: client, store: plan.store, host: host)
        let planned = FileDeletion(result: DeleteResult(fileID: fileID, state: .planned, host: host), file: file)
        guard !isDryRun else { return DeletionBatch.Step(outcome: planned) }
        return DeletionBatch.Step(outcome: planned) {
            FileDeletion(result: await deleter.deleteAsAdmin(target), file: file)
        }
    }

    private static var noServer: UserFacingError {
        UserFacingError(
            .noServer,
            "no server configured",
            hint: "set --server URL, or MEDIACTL_SERVER"
        )
    }
}

extension DeletionPlan {
    /// Whether an ID has a local entry in the scope of the deletion.
    func hasEntry(for fileID: Int64) throws -> Bool {
        try !store.tokens(fileID: fileID, host: scope).isEmpty
    }

    /// Whether this machine can delete or hide the file with an ID.
    ///
    /// - Throws: `StoreError`, `ServerURLError`; `UserFacingError` if several hosts have the ID.
    func canDelete(_ fileID: Int64) throws -> Bool {
        if try guestUpload(for: fileID) != nil { return true }
        do {
            return try !store.tokens(fileID: fileID, host: target(for: fileID).host).isEmpty
        } catch is GigHiveError {
            return false
        }
    }

    /// Like `scope`, but empty if each ID has its own scope.
    var scopeName: String { scope ?? "" }

    /// The newest guest upload with this ID that is not a duplicate, if it is the newest known upload with the ID, and
    /// its file cannot be deleted by token.
    func guestUpload(for fileID: Int64) throws -> GuestHiding? {
        let guests = try store.guestUploads(host: host, fileID: fileID).filter(\.isStoredForGuest)
        guard let record = guests.first,
            let upload = KeptUpload(guest: record, try store.guestStandings()[record.uploadID])
        else { return nil }
        let isOfLogin = try store.hasLoginUpload(of: record)
        let isChosen = try store.tokens(fileID: fileID, host: host).allSatisfy { entry in
            guard entry.host == record.host else { return false }
            guard entry.checksumSHA256 == record.checksumSHA256 else { return entry.createdAt < record.createdAt }
            // A guest may have received a token as well, but has no login to use it with.
            return !isOfLogin && guests.contains { KeptUpload(guest: $0)?.isForEvent(of: KeptUpload(entry)) == true }
        }
        return isChosen ? GuestHiding(upload: upload, record: record, now: now) : nil
    }
}

extension UserFacingError {
    /// The ID of a file is ambiguous: several servers have a file with this ID.
    static func severalServers(have fileID: Int64, _ servers: [String], hint: String) -> UserFacingError {
        .usage("several servers have a file \(fileID): \(servers.joined(separator: ", "))", hint: hint)
    }
}

extension TokenStore {
    /// Whether the file of a guest upload was also uploaded with a login, which its delete token requires.
    func hasLoginUpload(of guest: UploadRecord) throws -> Bool {
        guard let checksum = guest.checksumSHA256 else { return false }
        return try uploads(checksumSHA256: checksum, host: guest.host)
            .contains { !$0.isGuest && $0.state.isStored && $0.fileID == guest.fileID }
    }
}

/// A guest upload to hide. Its server keeps the file (gighive contract section 6).
struct GuestHiding: DeletionOutcome {
    enum State: String, Sendable {
        case hidden
        case planned
        case declined
        case failed
    }

    var upload: KeptUpload
    var record: UploadRecord
    /// The time from which the age of the last known state is counted.
    var now: Date
    var state = State.planned
    var userFacingError: UserFacingError?

    var stateName: String { state.rawValue }

    var exitCode: ExitCode {
        userFacingError?.exitCode ?? (state == .hidden || state == .planned ? .success : .failure)
    }

    var declined: GuestHiding { finished(.declined) }

    func finished(_ state: State, _ error: (any Error)? = nil) -> GuestHiding {
        var hiding = self
        hiding.state = state
        hiding.userFacingError = error.map { ErrorCatalog.userFacingError(of: $0) }
        return hiding
    }

    func announcement(now: Date) -> (title: String, lines: [String]) {
        (
            "Files to hide on \(ErrorCatalog.clean(upload.host)), which keeps them:",
            [TextRenderer.brief(upload, now: now)]
        )
    }

    var json: JSONObject { JSONRenderer.deletion(self, of: upload.fileID, from: upload.host, upload) }

    func text(_ style: Style) -> [String] {
        let file = "\(upload.fileID) \(ErrorCatalog.quoted(upload.title))"
        let host = TerminalText.escaped(upload.host)
        return switch state {
        case .hidden: ["\(style.green("hidden")) \(file); \(host) keeps the file"]
        case .planned:
            // A dry run does not query the server.
            [
                "\(file) would be hidden (\(upload.guestState == nil ? "state" : "last known state:") "
                    + "\(TextRenderer.guestState(of: upload, now: now))); \(host) keeps the file"
            ]
        case .declined: ["\(file) was not hidden"]
        case .failed: []
        }
    }

    /// Returns this value, marked as failed if the state of the upload does not allow hiding. `isLastKnown` means that
    /// the server was not queried, and may have another state.
    func judged(isLastKnown: Bool = false) -> GuestHiding {
        guard let known = upload.guestState, !known.mayBeHidden else { return self }
        return finished(.failed, refusal(known, isLastKnown: isLastKnown))
    }

    /// Queries the server for the state, stores it, and returns the result of `judged`. An upload hidden by this
    /// machine is not queried: the server still reports it as approved (gighive contract section 6).
    func querying(store: TokenStore, servers: ServerSession, now: Date) async -> GuestHiding {
        guard upload.guestState != .hidden else { return judged() }
        do {
            let (client, receipt) = try await access(store, servers)
            guard let state = try await client.guestState(receipt) else { return finished(.failed, unknown) }
            var queried = self
            queried.upload.guestState = state
            queried.upload.guestStateAt = now
            try store.note(GuestStanding(state: state.rawValue, notedAt: now), of: record.uploadID)
            return queried.judged()
        } catch {
            return finished(.failed, error)
        }
    }

    /// Hides the upload. The request is sent once: the response to a repeated request would look like a refusal.
    func perform(store: TokenStore, servers: ServerSession, now: Date) async -> GuestHiding {
        do {
            let (client, receipt) = try await access(store, servers)
            try await client.guestHide(receipt)
            do {
                try await store.note(record.uploadID, UploadChange(failureCode: UploadRecord.hidden))
                try store.note(GuestStanding(state: GuestState.hidden.rawValue, notedAt: now), of: record.uploadID)
            } catch {
                // The server has hidden the upload, although this could not be stored here.
                return finished(.hidden, error)
            }
            return finished(.hidden)
        } catch let error as GigHiveError where error.code == .forbidden {
            return finished(.failed, refusal(upload.guestState, error))
        } catch {
            return finished(.failed, error)
        }
    }

    private func access(
        _ store: TokenStore,
        _ servers: ServerSession
    ) async throws -> (client: GigHiveClient, receipt: GuestReceipt) {
        guard let receipt = try store.guestReceipt(record.uploadID) else {
            throw GigHiveError(.noDeleteToken).with(\.fileID, upload.fileID)
        }
        return (try await servers.guestClient(for: try ServerURL(record.baseURL)), receipt)
    }

    private func refusal(
        _ known: GuestState?,
        _ error: GigHiveError? = nil,
        isLastKnown: Bool = false
    ) -> UserFacingError {
        guard known != .hidden else {
            return UserFacingError(
                .alreadyHidden,
                "\(upload.fileID) is already hidden; the server keeps the file"
            )
        }
        let reason =
            switch known {
            case .pending?: "it is pending, and only an approved upload can be hidden"
            case .rejected?: "the organizer has rejected it, and only an approved upload can be hidden"
            default: "only an approved upload can be hidden"
            }
        return UserFacingError(
            .forbidden,
            "cannot hide \(upload.fileID): \(reason)" + (isLastKnown ? " (last known state)" : ""),
            hint: known == .rejected
                ? "to remove it from mediactl uploads status: mediactl uploads discard \(record.uploadID)"
                : "mediactl uploads status",
            httpStatus: error?.httpStatus
        )
    }

    private var unknown: UserFacingError {
        UserFacingError(
            .notFound,
            "cannot hide \(upload.fileID): the server no longer has this guest upload"
        )
    }
}
