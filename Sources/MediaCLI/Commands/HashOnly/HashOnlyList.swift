internal import ArgumentParser
internal import MediaCore
internal import MediaStore

/// `mediactl hash-only list`
struct HashOnlyList: ContextCommand {
    static let schema = "mediactl.hash-only-list/1"
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the captures that are kept here, newest first. Asks no server.",
        discussion: """
            Examples:
              mediactl hash-only list
              mediactl hash-only list --open
              mediactl hash-only list --json | jq -r '.verification_url // empty'
            """
    )

    @Flag(help: "Only captures that are not settled: retry goes on with them.")
    var open = false

    @OptionGroup(visibility: .hidden) var connection: NoConnectionOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(in console: Console) async throws -> ExitCode {
        let stage = try await CaptureStage.open(console, global, connection)
        let records = try stage.library.captures().filter { !open || $0.isOpen }
        for record in records {
            console.record(.item, JSONRenderer.captureRow(record))
        }
        console.text(
            TextRenderer.captures(
                records,
                now: console.context.now(),
                width: console.outputWidth,
                style: console.outputStyle
            )
        )
        if records.isEmpty {
            console.note(open ? "every capture is settled" : "no capture is kept here")
        }
        console.summary(["items": JSONValue(records.count), "exit_code": 0])
        return .success
    }
}
