internal import ArgumentParser
internal import GigHive
internal import MediaStore

/// `mediactl uploads delete ID… | --last`
struct UploadsDelete: ContextCommand {
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

    /// What happens to an entry whose token is rejected.
    enum Choice: String, ExpressibleByArgument, CaseIterable {
        case keep
        case remove
    }

    @Argument(help: ArgumentHelp("IDs of the files on the server.", valueName: "id"))
    var ids: [Int64] = []

    @Flag(help: "Delete the most recent upload.")
    var last = false

    @Option(
        help: ArgumentHelp(
            "Delete the file with this SHA-256. With an ID, the file must have this checksum.",
            valueName: "hex"
        )
    )
    var sha256: String?

    @Option(
        help: ArgumentHelp(
            "Delete the file with the content of this local file. With an ID, the file must have this content.",
            valueName: "path"
        ),
        completion: .file()
    )
    var file: String?

    @Option(help: ArgumentHelp("Only files on this host (with :PORT when it is not the default).", valueName: "host"))
    var host: String?

    @Flag(help: "Delete without confirmation.")
    var yes = false

    @Option(
        help: ArgumentHelp(
            "If the server rejects a token: keep or remove the local entry (default: keep; prompts on a terminal).",
            valueName: "choice"
        )
    )
    var onInvalidToken: Choice?

    @Flag(help: "Delete with admin rights instead of the token, after comparing the checksum.")
    var asAdmin = false

    @Flag(help: "Show what would be deleted, without deleting it.")
    var dryRun = false

    @OptionGroup(title: "Credentials") var credentials: CredentialOptions
    @OptionGroup(title: "Connection options") var connection: ConnectionOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func validate() throws {
        let isChosenByContent = sha256 != nil || file != nil
        guard sha256 == nil || file == nil else {
            throw ValidationError("--file cannot be combined with --sha256.")
        }
        guard !last || (ids.isEmpty && !isChosenByContent) else {
            throw ValidationError("--last cannot be combined with IDs, --sha256 or --file.")
        }
        guard last || !ids.isEmpty || isChosenByContent else {
            throw ValidationError("Specify an ID, --sha256, --file or --last.")
        }
        guard ids.count < 2 || !isChosenByContent else {
            throw ValidationError("--sha256 and --file cannot be combined with several IDs.")
        }
        try MediaFilterOptions.validate(sha256: sha256)
        guard ids.allSatisfy({ $0 > 0 }) else { throw ValidationError("An ID must be 1 or more.") }
    }

    func run(in console: Console) async throws -> ExitCode {
        let settings = try await SettingsSession.open(console, global: global, connection: connection)
        let store = try await StoreSession.open(settings)
        let confirmation = Confirmation(prompter: settings.prompter, isGiven: yes)
        let checksum = try await checksum()
        if !dryRun {
            try confirmation.requireSomebody(for: ids.count > 1 ? "Delete them?" : "Delete it?")
        }
        let scope = host?.lowercased()
        try plan(settings, store, host: scope).requireOneScope()
        var named = last ? try plan(settings, store, host: scope).last() : nil
        if ids.isEmpty, let checksum {
            named = try plan(settings, store, host: scope).entry(checksumSHA256: checksum, isRequired: !asAdmin)
        }
        let run = DeleteRun(
            console: console,
            plan: try plan(settings, store, host: named?.host ?? scope),
            servers: try ServerSession(settings, credentials: credentials),
            confirmation: confirmation,
            options: .init(
                onInvalidToken: onInvalidToken.flatMap { InvalidTokenChoice(rawValue: $0.rawValue) },
                isAdmin: asAdmin,
                checksumSHA256: checksum,
                isDryRun: dryRun,
                finishTimeout: settings.settings.finishTimeout.value
            )
        )
        return try await run.run(ids: named.map { [$0.fileID] } ?? ids.uniqued { $0 })
    }

    /// The checksum from `--sha256` or `--file`.
    private func checksum() async throws -> String? {
        if let file {
            return try await LocalChecksum.hex(of: file)
        }
        return sha256?.lowercased()
    }

    private func plan(_ settings: SettingsSession, _ store: StoreSession, host: String?) throws -> DeletionPlan {
        DeletionPlan(
            store: store.store,
            server: try settings.configuredServer,
            isServerNamed: connection.choice.server != nil,
            host: host
        )
    }
}
