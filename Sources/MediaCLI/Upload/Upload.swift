internal import ArgumentParser
internal import GigHive
internal import MediaStore
internal import MediaSystem

struct Upload: ContextCommand {
    static let schema = "mediactl.upload/1"
    static let configuration = CommandConfiguration(
        commandName: "upload",
        abstract: "Upload files and store their delete tokens.",
        discussion: """
            Four files are uploaded in parallel; --jobs changes that. Use - to read from standard input (requires \
            --stdin-name). Directories require --recursive.
            A glob without a slash matches file names; a glob with a slash matches paths relative to the directory; \
            drafts/ matches everything under directories named drafts. Exclusions take precedence over inclusions, \
            regardless of order.
            Files already in the event (uploaded from this machine, or listed by the server) are skipped; --again \
            uploads them anyway. Interrupted uploads resume where they stopped, with the same \
            command or with mediactl uploads resume.
            Ctrl-C stops the transfer; after the last byte, mediactl waits for the delete token instead.

            Examples:
              mediactl upload concert.mp4 --org-name "The Band" --event-date 2026-05-01
              mediactl upload -r recordings --include "*.mp4" --report run.json
              mediactl upload --retry-failed run.json --report retry.json
              mediactl upload --manifest songs.csv --dry-run
              mediactl upload *.mp4 --tape "Summer tour"
            """
    )

    @Argument("Files to upload, or - for standard input.", value: .file("path"))
    var paths: [String] = []

    @OptionGroup(title: "File details") var details: DetailOptions
    @OptionGroup(title: "File selection") var input: InputOptions
    @OptionGroup(title: "Upload options") var sending: SendingOptions
    @OptionGroup(title: "Guests with an event link") var guest: GuestOptions
    @OptionGroup(title: "Credentials") var credentials: CredentialOptions
    @OptionGroup(title: "Connection options") var connection: UploadConnectionOptions<ConnectionOptions>
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func validate() throws {
        try checkInputs()
        try checkStandardInput()
        try checkGuest()
    }

    func run(in console: Console) async throws -> ExitCode {
        let flags = connection.flags + details.flags + sending.flags
        let settings = try await SettingsSession.open(console, global: global, connection: flags)
        let jobs =
            sending.dryRun
            ? settings.settings.jobs.value
            : try console.affordableJobs(settings.settings.jobs.value, parts: sending.transfer.parallelParts)
        if sending.force {
            console.note(Deprecated.note("--force", use: "--any-extension and --again"))
        }
        let filter = try input.filter()
        let shard = try input.part(environment: console.context.environment)
        let collection = InputCollection(
            paths: paths,
            options: input,
            shard: shard,
            takesEverything: sending.takesAnyExtension,
            console: console
        )
        let manifest = try await collection.manifest()
        let inputs = try await collection.inputs(with: manifest)
        // Detect an unusable report without requiring a login.
        let reportFile = try sending.report.map { path throws(UserFacingError) in
            try NewFile(replacing: RawArguments.bytes(of: path), .upload)
        }
        let servers = try ServerSession(settings, credentials: credentials)
        let guest = try await guestSession(settings, servers)
        let details = DetailPlan(
            options: details,
            settings: settings.settings,
            label: try details.labelTemplate(),
            today: Formats.localDay(console.context.now()),
            isDateFromMedia: input.dateFromMedia,
            guest: guest?.access
        )
        let server = try guest?.client.server ?? settings.requireServer()
        // The hash cache and the store are opened in parallel, since each waits for the disk.
        async let opening = BlockingWork.run { settings.hashCache() }
        let store = try await StoreSession.open(settings)
        let hashes = await opening
        // If the store is empty although a backup has entries, it was probably lost: the backup should be restored
        // first.
        if try store.store.isEmpty() { console.hintAtBackup(in: store.directory) }
        let tape = try UploadTape.open(sending.tape, settings)
        let options = settings.uploadOptions(
            anyExtension: sending.takesAnyExtension,
            again: sending.sendsAgain,
            outlastsRestart: input.watch != nil,
            parallelParts: sending.transfer.parallelParts,
            guest: guest?.access
        )
        let uploader = { @Sendable client in store.uploader(client, options, hashes) }
        var plan = UploadPlan(
            console: console,
            store: store,
            uploader: uploader(await servers.anonymousClient(for: server)),
            details: details,
            maximumBytes: settings.settings.maxBytes.value
        )
        // Detect local errors without requiring a login.
        let items = input.watch == nil ? try await plan.items(of: inputs, manifest: manifest) : []
        let sendsNothing = sending.dryRun || (input.watch == nil && items.allSatisfy { $0.error != nil })
        do {
            let client =
                if let guest { guest.client } else if sendsNothing {
                    await servers.anonymousClient(for: server)
                } else { try await servers.client(for: server) }
            plan.uploader = uploader(client)
        } catch {
            UploadPlan.release(items)
            throw error
        }
        let run = UploadRun(
            settings: settings,
            plan: plan,
            anotherUploader: { [client = plan.uploader.client] in uploader(client) },
            sending: sending,
            shard: shard,
            continuation: Continuation(
                arguments: console.context.arguments,
                pathCount: paths.count,
                isPrivate: paths.contains("-") || self.guest.eventLink.map { $0 != "ask" } ?? false,
                report: sending.report
            ),
            jobs: jobs,
            reportFile: reportFile,
            tape: tape
        )
        guard let directory = input.watch else { return try await run.run(items) }
        return try await run.watch(RawArguments.bytes(of: directory), filter: filter)
    }

    private func guestSession(_ settings: SettingsSession, _ servers: ServerSession) async throws -> GuestSession? {
        guard guest.isGuest else { return nil }
        return try await GuestSession.open(guest, settings: settings, servers: servers, needsTerms: !sending.dryRun)
    }
}

/// Validation of option combinations.
extension Upload {
    private func checkInputs() throws {
        guard !paths.isEmpty || !input.lists.isEmpty || input.watch != nil else {
            throw ValidationError(
                "Specify files to upload, or use --files-from, --manifest or --watch."
            )
        }
        try require(!paths.contains(""), "The path is empty.")
        try require(input.watch == nil || paths.isEmpty, "--watch cannot be combined with other inputs.")
        guard input.watch == nil || sending.verify != true else {
            throw ValidationError("--verify cannot be combined with --watch; use mediactl uploads verify afterwards.")
        }
        guard input.watch == nil || (!sending.dryRun && !sending.failFast) else {
            throw ValidationError("--watch cannot be combined with --dry-run or --fail-fast.")
        }
        try require(
            input.watch == nil || sending.order == .given,
            "--watch uploads files in the order in which they are complete: omit --order."
        )
    }

    private func checkStandardInput() throws {
        let isPiped = paths.contains("-")
        try require(paths.count(where: { $0 == "-" }) <= 1, "Standard input can be uploaded only once.")
        try require(!isPiped || input.stdinName != nil, "Standard input requires a name: --stdin-name NAME.")
        try require(isPiped || input.stdinName == nil, "--stdin-name requires the path -.")
        try require(!isPiped || !credentials.passwordStdin, "Standard input cannot be both the file and the password.")
        try require(!isPiped || input.shard == nil, "Standard input cannot be combined with --shard.")
        let files =
            input.lists
            + [
                ("--event-link-file", guest.eventLinkFile),
                ("--upload-token-file", guest.uploadTokenFile),
            ].compactMap { flag, value in value.map { (flag, $0) } }
        let readers =
            (isPiped ? ["the file -"] : []) + (credentials.passwordStdin ? ["--password-stdin"] : [])
            + files.filter { $0.1 == "-" }.map(\.0)
        try requireOneReader(readers)
    }

    private func checkGuest() throws {
        guard guest.isGuest else { return }
        let refused = details.given.keys.filter { $0 != "label" }.sorted()
        guard refused.isEmpty else {
            let flags = refused.map { "--" + $0.replacing("_", with: "-") }.joined(separator: ", ")
            throw ValidationError("The event link specifies the event: omit \(flags).")
        }
        try require(!input.dateFromMedia, "The event link specifies the event: omit --date-from-media.")
        try require(
            sending.transfer.transport?.value != .multipart,
            "Event links require tus: omit --transport multipart."
        )
        let login = connection.base.identity.flags.names.sorted() + credentials.flags.names
        try require(
            login.isEmpty,
            "An event link is used without a login: omit \(login.joined(separator: ", "))."
        )
        try require(
            sending.verify != true,
            "An event link does not permit reading the server's listing: omit --verify."
        )
    }
}
