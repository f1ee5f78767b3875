internal import ArgumentParser
internal import Foundation
internal import MediaCore
internal import MediaStore

struct TapesList: ContextCommand {
    static let schema = "mediactl.tapes-list/1"
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List tapes, most recently changed first. Sends nothing.",
        discussion: """
            Examples:
              mediactl tapes list
              mediactl tapes list --json \\
                | jq -r 'select(.association == "pending_association") | .title'
            """
    )

    @OptionGroup(visibility: .hidden) var connection: ProfileOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(in console: Console) async throws -> ExitCode {
        let session = try await TapesSession.open(console, global, connection, for: .reading)
        let tapes = try session.store.tapeSummaries()
        console.records(.item, tapes.map { JSONRenderer.tapeSummary($0) })
        console.table(TextRenderer.tapes(tapes, now: console.context.now()))
        if tapes.isEmpty {
            console.note("no tapes; to create one: mediactl tapes create TITLE")
        }
        return console.finish(["items": JSONValue(tapes.count)])
    }
}

extension JSONRenderer {
    static func tapeSummary(_ summary: TapeSummary) -> JSONObject {
        tape(summary.tape) + [
            "clips": JSONValue(summary.clipCount), "pending_clips": JSONValue(summary.pendingClipCount),
            "duration_ms": .integer(summary.durationMilliseconds), "duration_known": .bool(summary.isDurationKnown),
        ]
    }
}

extension TextRenderer {
    static func tapes(_ tapes: [TapeSummary], now: Date) -> Table {
        Table(columns: [
            .init(title: "ID"), .init(title: "TITLE", isFlexible: true, minimumWidth: 12),
            .init(title: "CLIPS", alignment: .right), .init(title: "LENGTH", alignment: .right, dropOrder: 2),
            .init(title: "ALBUM", isFlexible: true, minimumWidth: 10, dropOrder: 3),
            .init(title: "CHANGED", dropOrder: 1),
        ])
        .rows(for: tapes) { summary in
            [
                brief(summary.tape.id), TerminalText.escaped(summary.tape.title), "\(summary.clipCount)",
                (summary.isDurationKnown ? "" : "> ") + Formats.clock(.milliseconds(summary.durationMilliseconds)),
                words(for: summary.tape)
                    + (summary.tape.association == .associated && summary.pendingClipCount > 0
                        ? ", \(summary.pendingClipCount) missing" : ""),
                Formats.age(of: summary.tape.updatedAt, now: now),
            ]
        }
    }
}
