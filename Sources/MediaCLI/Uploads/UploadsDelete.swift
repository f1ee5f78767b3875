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
        let checksum: String? =
            if let file { try await LocalChecksum.hex(of: RawArguments.bytes(of: file)) } else { sha256?.lowercased() }
        let scope = try oldHost.scope(connection.choice, settings)
        var plan = DeletionPlan(
            store: store.store,
            server: try settings.configuredServer(of: .uploadsURL),
            host: scope,
            now: console.context.now(),
            isAdmin: asAdmin
        )
        var chosenIDs = ids.uniqued { $0 }
        if last {
            let upload = try plan.last()
            (plan.host, chosenIDs) = (upload.host, [upload.fileID])
        } else if ids.isEmpty, let checksum,
            let entry = try plan.entry(checksumSHA256: checksum, isRequired: !asAdmin)
        {
            (plan.host, chosenIDs) = (entry.host, [entry.fileID])
        }
        // IDs without an entry are reported without a prompt. For an administrator, only the server can resolve such
        // IDs.
        if !dryRun, try asAdmin || chosenIDs.contains(where: { try plan.canDelete($0) }) {
            try confirmation.requirePrompt(for: chosenIDs.count > 1 ? "Delete them?" : "Delete it?")
        }
        let run = DeleteRun(
            plan: plan,
            servers: try ServerSession(settings, credentials: credentials),
            onInvalidToken: onInvalidToken?.value,
            checksumSHA256: checksum,
            isDryRun: dryRun,
            batch: DeletionBatch(
                console: console,
                store: store.store,
                confirmation: confirmation,
                finishTimeout: settings.settings.finishTimeout.value
            )
        )
        return try await run.run(ids: chosenIDs)
    }
}

struct DeleteRun: Sendable {
    let plan: DeletionPlan
    let servers: ServerSession
    let onInvalidToken: InvalidTokenChoice?
    /// The required checksum of the single file; nil if none was specified.
    let checksumSHA256: String?
    let isDryRun: Bool
    let batch: DeletionBatch

    var console: Console { batch.console }
    var confirmation: Confirmation { batch.confirmation }

    /// Finds the entries, prompts once, deletes the files, and writes records, text and summary. Without IDs, the files
    /// to delete are those on the server with the checksum from the options.
    func run(ids: [Int64]) async throws -> ExitCode {
        let ids = ids.isEmpty ? try await listedIDs() : ids
        try console.start(["items": JSONValue(ids.count), "dry_run": .bool(isDryRun)])
        var steps: [DeletionBatch.Step] = []
        for id in ids {
            steps.append(try await find(id))
        }
        let states = ["deleted", "hidden", "gone", "entry_removed", "failed", "planned", "declined"]
        return try await batch.run(steps, counting: states) { $0 == 1 ? "Delete it?" : "Delete them?" }
    }

    // MARK: Finding

    private func find(_ id: Int64) async throws -> DeletionBatch.Step {
        var deletion = FileDeletion(result: DeleteResult(fileID: id, state: .failed, host: plan.scopeName))
        if plan.isAdmin, try !plan.hasEntry(for: id) {
            do {
                return try await candidate(for: id)
            } catch let error as GigHiveError where error.fileID == id {
                deletion.result.error = error
            } catch let refusal as UserFacingError where refusal.code == UserFacingError.noSuchMedia(id).code {
                deletion.refusal = refusal
            }
            return DeletionBatch.Step(outcome: deletion)
        }
        if !plan.isAdmin, let guest = try plan.guestUpload(for: id) { return try await step(hiding: guest) }
        do {
            let target = try plan.target(for: id)
            deletion.result.host = target.host
            return try await step(deleting: target)
        } catch let error as GigHiveError {
            deletion.result.error = error
            return DeletionBatch.Step(outcome: deletion)
        }
    }

    private func step(hiding guest: GuestHiding) async throws -> DeletionBatch.Step {
        try requireChecksum(guest.upload.checksumSHA256, of: guest.upload.fileID)
        guard !isDryRun else { return DeletionBatch.Step(outcome: guest.judged(isLastKnown: true)) }
        let queried = await guest.querying(store: plan.store, servers: servers, now: console.context.now())
        guard queried.state == .planned else { return DeletionBatch.Step(outcome: queried) }
        return DeletionBatch.Step(outcome: queried) {
            await queried.perform(store: plan.store, servers: servers, now: console.context.now())
        }
    }

    /// `--dry-run` only reads the store.
    private func step(deleting target: DeletionPlan.Target) async throws -> DeletionBatch.Step {
        // Report store errors without requiring a login.
        guard let known = try plan.store.tokens(host: target.host, fileID: target.fileID).first else {
            throw GigHiveError.withoutToken(target.fileID, host: target.host, in: plan.store)
        }
        let planned = self.planned(try checked(known))
        guard !isDryRun else { return DeletionBatch.Step(outcome: planned) }
        let deleter = Deleter(
            client: try await servers.client(
                for: target.server,
                retryCommand: "mediactl uploads delete \(target.fileID)\(plan.options)"
            ),
            store: plan.store,
            host: target.host
        )
        let entry = try checked(try await deleter.entry(for: target.fileID))
        return DeletionBatch.Step(outcome: self.planned(entry)) {
            FileDeletion(
                result: plan.isAdmin
                    ? await deleter.deleteAsAdmin(self.target(of: entry))
                    : await deleter.delete(entry) { await choose($0) }
            )
        }
    }

    private func planned(_ entry: TokenEntry) -> FileDeletion {
        FileDeletion(result: DeleteResult(fileID: entry.fileID, state: .planned, entry: entry, host: entry.host))
    }

    /// The entry, if it has the required checksum. An entry without a checksum is accepted for an administrator, whose
    /// deletion verifies the server's checksum.
    private func checked(_ entry: TokenEntry) throws(UserFacingError) -> TokenEntry {
        if !entry.checksumSHA256.isEmpty || !plan.isAdmin {
            try requireChecksum(entry.checksumSHA256, of: entry.fileID)
        }
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

    // MARK: Deleting

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

    /// The file of an entry; an entry without a checksum gets the checksum from the options.
    private func target(of entry: TokenEntry) -> AdminDeletion {
        var target = AdminDeletion(entry)
        if target.checksumSHA256.isEmpty, let checksum = checksumSHA256 {
            target.checksumSHA256 = checksum
        }
        return target
    }
}

extension TextRenderer {
    /// One line for a prompt.
    static func brief(_ upload: KeptUpload, now: Date) -> String {
        "  \(upload.fileID)  \(TerminalText.escaped(upload.eventDate))  \(TerminalText.escaped(upload.orgName))  \(TerminalText.escaped(upload.eventType))  "
            + "\(ErrorCatalog.quoted(upload.title))  "
            + "(\(Formats.bytes(upload.sizeBytes)), uploaded \(Formats.age(of: upload.createdAt, now: now)))"
    }
}
