internal import ArgumentParser
internal import MediaStore
internal import PhotoSync

/// `mediactl sync download [--missing | ID… | --since …] --to DIR`
struct SyncDownload: ContextCommand {
    static let schema = "mediactl.sync-download/1"
    static let configuration = CommandConfiguration(
        commandName: "download",
        abstract: "Fetch photos into a directory, by year and month, verified.",
        discussion: """
            They come to DIR/YEAR/MONTH by the day they were taken. What was cut goes on where it stopped. Nothing that \
            is there is replaced. The index tells which photos there are: run mediactl sync before.

            Examples:
              mediactl sync download --missing --to Pictures
              mediactl sync download --since 2026-05-01 --to Pictures --dry-run
              mediactl sync download 4ad8a4cc-3164-4b56-b986-11cd9f6d52da --to Pictures
            """
    )

    @Argument(help: ArgumentHelp("Photos by their ids; mediactl sync list shows them.", valueName: "id"))
    var ids: [String] = []

    @Flag(help: "Fetch all photos that this machine has no copy of.")
    var missing = false

    @Option(
        help: ArgumentHelp(
            "Of those, only photos uploaded since this day (local midnight) or time.",
            valueName: "time"
        )
    )
    var since: String?

    @Option(
        name: .customLong("to"),
        help: ArgumentHelp("Where to write them.", valueName: "dir"),
        completion: .directory
    )
    var target: String

    @Flag(help: "Only say what would be downloaded.")
    var dryRun = false

    @Option(
        name: [.customShort("j", allowingJoined: true), .long],
        help: ArgumentHelp("Photos on their way at a time, 1 to 16; 4 by default.", valueName: "n")
    )
    var jobs: String?

    @OptionGroup(title: "Credentials") var key: KeyOptions
    @OptionGroup(title: "Connection options") var connection: PhotoConnectionOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func validate() throws {
        guard !target.isEmpty else { throw ValidationError("--to: an empty path.") }
        guard ids.isEmpty || !(missing || since != nil) else {
            throw ValidationError("Ids, and --missing or --since, exclude each other.")
        }
        guard !ids.isEmpty || missing || since != nil else {
            throw ValidationError("Say which photos: --missing, --since TIME, or their ids.")
        }
        guard !ids.contains("") else { throw ValidationError("An empty id.") }
    }

    func run(in console: Console) async throws -> ExitCode {
        let selection = try selection()
        // The setting of the same name is for uploads.
        let jobs = try FlagValue.read(jobs, "--jobs", SettingValue.jobs) ?? 4
        let session = try await SyncSession.open(console, global, connection)
        let account = try await session.account(key)
        let run = DownloadRun(
            console: console,
            account: account,
            hashes: session.settings.hashCache(),
            options: Download.Options(jobs: jobs, isDryRun: dryRun, retry: session.settings.retryPolicy),
            writesProgressRecords: global.progressEvents,
            base: base(in: console.context)
        )
        return try await run.run(selection, to: base(in: console.context) + RawArguments.bytes(of: target))
    }

    private func selection() throws(Diagnosis) -> Download.Selection {
        if let since { return .since(try PointInTime.parse(since, flag: "--since")) }
        return missing ? .missing : .ids(ids)
    }

    /// Where a relative target begins; empty for an absolute one.
    private func base(in context: CommandContext) -> [UInt8] {
        target.hasPrefix("/") ? [] : Array("\(context.workingDirectory)/".utf8)
    }
}
