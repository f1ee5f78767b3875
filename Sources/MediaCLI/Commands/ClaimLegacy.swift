internal import ArgumentParser
internal import MediaFiles
internal import PhotoSync

/// `mediactl claim-legacy`
struct ClaimLegacy: ContextCommand {
    static let schema = "mediactl.claim-legacy/1"
    static let configuration = CommandConfiguration(
        abstract: "Make photos that belong to no device photos of this machine.",
        discussion: """
            Says how many and asks, or needs --yes where nobody can be asked. What was claimed is counted afterwards.

            Examples:
              mediactl claim-legacy --list
              mediactl claim-legacy --all --dry-run
              mediactl claim-legacy --all
              mediactl sync list --device legacy --since 2019-01-01 --json |
                jq -r '.photo_id // empty' | mediactl claim-legacy --ids-file - --yes
            """
    )

    @Flag(help: "Only list them.")
    var list = false

    @Flag(help: "Claim all of them.")
    var all = false

    @Option(parsing: .upToNextOption, help: ArgumentHelp("Claim the photos with these ids.", valueName: "id"))
    var ids: [String] = []

    @Option(
        help: ArgumentHelp(
            "Claim the photos whose ids are listed here, one a line; - for standard input.",
            valueName: "file"
        ),
        completion: .file()
    )
    var idsFile: String?

    @Flag(help: "Do not ask.")
    var yes = false

    @Flag(help: "Only say what would be claimed.")
    var dryRun = false

    @OptionGroup(title: "Credentials") var key: KeyOptions
    @OptionGroup(title: "Connection options") var connection: PhotoConnectionOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func validate() throws {
        let choices = [list, all, !ids.isEmpty, idsFile != nil].count { $0 }
        guard choices > 0 else {
            throw ValidationError("Say which photos: --all, --ids ID, --ids-file FILE; or --list to see them.")
        }
        guard choices == 1 else { throw ValidationError("--list, --all, --ids and --ids-file exclude each other.") }
        guard !ids.contains("") else { throw ValidationError("--ids: an empty id.") }
        guard idsFile != "-" || !key.apiKeyStdin else {
            throw ValidationError("--ids-file - and --api-key-stdin both read standard input.")
        }
    }

    func run(in console: Console) async throws -> ExitCode {
        let session = try await SyncSession.open(console, global, connection)
        let confirmation = Confirmation(prompter: session.settings.prompter, isGiven: yes)
        if !list, !dryRun {
            try confirmation.requireSomebody(for: ClaimRun.question)
        }
        let selection: LegacyClaim.Selection = all ? .all : .ids(try await namedIDs(in: console.context))
        let run = ClaimRun(
            console: console,
            account: try await session.account(key),
            confirmation: confirmation,
            isDryRun: dryRun
        )
        return try await list ? run.list() : run.claim(selection)
    }

    private func namedIDs(in context: CommandContext) async throws -> [String] {
        guard let idsFile else { return ids }
        let bytes = try await InputFile.bytes(idsFile, flag: "--ids-file", in: context)
        do {
            let lines = try PathList.paths(in: bytes, separatedBy: .line)
            return lines.map { String(decoding: $0, as: UTF8.self).filter { !$0.isWhitespace } }.filter { !$0.isEmpty }
        } catch let error {
            throw Diagnosis.usage("--ids-file: line \(error.entry): it holds a zero byte")
        }
    }
}
