internal import ArgumentParser
internal import Foundation
internal import GigHive
internal import MediaCore
internal import MediaStore
internal import MediaTransport

struct UploadsStatus: ServerFilterCommand {
    static let schema = "mediactl.uploads-status/1"
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show unfinished uploads and check their status with the server.",
        discussion: """
            With --server or --profile, shows only uploads to that server.

            Examples:
              mediactl uploads status
              mediactl uploads status --server https://media.example.org --dry-run
            """
    )

    @Flag(name: .dryRun, help: "Show only the local status, without querying servers.")
    var dryRun = false

    @OptionGroup(title: "Credentials") var credentials: CredentialOptions
    @OptionGroup(title: "Connection options") var connection: ConnectionOptions
    @OptionGroup(visibility: .hidden) var oldHost: OldHostOption
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(in console: Console) async throws -> ExitCode {
        let settings = try await SettingsSession.open(console, global: global, connection: connection)
        let store = try await StoreSession.open(settings)
        let run = StatusRun(
            console: console,
            settings: settings,
            store: store,
            servers: try ServerSession(settings, credentials: credentials),
            queriesServers: !dryRun
        )
        let rows = try await run.rows(host: try oldHost.scope(connection.choice, settings))
        console.records(.item, rows.map { JSONRenderer.journal($0) })
        console.table(TextRenderer.journal(rows, now: console.context.now()))
        for userFacingError in rows.compactMap(\.userFacingError) {
            console.error(userFacingError)
        }
        // For an error, the hint already contains the command.
        for next in rows.filter({ $0.userFacingError == nil }).compactMap(\.next).prefix(3) where !console.isJSON {
            console.note("next: \(next)")
        }
        let resumable = rows.count(where: \.isResumable)
        if resumable > 1, !console.isJSON {
            console.note("\(resumable) uploads can be resumed: mediactl uploads resume --all")
        }
        if rows.isEmpty {
            console.note("no unfinished uploads")
        }
        return console.ending(ExitCode.batch(rows.map(\.exitCode))).summary([
            "items": JSONValue(rows.count), "resumable": JSONValue(resumable),
        ])
    }
}

/// Determines the status of unfinished uploads by querying their servers.
struct StatusRun: Sendable {
    let console: Console
    let settings: SettingsSession
    let store: StoreSession
    let servers: ServerSession
    let queriesServers: Bool

    /// The uploads in the journal that are unfinished, resumable, or awaiting an organizer's decision, newest first,
    /// each with its status.
    ///
    /// - Throws: `StoreError`; `GigHiveError` if the store fails; `CredentialError` if a prompt was interrupted;
    ///   `UserFacingError` if the results cannot be written.
    func rows(host: String?) async throws -> [JournalRow] {
        var rows: [JournalRow] = []
        var unreachable: Set<String> = []
        let records = try records(host: host)
        try console.start(["items": JSONValue(records.count), "dry_run": .bool(!queriesServers)])
        let standings = records.contains(where: \.isHeldForGuest) ? try store.store.guestStandings() : [:]
        for record in records {
            var row = try await row(of: record, standings, &unreachable)
            if settings.needsServerOption(for: record.baseURL) {
                row.hintOptions = console.hintOptions(naming: record.baseURL)
            }
            // Determined in the same way as by `uploads resume`, after the server was queried.
            let known = try store.store.upload(record.uploadID)
            row.isResumable = try known.map { try JournalSelection.isResumable($0, in: store) } ?? false
            if row.isResumable, let known {
                row.sourceError = try JournalSelection.sourceError(of: known, in: store)
                row.isResumable = row.sourceError == nil
            }
            row.isUndeterminable =
                try known.map { known in
                    try Uploader.isUndeterminable(known) && !JournalSelection.isBeingSent(known, in: store)
                } ?? false
            rows.append(row)
        }
        return rows
    }

    private func row(
        of record: UploadRecord,
        _ standings: [String: GuestStanding],
        _ unreachable: inout Set<String>
    ) async throws -> JournalRow {
        if let standing = try knownStanding(of: record) {
            return JournalRow(record: record, standing: standing)
        }
        guard queriesServers, !unreachable.contains(record.baseURL) else { return unqueried(record, standings) }
        do {
            return try await queried(record)
        } catch let error as CredentialError where error.exitCode == ExitCode.interrupt.rawValue {
            throw error
        } catch {
            unreachable.insert(record.baseURL)
            let userFacingError = ErrorCatalog.userFacingError(of: error)
            console.warning(
                "cannot query \(ErrorCatalog.clean(record.baseURL)): \(userFacingError.message)",
                hint: userFacingError.hint
            )
            return unqueried(record, standings)
        }
    }

    /// A row without a response from its server; for a guest upload, with the last known state.
    private func unqueried(_ record: UploadRecord, _ standings: [String: GuestStanding]) -> JournalRow {
        JournalRow(
            record: record,
            standing: record.isHeldForGuest ? .guest(nil) : .finished,
            lastKnown: record.isHeldForGuest ? standings[record.uploadID] : nil
        )
    }

    private func records(host: String?) throws -> [UploadRecord] {
        let open = Set(UploadState.allCases.filter { !$0.isFinal })
        let halted = try store.store.uploads(states: [.failed, .cancelled], host: host)
            .filter { try Uploader.isResumable($0, in: store.store) }
        let guests = try store.store.guestUploads(host: host).filter(\.isHeldForGuest)
        return (try store.store.uploads(states: open, host: host) + halted + guests)
            .sorted { $0.createdAt > $1.createdAt }
    }

    /// The status if no query is needed: the server cannot have stored the file of this tus upload yet.
    private func knownStanding(of record: UploadRecord) throws -> JournalRow.Standing? {
        guard record.transport == .tus, try Uploader.isResumable(record, in: store.store) else { return nil }
        let tus = try store.store.tusRecord(record.uploadID)
        guard tus?.finalizeStartedAt == nil else { return nil }
        guard try !JournalSelection.isBeingSent(record, in: store) else { return .running }
        // A server that counts chunks may have stored the file if its last chunk has arrived.
        guard tus?.mayBeStored != true else { return nil }
        return .resumable(sentBytes: tus?.verifiedBytes ?? 0)
    }

    private func queried(_ record: UploadRecord) async throws -> JournalRow {
        guard record.isHeldForGuest, let receipt = try store.store.guestReceipt(record.uploadID) else {
            let server = try ServerURL(record.baseURL)
            let client =
                record.isGuest
                ? await servers.anonymousClient(for: server)
                : try await servers.client(for: server, retryCommand: "mediactl uploads status")
            let uploader = store.uploader(client, settings.uploadOptions())
            return JournalRow(record: record, result: await resolve(record, uploader))
        }
        let client = try await servers.guestClient(for: try ServerURL(record.baseURL))
        let state = try await client.guestState(receipt)
        let standing = state.map { GuestStanding(state: $0.rawValue, notedAt: console.context.now()) }
        if let standing { try store.store.note(standing, of: record.uploadID) }
        return JournalRow(record: record, standing: .guest(state), lastKnown: standing)
    }

    /// Queries the server with progress notes, since it may take minutes.
    private func resolve(_ record: UploadRecord, _ uploader: Uploader) async -> UploadResult {
        let path = ErrorCatalog.quoted(record.path)
        console.note(
            "checking whether \(ErrorCatalog.clean(record.baseURL)) has \(path), for up to "
                + Formats.clock(limit(for: record))
        )
        let began = console.context.elapsed()
        let ticker = Task {
            while !Task.isCancelled {
                try await Task.sleep(for: .seconds(10))
                console.note("still checking \(path) (\(Formats.clock(console.context.elapsed() - began)))")
            }
        }
        defer { ticker.cancel() }
        return await uploader.resolve(record)
    }

    /// The remaining time in which a lost upload may still appear on the server.
    private func limit(for record: UploadRecord) -> Duration {
        let elapsed = Duration.seconds(max(0, console.context.now().timeIntervalSince(record.updatedAt)))
        return max(.zero, settings.settings.settleTimeout.value - elapsed)
    }
}

extension UploadRecord {
    /// Whether this is a guest upload with a file on the server that this machine has not deleted. A duplicate of an
    /// earlier upload has no receipt: the guest's upload is the earlier one.
    var isStoredForGuest: Bool {
        isGuest && state.isFinal && fileID != nil && state != .duplicate && state != .refusedDuplicate
            && failureCode != Self.deleted
    }

    /// Whether this machine has neither deleted nor hidden the file, nor discarded the upload.
    var isHeldForGuest: Bool { isStoredForGuest && failureCode != Self.hidden && failureCode != Self.discarded }
}

extension TusRecord {
    /// Number of bytes that are known to be on the server: those before the newest proof of each part; 0 for a part
    /// that starts over because its chunk size is unknown (gighive-d4 contract section 10).
    fileprivate var verifiedBytes: Int64 {
        parts.reduce(0) { $0 + ($1.needsChunkSize ? 0 : $1.proofs.last?.offset ?? 0) }
    }
}

/// An upload with its status, and the server's response if this run queried the server.
struct JournalRow: Sendable {
    enum Standing: Sendable, Equatable {
        /// None of the other cases.
        case finished
        /// Resumable, with some bytes already on the server.
        case resumable(sentBytes: Int64)
        /// Another process is sending the upload.
        case running
        /// A guest upload with the organizer's decision; nil if the server was not queried or no longer has the upload.
        case guest(GuestState?)
    }

    var record: UploadRecord
    /// nil if the server was not queried.
    var result: UploadResult?
    var standing = Standing.finished
    /// Whether `uploads resume` can resume the upload.
    var isResumable = false
    /// Why an interrupted upload cannot be resumed; nil if it can be resumed, or if its file is no longer needed.
    var sourceError: GigHiveError?
    /// Whether `uploads discard` is the only possible action.
    var isUndeterminable = false
    /// Last known state of a guest upload.
    var lastKnown: GuestStanding?

    var state: UploadState { result?.state ?? record.state }

    /// The options that printed commands need because they would otherwise use a different server.
    var hintOptions: HintOptions?

    var userFacingError: UserFacingError? {
        result?.error.map { ErrorCatalog.userFacingError(of: $0).completed(by: hintOptions) }
    }

    /// Number of bytes of a resumable upload that are on the server.
    var sentBytes: Int64? {
        if case .resumable(let bytes) = standing { bytes } else { nil }
    }

    /// The organizer's decision about a guest upload.
    var guestState: GuestState? {
        if case .guest(let state) = standing { state } else { nil }
    }

    /// The next command to run; nil if there is nothing to do.
    var next: String? {
        switch standing {
        case .resumable where sourceError != nil: JournalSelection.discard(record.uploadID, isGuest: record.isGuest)
        case .resumable: JournalSelection.resumption(of: record.uploadID, isGuest: record.isGuest)
        case .finished where isUndeterminable:
            JournalSelection.discard(record.uploadID, isGuest: record.isGuest)
        case .guest(.rejected): "mediactl uploads discard \(record.uploadID)"
        case .finished, .running, .guest: nil
        }
    }

    /// An upload that is finished, resumable, or being sent by another process is not a failure.
    var exitCode: ExitCode {
        guard standing == .finished, result?.error?.code != .uploadInProgress else { return .success }
        return switch state {
        case .planned, .done, .duplicate, .linked, .failed, .cancelled: .success
        case .refusedDuplicate: .conflict
        case .tokenLost: .deleteToken
        case .sending, .sent, .finalized, .unknownOutcome: .network
        }
    }
}

extension JSONRenderer {
    static func journal(_ row: JournalRow) -> JSONObject {
        let record = row.record
        return [
            "upload_id": .string(record.uploadID), "path": .path(record.path),
            "previous_state": .string(record.state.rawValue), "state": .string(row.state.rawValue),
            "host": .string(record.host), "server": .string(record.baseURL),
            "file_id": JSONValue(row.result?.fileID ?? record.fileID),
            "size_bytes": .integer(record.sizeBytes),
            "checksum_sha256": JSONValue(row.result?.checksumSHA256 ?? record.checksumSHA256),
            "has_delete_token": JSONValue(row.result?.hasDeleteToken),
            "transport": .string(record.transport.rawValue), "guest": .bool(record.isGuest),
            "resumable": .bool(row.isResumable), "sent_bytes": JSONValue(row.sentBytes),
            "guest_status": JSONValue(row.guestState?.rawValue),
            "guest_state": JSONValue(row.lastKnown?.state),
            "guest_state_at": .time(row.lastKnown?.notedAt), "next": JSONValue(row.next),
            "attempts": JSONValue(record.attempts), "created_at": .time(record.createdAt),
            "updated_at": .time(record.updatedAt), "exit_code": .exitCode(row.exitCode),
            "error": .error(row.userFacingError),
        ]
    }
}

extension TextRenderer {
    static func journal(_ rows: [JournalRow], now: Date) -> Table {
        Table(columns: [
            .init(title: "UPLOAD", dropOrder: 5),
            .init(title: "FILE", isFlexible: true, minimumWidth: 12, isPath: true),
            .init(title: "STATE"), .init(title: "ID", alignment: .right, dropOrder: 4),
            .init(title: "SIZE", alignment: .right, dropOrder: 1), .init(title: "STARTED", dropOrder: 3),
            .init(title: "SERVER", isFlexible: true, minimumWidth: 12, dropOrder: 2),
        ])
        .rows(for: rows) { row in
            [
                TerminalText.escaped(row.record.uploadID), TerminalText.escaped(row.record.path), words(for: row),
                (row.result?.fileID ?? row.record.fileID).map { "\($0)" } ?? "-",
                Formats.bytes(row.record.sizeBytes), Formats.age(of: row.record.createdAt, now: now),
                TerminalText.escaped(row.record.host),
            ]
        }
    }

    /// The state and whether the upload can be resumed.
    static func words(for row: JournalRow) -> String {
        switch row.standing {
        case .resumable where row.sourceError?.code == .sourceChanged: return "file changed"
        case .resumable where row.sourceError != nil: return "file missing"
        // No process is sending the upload anymore.
        case .finished where row.isUndeterminable: return words(for: UploadState.unknownOutcome)
        // Shown as resumable even if the server could not be queried.
        case .finished where row.isResumable:
            return row.state == .sending ? "resumable" : "\(words(for: row.state)), resumable"
        case .finished: return words(for: row.state)
        case .running: return "being sent"
        case .resumable(let sent):
            let percent = row.record.sizeBytes > 0 ? sent * 100 / row.record.sizeBytes : 0
            return "resumable, \(percent)% (\(Formats.bytes(sent)))"
        case .guest(let state?): return "guest, \(state.rawValue)"
        case .guest(nil):
            let known = row.lastKnown.flatMap { GuestState(rawValue: $0.state) }
            return known.map { "guest, last known: \($0.rawValue)" } ?? "guest, not checked"
        }
    }

    static func words(for state: UploadState) -> String {
        state.rawValue.replacing("_", with: " ")
    }
}
