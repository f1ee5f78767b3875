internal import ArgumentParser
internal import MediaCore
internal import MediaStore

/// `mediactl hash-only show ID`
struct HashOnlyShow: ContextCommand {
    static let schema = "mediactl.hash-only-show/1"
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show one capture that is kept here. Asks no server.",
        discussion: """
            Examples:
              mediactl hash-only show 5f0c2a91
              mediactl hash-only show 5f0c2a91 --show-body
            """
    )

    @Argument(help: ArgumentHelp("Its id, or the first characters of it.", valueName: "id"))
    var id: String

    @Flag(help: "Show the body as it was sent last, signature, time and place included.")
    var showBody = false

    @OptionGroup(visibility: .hidden) var connection: NoConnectionOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(in console: Console) async throws -> ExitCode {
        let stage = try await CaptureStage.open(console, global, connection)
        let record = try stage.record(id)
        let body = showBody ? (record.body ?? record.unsignedBody).map { String(decoding: $0, as: UTF8.self) } : nil
        let kept: JSONObject = [
            "privacy": JSONRenderer.kept(record.settings), "analysis": JSONRenderer.kept(record.analysis),
            "body": JSONRenderer.kept(body), "signed": .bool(record.body != nil),
        ]
        console.record(.item, JSONRenderer.captureRow(record) + kept)
        console.text(
            TextRenderer.capture(record, now: console.context.now(), style: console.outputStyle)
                + (body.map { [JSONText.escapedForTerminals($0)] } ?? [])
        )
        console.summary(["items": 1, "exit_code": 0])
        return .success
    }
}
