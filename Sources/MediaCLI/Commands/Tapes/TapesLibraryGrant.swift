internal import ArgumentParser
internal import MediaCore
internal import Tapes

/// `mediactl tapes library grant`
struct TapesLibraryGrant: ContextCommand {
    static let schema = "mediactl.tapes-library-grant/1"
    static let configuration = CommandConfiguration(
        commandName: "grant",
        abstract: "Ask for access once more, after it was refused, and bring waiting albums up to date.",
        discussion: """
            A library that has refused access is not asked again on every command. This asks; where adding is allowed \
            now, it works like mediactl tapes reconcile --apply.

            Example:
              mediactl tapes library grant
            """
    )

    @Flag(help: "Ask for what --verify, album link and deleting albums need as well.")
    var readWrite = false

    @Flag(help: "Leave waiting albums alone.")
    var noReconcile = false

    @OptionGroup(title: "Library options") var connection: TapeConnectionOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(in console: Console) async throws -> ExitCode {
        let session = try await TapesSession.open(console, global, connection)
        try console.requireOutput()
        let display = RunDisplay<TapeReading>(console, writesRecords: global.progressEvents)
        let service = try await session.service(connection.key, progress: display)
        let run = LibraryRun(session: session, service: service)
        let level: AccessLevel = readWrite ? .readWrite : .addOnly
        let status = try await run.request(level)
        var done = 0
        if status.addOnly?.state == .authorized, !noReconcile {
            done = try await ReconcileRun(session: session, service: service, display: display).catchUp()
        }
        return run.finish(status, needs: level, extra: ["tapes_brought_up_to_date": JSONValue(done)])
    }
}
