internal import ArgumentParser
internal import MediaCore
internal import MediaStore
internal import Tapes

struct TapesCreate: ContextCommand {
    static let schema = "mediactl.tapes-create/1"
    static let configuration = CommandConfiguration(
        commandName: "create",
        abstract: "Create an empty tape. Its album is created with its first clip.",
        discussion: """
            Examples:
              mediactl tapes create "Summer by the sea"
              mediactl tapes create Summer --json | jq -r .tape_id
            """
    )

    @Argument("Title (default: New Tape). Several tapes may have the same title.", value: "title")
    var title: String?

    @Flag(name: .dryRun, help: "Show what would be created, without creating it.")
    var dryRun = false

    @OptionGroup(visibility: .hidden) var connection: ProfileOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(in console: Console) async throws -> ExitCode {
        let title = try RawArguments.title(title ?? "")
        let session = try await TapesSession.open(console, global, connection)
        try console.requireOutput()
        let tape = dryRun ? session.editor.planned(title: title) : try session.editor.create(title: title)
        let name = ErrorCatalog.quoted(tape.title)
        console.text([
            dryRun
                ? "the tape \(name) would be created"
                : "\(console.outputStyle.green("created")) the tape \(name) as \(tape.id)"
        ])
        try noteNamesakes(of: tape, session)
        return console.finish(JSONRenderer.tape(tape, isPlanned: dryRun) + ["dry_run": .bool(dryRun)])
    }

    /// A title shared by several tapes cannot be used to select one.
    private func noteNamesakes(of tape: TapeRecord, _ session: TapesSession) throws {
        let others = try session.store.tapeSummaries().map(\.tape).filter { $0.title == tape.title && $0.id != tape.id }
        guard !others.isEmpty else { return }
        let ids = (others.map(\.id) + (dryRun ? [] : [tape.id])).joined(separator: ", ")
        let name = ErrorCatalog.quoted(tape.title)
        session.console.note(
            dryRun
                ? "\(Formats.count(others.count, "tape")) already \(others.count == 1 ? "has" : "have") the title \(name): \(ids)"
                : "\(others.count + 1) tapes have the title \(name); specify their IDs: \(ids)"
        )
    }
}
