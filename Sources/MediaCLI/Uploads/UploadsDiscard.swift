internal import ArgumentParser
internal import GigHive
internal import MediaCore
internal import MediaStore
internal import MediaTransport

struct UploadsDiscard: ServerFilterCommand {
    static let schema = "mediactl.uploads-discard/1"
    static let configuration = CommandConfiguration(
        commandName: "discard",
        abstract: "Discard interrupted uploads and free their space on the server.",
        discussion: """
            A guest upload that the organizer has rejected is removed from mediactl uploads status; the server keeps the \
            file.
            Exits with 10 if there is nothing left to discard, or if the file is on the server.

            Example:
              mediactl uploads discard u-h6zfchyzwaq7c3fo
            """
    )

    @Argument("IDs of uploads in mediactl uploads status, or unique prefixes.", value: "id")
    var ids: [String]

    @Flag(name: .shortAndLong, help: "Discard without confirmation.")
    var yes = false

    @Flag(help: "Discard even if the server is unreachable; the data on the server is then kept.")
    var evenUnreachable = false

    @Flag(name: .dryRun, help: "Show what would be discarded, without discarding it.")
    var dryRun = false

    @OptionGroup(title: "Guests with an event link") var guest: GuestOptions
    @OptionGroup(title: "Credentials") var credentials: CredentialOptions
    @OptionGroup(title: "Connection options") var connection: ConnectionOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func validate() throws {
        try JournalSelection.check(ids)
        try require(
            !guest.acceptTerms && guest.displayName == nil,
            "--accept-terms and --display-name are for uploads; only the event link is used to discard one."
        )
    }

    func run(in console: Console) async throws -> ExitCode {
        let settings = try await SettingsSession.open(console, global: global, connection: connection)
        let store = try await StoreSession.open(settings)
        let records = try JournalSelection(store: store, host: try connection.choice.scope(settings)).named(ids)
        let servers = try ServerSession(settings, credentials: credentials)
        let run = DiscardingRun(
            console: console,
            uploaders: UploaderSource(
                settings: settings,
                store: store,
                servers: servers,
                guest: guest,
                command: "mediactl uploads discard"
            ),
            confirmation: Confirmation(prompter: settings.prompter, isGiven: yes),
            evenUnreachable: evenUnreachable,
            isDryRun: dryRun
        )
        return try await run.run(records)
    }
}

struct DiscardingRun: Sendable {
    let console: Console
    let uploaders: UploaderSource
    let confirmation: Confirmation
    let evenUnreachable: Bool
    let isDryRun: Bool

    /// - Throws: `UserFacingError` if no prompt is possible, or the results cannot be written; `CredentialError` if the
    ///   first login prompt was interrupted; `StoreError`.
    func run(_ records: [UploadRecord]) async throws -> ExitCode {
        let question = records.count == 1 ? "Discard it?" : "Discard them?"
        if !isDryRun {
            try confirmation.requirePrompt(for: question)
        }
        try console.start(["items": JSONValue(records.count), "dry_run": .bool(isDryRun)])
        let lines = try announcement(of: records)
        let isConfirmed = try await isDryRun ? false : confirmation.prompt(lines, question, on: console)
        return try await console.context.interruption.handling({ _ in }) {
            var rows: [DiscardedUpload] = []
            for record in records {
                guard console.mayContinue else { break }
                let row: DiscardedUpload
                do {
                    row = try await discard(record, isConfirmed: isConfirmed)
                } catch {
                    // Ctrl-C at the first prompt, as at every prompt, is not an error and does not require a summary.
                    guard !rows.isEmpty else { throw error }
                    break
                }
                console.result(row)
                if let warning = row.warning {
                    console.warning(
                        "\(ErrorCatalog.quoted(record.path)): \(TextRenderer.warning(warning))"
                    )
                }
                if let error = row.error {
                    console.error(ErrorCatalog.userFacingError(of: error))
                }
                rows.append(row)
            }
            return finish(rows, of: records.count)
        }
    }

    /// Lists what will be discarded and which data the server keeps.
    private func announcement(of records: [UploadRecord]) throws -> [String] {
        let store = uploaders.store.store
        let guests = records.filter(\.isHeldForGuest)
        let inOneRequest = records.filter { $0.transport == .multipart }
        let mayBeStored = try records.filter { try Uploader.mayBeFinalizing($0, in: store) }
        let resumable = records.filter { $0.transport == .tus && !mayBeStored.contains($0) && !guests.contains($0) }
        let kept = try resumable.filter { try store.tusRecord($0.uploadID)?.isInChunks ?? false }
        let removed = resumable.filter { !kept.contains($0) }
        func section(_ title: String, _ records: [UploadRecord]) -> [String] {
            records.isEmpty ? [] : [title] + records.map(TextRenderer.brief)
        }
        return section("Uploads to discard, with their data on the server:", removed)
            + section("Local entries to remove (the server keeps the data for up to 24 hours):", kept)
            + section(
                "Local entries to remove (uploads in one request; a file on the server stays there):",
                inOneRequest
            )
            + section("Local entries to remove (the server may have stored the file, which stays there):", mayBeStored)
            + section("Guest uploads to remove from mediactl uploads status (the server keeps the files):", guests)
    }

    /// - Throws: `CredentialError` if a prompt was interrupted.
    private func discard(_ record: UploadRecord, isConfirmed: Bool) async throws -> DiscardedUpload {
        guard isDryRun || isConfirmed else { return DiscardedUpload(record: record, end: .declined) }
        do {
            if record.isHeldForGuest { return try await discardRejected(record) }
            guard !isDryRun else {
                try Uploader.checkDiscardable(
                    record,
                    evenUnreachable: evenUnreachable,
                    in: uploaders.store.store,
                    uploaders.store.directory
                )
                return DiscardedUpload(record: record, end: .planned)
            }
            let mayBeStored = try Uploader.mayBeFinalizing(record, in: uploaders.store.store)
            let uploader = try await uploader(for: record)
            let control = TransferControl()
            // Every request of a discard is idempotent, so a signal can interrupt it immediately.
            let result = await console.context.interruption.handling({ _ in control.abandon() }) {
                await uploader.discard(record, evenUnreachable: evenUnreachable, control: control) { limit in
                    console.note(
                        "\(ErrorCatalog.quoted(record.path)): the server still has the upload locked; waiting for up to "
                            + "\(Formats.span(limit)) (settle_timeout)"
                    )
                }
            }
            let isGivenUp = result.error == nil && result.state == .cancelled
            return DiscardedUpload(
                record: record,
                serverCopy: mayBeStored ? .possible : .none,
                end: isGivenUp ? .discarded : .failed,
                state: result.state,
                error: isGivenUp ? nil : result.error,
                warning: result.warnings.first { if case .keptByServer = $0 { true } else { false } }
            )
        } catch let error as CredentialError where error.exitCode == ExitCode.interrupt.rawValue {
            throw error
        } catch {
            return DiscardedUpload(record: record, end: .failed, error: error)
        }
    }

    /// Discards a guest upload if the server reports it as rejected or no longer has it.
    private func discardRejected(_ record: UploadRecord) async throws -> DiscardedUpload {
        let store = uploaders.store.store
        var standing = try store.guestStandings()[record.uploadID]
        if let receipt = try store.guestReceipt(record.uploadID) {
            guard !isDryRun || standing != nil else {
                throw UserFacingError(
                    .notResumable,
                    "cannot discard \(ErrorCatalog.quoted(record.path)): the state of the guest upload is unknown",
                    hint: "mediactl uploads status"
                )
            }
            do {
                if !isDryRun { standing = try await standingOnServer(of: record, receipt) }
            } catch is GigHiveError where evenUnreachable {
                // The last known state is used.
            }
        }
        if let state = standing?.state, state != GuestState.rejected.rawValue {
            let isApproved = state == GuestState.approved.rawValue
            throw UserFacingError(
                .notResumable,
                "cannot discard \(ErrorCatalog.quoted(record.path)): the guest upload is \(ErrorCatalog.clean(state))",
                hint: isApproved ? record.fileID.map { "to hide it: mediactl uploads delete \($0)" } : nil
            )
        }
        guard !isDryRun else { return DiscardedUpload(record: record, end: .planned) }
        try await store.note(record.uploadID, UploadChange(failureCode: UploadRecord.discarded))
        return DiscardedUpload(record: record, serverCopy: .kept, end: .discarded)
    }

    /// The state of a guest upload, which is also stored; nil if the server no longer has the upload.
    private func standingOnServer(of record: UploadRecord, _ receipt: GuestReceipt) async throws -> GuestStanding? {
        let client = try await uploaders.servers.guestClient(for: try ServerURL(record.baseURL))
        // The query is idempotent, so a signal can interrupt it immediately.
        let state = try await console.context.interruption.canceling { try await client.guestState(receipt) }
        let standing = state.map { GuestStanding(state: $0.rawValue, notedAt: console.context.now()) }
        if let standing { try uploaders.store.store.note(standing, of: record.uploadID) }
        return standing
    }

    /// Without access, the data stays on the server, which the user has accepted with `--even-unreachable`.
    private func uploader(for record: UploadRecord) async throws -> Uploader {
        do {
            return try await uploaders.uploader(for: record, needsTerms: false)
        } catch  where evenUnreachable {
            return try await uploaders.anonymousUploader(for: record)
        }
    }

    private func finish(_ rows: [DiscardedUpload], of total: Int) -> ExitCode {
        console.ending(ExitCode.batch(rows.map(\.exitCode), isWhole: rows.count == total))
            .summary(of: total, rows.map(\.end.rawValue), counting: DiscardedUpload.Outcome.allCases.map(\.rawValue))
    }
}

struct DiscardedUpload: Sendable {
    enum Outcome: String, Sendable, CaseIterable {
        case discarded
        case failed
        case planned
        case declined
    }

    /// Whether the file is on the server.
    enum ServerCopy: Sendable {
        case none
        /// The server could not be queried.
        case possible
        case kept
    }

    var record: UploadRecord
    var serverCopy = ServerCopy.none
    var end: Outcome
    /// New state in the journal, if it changed.
    var state: UploadState?
    var error: (any Error)?
    /// Set if some of the data stays on the server.
    var warning: UploadWarning?

    var exitCode: ExitCode {
        switch end {
        case .discarded, .planned: .success
        case .declined: .failure
        case .failed: ExitCode(of: error) ?? .failure
        }
    }
}

extension TextRenderer {
    /// One line for a prompt.
    static func brief(_ record: UploadRecord) -> String {
        "  \(TerminalText.escaped(record.uploadID))  \(ErrorCatalog.quoted(record.path))  "
            + "(\(Formats.bytes(record.sizeBytes)), to \(TerminalText.escaped(record.host)))"
    }
}

extension DiscardedUpload: RunItem {
    var json: JSONObject {
        [
            "upload_id": .string(record.uploadID), "path": .path(record.path), "result": .string(end.rawValue),
            "previous_state": .string(record.state.rawValue), "state": .string((state ?? record.state).rawValue),
            "host": .string(record.host), "server": .string(record.baseURL),
            "size_bytes": .integer(record.sizeBytes), "exit_code": .exitCode(exitCode),
            "kept_until": keptUntil, "error": .error(error),
        ]
    }

    func text(_ style: Style) -> [String] {
        let name = "\(TerminalText.escaped(record.uploadID)) \(ErrorCatalog.quoted(record.path))"
        return switch end {
        case .discarded where serverCopy == .possible:
            ["removed the local entry of \(name); the server may have stored the file"]
        case .discarded where serverCopy == .kept:
            ["\(style.green("discarded")) \(name); the server keeps the file"]
        case .discarded where warning != nil: ["removed the local entry of \(name)"]
        case .discarded: ["\(style.green("discarded")) \(name)"]
        case .planned: ["\(name) would be discarded"]
        case .declined: ["\(name) was not discarded"]
        case .failed: []
        }
    }

    /// How long the server keeps the data; null if it keeps nothing or the time is unknown.
    private var keptUntil: JSONValue {
        guard case .keptByServer(let date?) = warning else { return .null }
        return .time(date)
    }
}
