internal import ArgumentParser
internal import MediaFiles
internal import MediaStore
internal import PhotoSync

/// `mediactl sync push PATH…`
struct SyncPush: ContextCommand {
    static let schema = "mediactl.sync-push/1"
    static let configuration = CommandConfiguration(
        commandName: "push",
        abstract: "Send the photos that the server has not, and make sure that they are yours there.",
        discussion: """
            Directories are walked; files that are no photos are left out. Local files are only ever read.
            A glob without a slash is compared with the name of a file, one with a slash with its path below the \
            directory. --exclude comes before --include, in any order.

            Examples:
              mediactl sync push Pictures --exclude "*.tmp.jpg"
              mediactl sync push Pictures --dry-run
            """
    )

    @Argument(help: ArgumentHelp("Photos, and directories with photos.", valueName: "path"), completion: .file())
    var paths: [String]

    @Option(
        help: ArgumentHelp("Of the files found in directories take only these; may be repeated.", valueName: "glob")
    )
    var include: [String] = []

    @Option(
        help: ArgumentHelp("Of the files found in directories leave these out; may be repeated.", valueName: "glob")
    )
    var exclude: [String] = []

    @Flag(help: "Only say what would be sent. The server is asked, and not changed.")
    var dryRun = false

    @Option(
        name: [.customShort("j", allowingJoined: true), .long],
        help: ArgumentHelp("Photos on their way at a time, 1 to 16; 2 by default.", valueName: "n")
    )
    var jobs: String?

    @OptionGroup(title: "Credentials") var key: KeyOptions
    @OptionGroup(title: "Connection options") var connection: PhotoConnectionOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func validate() throws {
        guard !paths.contains("") else { throw ValidationError("An empty path.") }
    }

    func run(in console: Console) async throws -> ExitCode {
        let filter = try PathFilter.reading(includes: include, excludes: exclude)
        // The setting of the same name is for uploads.
        let jobs = try FlagValue.read(jobs, "--jobs", SettingValue.jobs) ?? 2
        let session = try await SyncSession.open(console, global, connection)
        let account = try await session.account(key)
        let run = PushRun(
            console: console,
            account: account,
            hashes: session.settings.hashCache(),
            options: Push.Options(filter: filter, jobs: jobs, isDryRun: dryRun, retry: session.settings.retryPolicy),
            writesProgressRecords: global.progressEvents
        )
        return try await run.run(paths.map { RawArguments.bytes(of: $0) })
    }
}
