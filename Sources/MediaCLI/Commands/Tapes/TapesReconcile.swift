internal import ArgumentParser
internal import Tapes

/// `mediactl tapes reconcile`
struct TapesReconcile: ContextCommand {
    static let schema = "mediactl.tapes-reconcile/1"
    static let configuration = CommandConfiguration(
        commandName: "reconcile",
        abstract: "Bring albums up to date that could not be: says what is owed, and does it with --apply.",
        discussion: """
            Tapes are worked off one at a time, those that wait longest first; the first trouble of the whole library \
            ends the run. --verify looks whether the stored albums are still there, and makes none.

            Examples:
              mediactl tapes reconcile
              mediactl tapes reconcile --apply --limit 100
            """
    )

    @Flag(help: "Do it.")
    var apply = false

    @Option(parsing: .unconditional, help: ArgumentHelp("Tapes at most, 20 by default.", valueName: "n"))
    var limit: Int?

    @Flag(help: "Ask the library for every stored album, and mark those that are gone.")
    var verify = false

    @OptionGroup(title: "Library options") var connection: TapeConnectionOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func validate() throws {
        guard !apply || !verify else { throw ValidationError("--apply and --verify exclude each other.") }
        guard limit == nil || apply else { throw ValidationError("--limit is for --apply.") }
        guard limit.map({ $0 > 0 }) ?? true else { throw ValidationError("--limit takes a number from 1.") }
    }

    func run(in console: Console) async throws -> ExitCode {
        let session = try await TapesSession.open(console, global, connection)
        let display = RunDisplay<TapeReading>(console, writesRecords: global.progressEvents)
        let service =
            apply || verify
            ? try await session.service(connection.key, progress: display) : try session.localService()
        let run = ReconcileRun(session: session, service: service, display: display)
        if verify { return try await run.verify() }
        return apply ? try await run.apply(limit: limit ?? ReconcileRun.usualLimit) : try run.plan()
    }
}
