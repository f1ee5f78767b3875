internal import ArgumentParser
internal import GigHive
internal import MediaCore
internal import MediaStore
internal import MediaTransport

struct MediaDelete: UploadServerCommand {
    static let schema = "mediactl.media-delete/1"
    static let configuration = CommandConfiguration(
        commandName: "delete",
        abstract: "Delete files from a server as its administrator.",
        discussion: """
            Deletes files uploaded by any user, for everyone and from every event. The files are listed before the \
            prompt, and the checksum of each is verified again right before its deletion. Requires the admin user. \
            With --yes, --file-name must match exactly one file.

            Examples:
              mediactl media delete 18 19
              mediactl media delete --event-date 2026-06-13 --org-name "The Band" --dry-run
              mediactl media delete --file-name clip.mp4
            """
    )

    @Argument("IDs of the files on the server.", value: "id")
    var ids: [Int64] = []

    @Option("Delete the file with the content of this local file.", value: .file("path"))
    var file: String?

    @OptionGroup(title: "Filters") var filters: MediaFilterOptions

    @Flag(name: .shortAndLong, help: "Delete without confirmation.")
    var yes = false

    @Flag(name: .dryRun, help: "Show what would be deleted, without deleting it.")
    var dryRun = false

    @OptionGroup(title: "Credentials") var credentials: CredentialOptions
    @OptionGroup(title: "Connection options") var connection: ConnectionOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func validate() throws {
        try require(file == nil || filters.sha256 == nil, "--file cannot be combined with --sha256.")
        let isFiltered = file != nil || !filters.query.isEmpty
        try require(ids.isEmpty || !isFiltered, "IDs cannot be combined with --file or filters.")
        try require(!ids.isEmpty || isFiltered, "Specify IDs, --file or at least one filter.")
        try require(ids.allSatisfy({ $0 > 0 }), "An ID must be 1 or more.")
        try require(!yes || !dryRun, "--yes cannot be combined with --dry-run.")
    }

    func run(in console: Console) async throws -> ExitCode {
        var query = filters.query
        if let file {
            query.checksumSHA256 = try await LocalChecksum.hex(of: file)
        }
        let settings = try await SettingsSession.open(console, global: global, connection: connection)
        let confirmation = Confirmation(prompter: settings.prompter, isGiven: yes)
        if !dryRun {
            try confirmation.requirePrompt(for: "Delete these files?")
        }
        let store = try await StoreSession.open(settings)
        let session = try await MediaSession.open(console, for: self)
        let run = MediaDeletionRun(
            console: console,
            session: session,
            store: store.store,
            confirmation: confirmation,
            isDryRun: dryRun
        )
        return try await run.run(ids.isEmpty ? .matching(query) : .ids(ids.uniqued { $0 }))
    }
}

/// Deletes files on a server as its administrator: finds them, shows them, prompts once, and deletes them one at a
/// time.
struct MediaDeletionRun: Sendable {
    let console: Console
    let session: MediaSession
    let store: TokenStore
    let confirmation: Confirmation
    let isDryRun: Bool

    enum Choice: Sendable {
        case ids([Int64])
        case matching(MediaQuery)
    }

    struct Outcome: Sendable {
        var result: DeleteResult
        /// As listed before the deletion.
        var file: ServerMedia?
        /// The error if `result` does not contain one.
        var refusal: UserFacingError?

        var error: UserFacingError? { refusal ?? result.userFacingError }

        var exitCode: ExitCode { refusal?.exitCode ?? result.exitCode }
    }

    private var host: String { session.server.scope }

    /// Returns the exit code of the batch; `.notFound` if no file matches.
    ///
    /// - Throws: `GigHiveError` if the files cannot be listed or the user is not an administrator; `UserFacingError` if
    ///   the deletion cannot be confirmed.
    func run(_ choice: Choice) async throws -> ExitCode {
        try console.requireOutput()
        // A dry run sends only read requests.
        if !isDryRun {
            try await session.client.requireAdmin()
        }
        let candidates = try await candidates(choice)
        try requireOneGuess(choice, candidates)
        console.record(.start, ["items": JSONValue(candidates.count), "dry_run": .bool(isDryRun)])
        let isConfirmed = try await confirm(candidates.compactMap { $0.refusal == nil ? $0.file : nil })
        store.beginRemovals()
        let outcomes = await console.context.interruption.handling({ _ in }) {
            await processAll(candidates, isConfirmed: isConfirmed)
        }
        let removal = console.finishRemovals(in: store)
        if candidates.isEmpty {
            console.note("no matching files on the server")
        }
        let batch =
            candidates.isEmpty
            ? .notFound
            : ExitCode.batch(outcomes.map(\.exitCode), isWhole: outcomes.count == candidates.count)
        let names = ["deleted", "gone", "failed", "planned", "declined"]
        return console.ending(batch == .success ? removal : batch)
            .summary(of: candidates.count, outcomes.map(\.result.state.rawValue), counting: names)
    }

    // MARK: Finding

    /// The files to delete, and the IDs without a file, which have a `refusal`.
    private func candidates(_ choice: Choice) async throws -> [Outcome] {
        // The prompt shows all events of a file, so the whole listing is read.
        let listed = try await session.client.media()
        let (ids, query): ([Int64], MediaQuery) =
            switch choice {
            case .ids(let ids): (ids, MediaQuery())
            case .matching(let query): (try await session.client.media(matching: query).map(\.fileID), query)
            }
        var candidates: [Outcome] = []
        for id in ids {
            var candidate = Outcome(result: DeleteResult(fileID: id, state: .failed, host: host))
            if let asset = try await session.client.asset(id) {
                let file = listed.first { $0.fileID == id } ?? ServerMedia(fileID: id)
                candidate.file = file.adding(asset)
                // A deletion removes a file from all its events, but the user chose only one of them. Releases D1 and D2
                // also list a file in events that merely use its label.
                if let other = file.events.first(where: { !query.includes($0) }) {
                    candidate.refusal = .isInOtherEvent(id, other)
                }
            } else {
                candidate.refusal = .noSuchMedia(id)
            }
            candidates.append(candidate)
        }
        return candidates
    }

    /// A file name is compared with labels and may match unintended files, so `--yes` confirms only one file.
    private func requireOneGuess(_ choice: Choice, _ candidates: [Outcome]) throws(UserFacingError) {
        guard case .matching(let query) = choice, let name = query.fileName, query.guessesFileName,
            confirmation.isGiven, candidates.count > 1
        else { return }
        let ids = candidates.map { "\($0.result.fileID)" }.joined(separator: " ")
        throw .usage(
            "\(candidates.count) files match --file-name \(ErrorCatalog.quoted(name)), and --yes confirms only one",
            hint: "omit --yes, or specify the intended files by their IDs: mediactl media delete \(ids)"
        )
    }

    private func confirm(_ files: [ServerMedia]) async throws -> Bool {
        guard !isDryRun, !files.isEmpty else { return false }
        let lines =
            ["Files to delete from \(ErrorCatalog.clean(host)), for everyone and from every event:"]
            + files.flatMap { TextRenderer.brief($0) }
        return try await confirmation.prompt(
            lines,
            "Delete \(Formats.count(files.count, "file"))?",
            on: console
        )
    }

    // MARK: Deleting

    private func processAll(_ candidates: [Outcome], isConfirmed: Bool) async -> [Outcome] {
        var outcomes: [Outcome] = []
        for candidate in candidates {
            guard console.mayContinue else { break }
            let outcome = await process(candidate, isConfirmed: isConfirmed)
            report(outcome)
            outcomes.append(outcome)
        }
        return outcomes
    }

    /// A signal prevents the next deletion. One in flight is abandoned only after a repeated signal or a time limit
    /// (`Console.outlast`).
    private func process(_ candidate: Outcome, isConfirmed: Bool) async -> Outcome {
        guard let file = candidate.file, candidate.refusal == nil else { return candidate }
        var outcome = candidate
        outcome.result.state = .declined
        guard isConfirmed || isDryRun else { return outcome }
        guard let checksum = file.checksumSHA256 else {
            outcome.result.state = .failed
            outcome.result.error = GigHiveError(
                .adminUnverified,
                detail: "the server does not report a checksum"
            ).with(\.fileID, file.fileID)
            return outcome
        }
        outcome.result.state = .planned
        guard isConfirmed else { return outcome }
        let target = AdminDeletion(fileID: file.fileID, checksumSHA256: checksum, sizeBytes: file.sizeBytes)
        let deleter = Deleter(client: session.client, store: store, host: host)
        outcome.result = await console.context.interruption.handling({ request in
            console.outlast(
                request,
                for: "the server's response",
                finishTimeout: session.settings.settings.finishTimeout.value
            )
        }) { await deleter.deleteAsAdmin(target) }
        return outcome
    }

    // MARK: Reports

    private func report(_ outcome: Outcome) {
        console.result(
            JSONRenderer.mediaDeletion(outcome, on: session.server),
            TextRenderer.mediaDeletion(outcome, on: session.server, style: console.outputStyle)
        )
        if let error = outcome.error {
            console.error(error)
        }
    }
}

extension UserFacingError {
    /// A file that the filters selected by one event, and that the server also lists in another event.
    static func isInOtherEvent(_ fileID: Int64, _ event: ServerMedia.Event) -> UserFacingError {
        let name = [event.date, event.orgName].compactMap(\.self).map(ErrorCatalog.clean).joined(separator: " ")
        return UserFacingError(
            .inOtherEvent,
            "\(fileID) is also listed in another event, \(name); nothing was deleted",
            hint: "to delete it from all its events: mediactl media delete \(fileID)"
        )
    }

    static func noSuchMedia(_ fileID: Int64) -> UserFacingError {
        UserFacingError(
            .notFound,
            "the server has no file with the ID \(fileID)",
            hint: "mediactl media list"
        )
    }
}

extension JSONRenderer {
    static func mediaDeletion(_ deletion: MediaDeletionRun.Outcome, on server: ServerURL) -> JSONObject {
        let file = deletion.file
        return [
            "file_id": .integer(deletion.result.fileID), "host": .string(server.scope),
            "server": .string(server.description), "state": .string(deletion.result.state.rawValue),
            "events": .array((file?.events ?? []).map(event)), "file_name": JSONValue(file?.fileName),
            "file_type": JSONValue(file?.fileType), "size_bytes": JSONValue(file?.sizeBytes),
            "checksum_sha256": JSONValue(file?.checksumSHA256), "http_status": JSONValue(deletion.result.httpStatus),
            "exit_code": .exitCode(deletion.exitCode), "error": .error(deletion.error),
        ]
    }
}

extension TextRenderer {
    static func mediaDeletion(_ deletion: MediaDeletionRun.Outcome, on server: ServerURL, style: Style) -> [String] {
        let label = deletion.file?.events.lazy.compactMap(\.label).first
        let file = "\(deletion.result.fileID)" + (label.map { " " + ErrorCatalog.quoted($0) } ?? "")
        let host = TerminalText.escaped(server.scope)
        return switch deletion.result.state {
        case .deleted: ["\(style.green("deleted")) \(file) from \(host)"]
        case .gone, .entryRemoved: ["\(file) was already deleted from \(host)"]
        case .planned: ["\(file) would be deleted from \(host)"]
        case .declined: ["\(file) was not deleted"]
        case .failed: []
        }
    }
}
