internal import ArgumentParser
internal import Foundation
internal import GigHive
internal import MediaCore
internal import MediaStore
internal import MediaTransport

struct UploadsDelete: UploadServerCommand {
    static let schema = "mediactl.uploads-delete/1"
    static let configuration = CommandConfiguration(
        commandName: "delete",
        abstract: "Delete files from their server with their stored delete tokens.",
        discussion: """
            A file is deleted for everyone, and from every event it is linked to. mediactl uploads list shows the IDs.

            With --as-admin, an administrator can delete a file whose token is lost or stored on another machine: the \
            server's file is shown before the prompt. With --yes, its checksum is required.

            Examples:
              mediactl uploads delete 18
              mediactl uploads delete 18 19 --yes
              mediactl uploads delete --file clip.mp4
              mediactl uploads delete 18 --as-admin --user admin
            """
    )

    @Argument("IDs of the files on the server.", value: "id")
    var ids: [Int64] = []

    @Flag(help: "Delete the most recent upload.")
    var last = false

    @Option("Delete the file with this SHA-256. With an ID, the file must have this checksum.", value: "hex")
    var sha256: String?

    @Option(
        "Delete the file with the content of this local file. With an ID, the file must have this content.",
        value: .file("path")
    )
    var file: String?

    @Flag(name: .shortAndLong, help: "Delete without confirmation.")
    var yes = false

    @Option(
        "If the server rejects a token: keep or remove the local entry (default: keep; prompts on a terminal).",
        value: "choice"
    )
    var onInvalidToken: ArgumentChoice<InvalidTokenChoice>?

    @Flag(help: "Delete with admin rights instead of the token, after comparing the checksum.")
    var asAdmin = false

    @Flag(name: .dryRun, help: "Show what would be deleted, without deleting it.")
    var dryRun = false

    @OptionGroup(title: "Credentials") var credentials: CredentialOptions
    @OptionGroup(title: "Connection options") var connection: ConnectionOptions
    @OptionGroup(visibility: .hidden) var oldHost: OldHostOption
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func validate() throws {
        let isChosenByContent = sha256 != nil || file != nil
        try require(sha256 == nil || file == nil, "--file cannot be combined with --sha256.")
        try require(
            !last || (ids.isEmpty && !isChosenByContent),
            "--last cannot be combined with IDs, --sha256 or --file."
        )
        try require(
            onInvalidToken == nil || !asAdmin,
            "--as-admin does not use a token and cannot be combined with --on-invalid-token."
        )
        try require(last || !ids.isEmpty || isChosenByContent, "Specify an ID, --sha256, --file or --last.")
        try require(ids.count < 2 || !isChosenByContent, "--sha256 and --file cannot be combined with several IDs.")
        try MediaFilterOptions.validate(sha256: sha256)
        try require(ids.allSatisfy({ $0 > 0 }), "An ID must be 1 or more.")
    }

    func run(in console: Console) async throws -> ExitCode {
        let settings = try await SettingsSession.open(console, global: global, connection: connection)
        let store = try await StoreSession.open(settings)
        let confirmation = Confirmation(prompter: settings.prompter, isGiven: yes)
        let checksum = try await checksum()
        let scope = try oldHost.scope(connection.choice, settings)
        var named = last ? try plan(settings, store, host: scope).last() : nil
        if ids.isEmpty, let checksum {
            let entry = try plan(settings, store, host: scope).entry(checksumSHA256: checksum, isRequired: !asAdmin)
            named = entry.map { (host: $0.host, fileID: $0.fileID) }
        }
        let chosen = try plan(settings, store, host: named?.host ?? scope)
        let chosenIDs = named.map { [$0.fileID] } ?? ids.uniqued { $0 }
        // IDs without an entry are reported without a prompt. For an administrator, only the server can resolve such
        // IDs.
        if !dryRun, try asAdmin || chosenIDs.contains(where: { try chosen.canDelete($0) }) {
            try confirmation.requirePrompt(for: chosenIDs.count > 1 ? "Delete them?" : "Delete it?")
        }
        let run = DeleteRun(
            console: console,
            plan: chosen,
            servers: try ServerSession(settings, credentials: credentials),
            confirmation: confirmation,
            onInvalidToken: onInvalidToken?.value,
            isAdmin: asAdmin,
            checksumSHA256: checksum,
            isDryRun: dryRun,
            finishTimeout: settings.settings.finishTimeout.value
        )
        return try await run.run(ids: chosenIDs)
    }

    private func checksum() async throws -> String? {
        if let file {
            return try await LocalChecksum.hex(of: file)
        }
        return sha256?.lowercased()
    }

    private func plan(_ settings: SettingsSession, _ store: StoreSession, host: String?) throws -> DeletionPlan {
        DeletionPlan(
            store: store.store,
            server: try settings.configuredServer(of: .uploadsURL),
            host: host,
            isAdmin: asAdmin
        )
    }
}

struct DeleteRun: Sendable {
    let console: Console
    let plan: DeletionPlan
    let servers: ServerSession
    let confirmation: Confirmation
    let onInvalidToken: InvalidTokenChoice?
    let isAdmin: Bool
    /// The required checksum of the single file; nil if none was specified.
    let checksumSHA256: String?
    let isDryRun: Bool
    /// Grace period after a signal other than SIGINT to wait for a response.
    let finishTimeout: Duration

    private enum Step: Sendable {
        case candidate(TokenEntry, Deleter)
        case listed(AdminCandidate)
        case refused(DeleteResult, UserFacingError? = nil)
        case guest(GuestHiding)
    }

    private enum Outcome: Sendable {
        case deletion(DeleteResult, ServerMedia? = nil, UserFacingError? = nil)
        case hiding(GuestHiding)

        var exitCode: ExitCode {
            switch self {
            case .deletion(let result, _, let refusal): refusal?.exitCode ?? result.exitCode
            case .hiding(let hiding): hiding.exitCode
            }
        }

        var state: String {
            switch self {
            case .deletion(let result, _, _): result.state.rawValue
            case .hiding(let hiding): hiding.state.rawValue
            }
        }
    }

    /// Finds the entries, prompts once, deletes the files, and writes records, text and summary. Without IDs, the files
    /// to delete are those on the server with the checksum from the options.
    func run(ids: [Int64]) async throws -> ExitCode {
        let ids = ids.isEmpty ? try await listedIDs() : ids
        try console.start(["items": JSONValue(ids.count), "dry_run": .bool(isDryRun)])
        var steps: [Step] = []
        for id in ids {
            steps.append(try await find(id))
        }
        let isConfirmed = isDryRun ? false : try await confirm(steps)
        // A signal between two deletions, or before a result is printed, ends the loop but not the program.
        return await console.context.interruption.handling({ _ in }) {
            await processAll(steps, isConfirmed: isConfirmed)
        }
    }

    private func processAll(_ steps: [Step], isConfirmed: Bool) async -> ExitCode {
        var results: [Outcome] = []
        plan.store.beginRemovals()
        for step in steps {
            guard console.mayContinue else { break }
            let result = await process(step, isConfirmed: isConfirmed)
            report(result)
            results.append(result)
        }
        let removal = console.finishRemovals(in: plan.store)
        let batch = ExitCode.batch(results.map(\.exitCode), isWhole: results.count == steps.count)
        let names = ["deleted", "hidden", "gone", "entry_removed", "failed", "planned", "declined"]
        return console.ending(batch == .success ? removal : batch)
            .summary(of: steps.count, results.map(\.state), counting: names)
    }

    // MARK: Finding

    private func find(_ id: Int64) async throws -> Step {
        if isAdmin, try !plan.hasEntry(for: id) {
            do {
                return .listed(try await candidate(for: id))
            } catch let error as GigHiveError where error.fileID == id {
                return .refused(DeleteResult(fileID: id, state: .failed, host: plan.scopeName, error: error))
            } catch let refusal as UserFacingError where refusal.code == UserFacingError.noSuchMedia(id).code {
                return .refused(DeleteResult(fileID: id, state: .failed, host: plan.scopeName), refusal)
            }
        }
        return try await findEntry(id)
    }

    private func findEntry(_ id: Int64) async throws -> Step {
        var host = plan.scopeName
        if !isAdmin, let guest = try plan.guestUpload(for: id) {
            try requireChecksum(guest.upload.checksumSHA256, of: id)
            guard !isDryRun else { return .guest(guest.judged(isLastKnown: true)) }
            return .guest(await guest.querying(store: plan.store, servers: servers, now: console.context.now()))
        }
        do {
            let target = try plan.target(for: id)
            host = target.host
            // Report store errors without requiring a login.
            let planned = try planned(target)
            guard !isDryRun else { return .refused(planned) }
            let deleter = Deleter(
                client: try await servers.client(
                    for: target.server,
                    retryCommand: "mediactl uploads delete \(id)\(plan.options)"
                ),
                store: plan.store,
                host: target.host
            )
            return .candidate(try checked(try await deleter.entry(for: id)), deleter)
        } catch let error as GigHiveError {
            return .refused(DeleteResult(fileID: id, state: .failed, host: host, error: error))
        }
    }

    /// The entry, if it has the required checksum. An entry without a checksum is accepted for an administrator, whose
    /// deletion verifies the server's checksum.
    private func checked(_ entry: TokenEntry) throws(UserFacingError) -> TokenEntry {
        if !entry.checksumSHA256.isEmpty || !isAdmin { try requireChecksum(entry.checksumSHA256, of: entry.fileID) }
        return entry
    }

    private func requireChecksum(_ known: String?, of id: Int64) throws(UserFacingError) {
        guard let checksum = checksumSHA256, checksum != known else { return }
        let other = ErrorCatalog.clean(known ?? "")
        throw .usage(
            other.isEmpty ? "the checksum of \(id) is not known" : "\(id) has a different checksum: \(other)",
            hint: "mediactl uploads show \(id)"
        )
    }

    /// `--dry-run` only reads the store.
    private func planned(_ target: DeletionPlan.Target) throws -> DeleteResult {
        guard let entry = try plan.store.tokens(host: target.host, fileID: target.fileID).first else {
            throw GigHiveError.withoutToken(target.fileID, host: target.host, in: plan.store)
        }
        return DeleteResult(
            fileID: target.fileID,
            state: .planned,
            entry: try checked(entry),
            host: target.host
        )
    }

    // MARK: Confirmation

    private func confirm(_ steps: [Step]) async throws -> Bool {
        let entries = steps.compactMap { step in
            if case .candidate(let entry, _) = step { entry } else { nil }
        }
        let guests = steps.compactMap { step in
            if case .guest(let hiding) = step, hiding.state == .planned { hiding.upload } else { nil }
        }
        let listed = steps.compactMap { step in
            if case .listed(let candidate) = step { candidate } else { nil }
        }
        guard !entries.isEmpty || !guests.isEmpty || !listed.isEmpty else { return false }
        let now = console.context.now()
        var lines: [String] = []
        for host in Set(entries.map(\.host)).sorted() {
            lines.append("Files to delete from \(ErrorCatalog.clean(host)), for everyone and from every event:")
            lines += entries.filter { $0.host == host }.map { TextRenderer.brief(KeptUpload($0), now: now) }
        }
        for host in Set(listed.map(\.host)).sorted() {
            lines.append("No local entry; this deletes the file on \(ErrorCatalog.clean(host)), for everyone:")
            lines += listed.filter { $0.host == host }.flatMap { TextRenderer.brief($0.file) }
        }
        for host in Set(guests.map(\.host)).sorted() {
            lines.append("Files to hide on \(ErrorCatalog.clean(host)), which keeps them:")
            lines += guests.filter { $0.host == host }.map { TextRenderer.brief($0, now: now) }
        }
        return try await confirmation.prompt(
            lines,
            entries.count + guests.count + listed.count == 1 ? "Delete it?" : "Delete them?",
            on: console
        )
    }

    private func choose(_ entry: TokenEntry) async -> InvalidTokenChoice {
        if let choice = onInvalidToken {
            return choice
        }
        guard confirmation.prompter.isAllowed else { return .keep }
        return await console.context.interruption.prompting {
            console.announce([
                "The server rejects the delete token of \(entry.fileID), although it still has the file."
            ])
            let choice = await confirmation.prompter.choose(
                "Remove the local entry or keep it?",
                choices: ["remove", "keep"],
                fallback: "keep"
            )
            return InvalidTokenChoice(rawValue: choice) ?? .keep
        }
    }

    // MARK: Deleting

    /// A signal prevents the next deletion. One in flight is abandoned only after a repeated signal or a time limit
    /// (`Console.outlast`).
    private func process(_ step: Step, isConfirmed: Bool) async -> Outcome {
        switch step {
        case .refused(let result, let refusal): return .deletion(result, nil, refusal)
        case .listed(let candidate) where isDryRun: return .deletion(candidate.result(.planned), candidate.file)
        case .listed(let candidate) where !isConfirmed: return .deletion(candidate.result(.declined), candidate.file)
        case .listed(let candidate):
            return await console.context.interruption.handling({ outlast($0) }) {
                .deletion(await candidate.deleter.deleteAsAdmin(candidate.target), candidate.file)
            }
        case .guest(let hiding) where isDryRun || hiding.state == .failed: return .hiding(hiding)
        case .guest(let hiding) where !isConfirmed: return .hiding(hiding.finished(.declined))
        case .guest(let hiding):
            return await console.context.interruption.handling({ outlast($0) }) {
                .hiding(await hiding.perform(store: plan.store, servers: servers, now: console.context.now()))
            }
        case .candidate(let entry, _) where !isConfirmed:
            return .deletion(DeleteResult(fileID: entry.fileID, state: .declined, entry: entry, host: entry.host))
        case .candidate(let entry, let deleter):
            return await console.context.interruption.handling({ outlast($0) }) {
                .deletion(
                    isAdmin
                        ? await deleter.deleteAsAdmin(target(of: entry))
                        : await deleter.delete(entry) { await choose($0) }
                )
            }
        }
    }

    /// The file of an entry; an entry without a checksum gets the checksum from the options.
    private func target(of entry: TokenEntry) -> AdminDeletion {
        var target = AdminDeletion(entry)
        if target.checksumSHA256.isEmpty, let checksum = checksumSHA256 {
            target.checksumSHA256 = checksum
        }
        return target
    }

    private func outlast(_ request: Interruption.Request) {
        console.outlast(request, for: "the server's response", finishTimeout: finishTimeout)
    }

    // MARK: Reports

    private func report(_ end: Outcome) {
        switch end {
        case .deletion(let result, let file, let refusal):
            console.result(
                JSONRenderer.deletion(result, file: file, refusal: refusal),
                TextRenderer.deletion(result, file: file, style: console.outputStyle)
            )
            if let refusal {
                console.error(refusal)
            } else if let error = result.userFacingError {
                console.error(error)
            }
        case .hiding(let hiding):
            let text = TextRenderer.hiding(hiding, now: console.context.now(), style: console.outputStyle)
            console.result(JSONRenderer.hiding(hiding), text)
            if let error = hiding.error {
                console.error(ErrorCatalog.userFacingError(of: error))
            }
        }
    }
}

extension DeleteResult {
    /// The exit code for this deletion alone.
    var exitCode: ExitCode {
        if let error { return ExitCode(error.code) }
        return switch state {
        case .deleted, .gone, .entryRemoved, .planned: .success
        case .declined, .failed: .failure
        }
    }

    /// Why the deletion failed, or why the local entry of the deleted file is still there.
    var userFacingError: UserFacingError? {
        guard let error else { return nil }
        var userFacingError = ErrorCatalog.userFacingError(of: error)
        if state != .failed {
            userFacingError.message = "the local entry of \(fileID) was not removed: \(userFacingError.message)"
        }
        return userFacingError
    }
}

extension JSONRenderer {
    static func deletion(
        _ result: DeleteResult,
        file: ServerMedia? = nil,
        refusal: UserFacingError? = nil
    ) -> JSONObject {
        let members = deletion(
            of: result.fileID,
            from: result.host,
            result.state.rawValue,
            result.entry.map { KeptUpload($0) },
            httpStatus: result.httpStatus,
            refusal?.exitCode ?? result.exitCode,
            refusal ?? result.userFacingError
        )
        // Without a local entry, the server's details are used.
        guard result.entry == nil, let file else { return members }
        let event = file.events.first
        return members.replacing([
            "event_date": JSONValue(event?.date), "org_name": JSONValue(event?.orgName),
            "event_type": JSONValue(event?.eventType), "label": JSONValue(event?.label),
            "file_name": JSONValue(file.fileName), "checksum_sha256": JSONValue(file.checksumSHA256),
        ])
    }

    static func hiding(_ hiding: GuestHiding) -> JSONObject {
        deletion(
            of: hiding.upload.fileID,
            from: hiding.upload.host,
            hiding.state.rawValue,
            hiding.upload,
            httpStatus: nil,
            hiding.exitCode,
            hiding.error
        )
    }

    private static func deletion(
        of fileID: Int64,
        from host: String,
        _ state: String,
        _ upload: KeptUpload?,
        httpStatus: Int?,
        _ code: ExitCode,
        _ failure: (any Error)?
    ) -> JSONObject {
        [
            "file_id": .integer(fileID), "host": .nonEmpty(host), "state": .string(state),
            "event_date": JSONValue(upload?.eventDate), "org_name": JSONValue(upload?.orgName),
            "event_type": JSONValue(upload?.eventType), "label": JSONValue(upload?.label),
            "file_name": JSONValue(upload?.fileName), "checksum_sha256": JSONValue(upload?.checksumSHA256),
            "server": JSONValue(upload?.server), "http_status": JSONValue(httpStatus),
            "exit_code": .exitCode(code), "error": .error(failure),
        ]
    }
}

extension TextRenderer {
    static func deletion(_ result: DeleteResult, file media: ServerMedia? = nil, style: Style) -> [String] {
        let title = result.entry.map { KeptUpload($0).title } ?? media?.events.lazy.compactMap(\.label).first
        let file = title.map { "\(result.fileID) \(ErrorCatalog.quoted($0))" } ?? "\(result.fileID)"
        let host = TerminalText.escaped(result.host)
        return switch result.state {
        case .deleted: ["\(style.green("deleted")) \(file) from \(host)"]
        case .gone where result.entry == nil || result.error != nil: ["\(file) was already deleted from \(host)"]
        case .gone: ["\(file) was already deleted from \(host); removed the local entry"]
        case .entryRemoved: ["removed the local entry of \(file); the file is still on \(host)"]
        case .planned: ["\(file) would be deleted from \(host)"]
        case .declined: ["\(file) was not deleted"]
        case .failed: []
        }
    }

    static func hiding(_ hiding: GuestHiding, now: Date, style: Style) -> [String] {
        let file = "\(hiding.upload.fileID) \(ErrorCatalog.quoted(hiding.upload.title))"
        let host = TerminalText.escaped(hiding.upload.host)
        return switch hiding.state {
        case .hidden: ["\(style.green("hidden")) \(file); \(host) keeps the file"]
        case .planned:
            // A dry run does not query the server.
            [
                "\(file) would be hidden (\(hiding.upload.guestState == nil ? "state" : "last known state:") "
                    + "\(guestState(of: hiding.upload, now: now))); \(host) keeps the file"
            ]
        case .declined: ["\(file) was not hidden"]
        case .failed: []
        }
    }

    /// One line for a prompt.
    static func brief(_ upload: KeptUpload, now: Date) -> String {
        "  \(upload.fileID)  \(TerminalText.escaped(upload.eventDate))  \(TerminalText.escaped(upload.orgName))  \(TerminalText.escaped(upload.eventType))  "
            + "\(ErrorCatalog.quoted(upload.title))  "
            + "(\(Formats.bytes(upload.sizeBytes)), uploaded \(Formats.age(of: upload.createdAt, now: now)))"
    }
}
