internal import ArgumentParser
internal import PhotoSync

/// `mediactl sync [pull]`
struct SyncPull: ContextCommand {
    static let schema = "mediactl.sync-pull/1"
    static let configuration = CommandConfiguration(
        commandName: "pull",
        abstract: "List what is new on the server into the local index.",
        discussion: """
            The first time everything is listed. --full does it anew, which alone finds what was deleted on the server \
            and what has got another device. A run that was cut goes on where it stopped; one that does not add up is \
            never taken for complete.

            Examples:
              mediactl sync
              mediactl sync --full
              mediactl sync pull --json
            """
    )

    @Flag(help: "List everything anew.")
    var full = false

    @Flag(help: "Only say what would come, store nothing.")
    var dryRun = false

    @OptionGroup(title: "Credentials") var key: KeyOptions
    @OptionGroup(title: "Connection options") var connection: PhotoConnectionOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(in console: Console) async throws -> ExitCode {
        let account = try await SyncSession.open(console, global, connection).account(key)
        let run = PullRun(
            console: console,
            account: account,
            options: Pull.Options(isFull: full, isDryRun: dryRun),
            writesProgressRecords: global.progressEvents
        )
        return try await run.run()
    }
}
