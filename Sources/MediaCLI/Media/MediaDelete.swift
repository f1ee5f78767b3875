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
            query.checksumSHA256 = try await LocalChecksum.hex(of: RawArguments.bytes(of: file))
        }
        let settings = try await SettingsSession.open(console, global: global, connection: connection)
        let confirmation = Confirmation(prompter: settings.prompter, isGiven: yes)
        if !dryRun {
            try confirmation.requirePrompt(for: "Delete these files?")
        }
        let store = try await StoreSession.open(settings)
        let session = try await MediaSession(settings, credentials)
        let run = MediaDeletionRun(
            session: session,
            isDryRun: dryRun,
            batch: DeletionBatch(
                console: console,
                store: store.store,
                confirmation: confirmation,
                finishTimeout: settings.settings.finishTimeout.value
            )
        )
        return try await run.run(ids.isEmpty ? .matching(query) : .ids(ids.uniqued { $0 }))
    }
}

/// Finds the files to delete on a server as its administrator.
struct MediaDeletionRun: Sendable {
    let session: MediaSession
    let isDryRun: Bool
    let batch: DeletionBatch

    enum Choice: Sendable {
        case ids([Int64])
        case matching(MediaQuery)
    }

    /// Returns the exit code of the batch; `.notFound` if no file matches.
    ///
    /// - Throws: `GigHiveError` if the files cannot be listed or the user is not an administrator; `UserFacingError` if
    ///   the deletion cannot be confirmed.
    func run(_ choice: Choice) async throws -> ExitCode {
        let console = batch.console
        try console.requireOutput()
        // A dry run sends only read requests.
        if !isDryRun {
            try await session.client.requireAdmin()
        }
        let candidates = try await candidates(choice)
        try requireOneGuess(choice, candidates)
        console.record(.start, ["items": JSONValue(candidates.count), "dry_run": .bool(isDryRun)])
        if candidates.isEmpty {
            console.note("no matching files on the server")
        }
        return try await batch.run(
            candidates.map(step),
            counting: ["deleted", "gone", "failed", "planned", "declined"],
            emptyCode: .notFound
        ) { "Delete \(Formats.count($0, "file"))?" }
    }

    /// The files to delete, and the IDs without a file, which have a `refusal`.
    private func candidates(_ choice: Choice) async throws -> [FileDeletion] {
        // The prompt shows all events of a file, so the whole listing is read.
        let listed = try await session.client.media()
        let (ids, query): ([Int64], MediaQuery) =
            switch choice {
            case .ids(let ids): (ids, MediaQuery())
            case .matching(let query): (try await session.client.media(matching: query).map(\.fileID), query)
            }
        var candidates: [FileDeletion] = []
        for id in ids {
            let result = DeleteResult(fileID: id, state: .failed, host: session.server.scope)
            var candidate = FileDeletion(result: result, server: session.server)
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
    private func requireOneGuess(_ choice: Choice, _ candidates: [FileDeletion]) throws(UserFacingError) {
        guard case .matching(let query) = choice, let name = query.fileName, query.guessesFileName,
            batch.confirmation.isGiven, candidates.count > 1
        else { return }
        let ids = candidates.map { "\($0.result.fileID)" }.joined(separator: " ")
        throw .usage(
            "\(candidates.count) files match --file-name \(ErrorCatalog.quoted(name)), and --yes confirms only one",
            hint: "omit --yes, or specify the intended files by their IDs: mediactl media delete \(ids)"
        )
    }

    private func step(_ candidate: FileDeletion) -> DeletionBatch.Step {
        guard let file = candidate.file, candidate.refusal == nil else { return DeletionBatch.Step(outcome: candidate) }
        var planned = candidate
        planned.result.state = .planned
        guard let checksum = file.checksumSHA256 else {
            var unverified = candidate
            unverified.result.error = GigHiveError(
                .adminUnverified,
                detail: "the server does not report a checksum"
            ).with(\.fileID, file.fileID)
            guard !isDryRun else { return DeletionBatch.Step(outcome: unverified) }
            return DeletionBatch.Step(outcome: planned) { [unverified] in unverified }
        }
        guard !isDryRun else { return DeletionBatch.Step(outcome: planned) }
        let target = AdminDeletion(fileID: file.fileID, checksumSHA256: checksum, sizeBytes: file.sizeBytes)
        let deleter = Deleter(client: session.client, store: batch.store, host: session.server.scope)
        return DeletionBatch.Step(outcome: planned) {
            var deleted = candidate
            deleted.result = await deleter.deleteAsAdmin(target)
            return deleted
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
