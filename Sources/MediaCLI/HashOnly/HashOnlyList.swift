internal import ArgumentParser
internal import Foundation
internal import MediaCore
internal import MediaStore
internal import MediaTransport

struct HashOnlyList: ServerFilterCommand {
    static let schema = "mediactl.hash-only-list/1"
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List stored captures, newest first. Sends nothing.",
        discussion: """
            Examples:
              mediactl hash-only list
              mediactl hash-only list --open
              mediactl hash-only list --json | jq -r '.verification_url // empty'
            """
    )

    @Flag(help: "Only unfinished captures, which retry resumes.")
    var open = false

    @OptionGroup(title: "Server") var connection: ServerOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(in console: Console) async throws -> ExitCode {
        let context = try await CaptureContext.open(console, global, connection, for: .reading)
        let scope = try connection.scope(context.settings, of: .captureURL)
        let records = try context.library.captures().filter { (!open || $0.isOpen) && $0.isAt(scope) }
        console.records(.item, records.map { JSONRenderer.captureRow($0) })
        console.table(TextRenderer.captures(records, now: console.context.now()))
        if records.isEmpty {
            console.note(open ? "no unfinished captures" : "no captures")
        }
        return console.finish(["items": JSONValue(records.count)])
    }
}

extension CaptureRecord {
    /// Whether the capture is for the server with this host; nil matches all captures.
    func isAt(_ scope: String?) -> Bool {
        guard let scope else { return true }
        return (try? ServerURL(server, allowingPath: true))?.scope == scope
    }

    /// Whether `retry` can advance the capture. A capture without a mode requires `--as-hash-only` first.
    var isOpen: Bool {
        guard mode != nil, !isUnsentUpload else { return false }
        return switch state {
        case .pending, .queued, .submitted, .unknownOutcome: true
        case .accepted, .rejected: false
        }
    }

    /// Whether the capture is an upload of the media that was not sent. Only another `send` uploads media.
    var isUnsentUpload: Bool { mode == .full && state.isUnsent }
}

extension JSONRenderer {
    static func captureRow(_ record: CaptureRecord) -> JSONObject {
        [
            "path": .path(record.path), "state": .string(record.state.rawValue),
        ] + capture(record) + [
            "updated_at": .time(record.updatedAt),
            "error_code": JSONValue(record.errorCode), "error_detail": JSONValue(record.errorDetail),
        ]
    }
}

extension TextRenderer {
    static func captures(_ records: [CaptureRecord], now: Date) -> Table {
        Table(columns: [
            .init(title: "ID"), .init(title: "STATE"), .init(title: "LEVEL", dropOrder: 3),
            .init(title: "HASH", dropOrder: 1), .init(title: "SIZE", alignment: .right, dropOrder: 2),
            .init(title: "CREATED", dropOrder: 4),
            .init(title: "FILE", isFlexible: true, minimumWidth: 12, isPath: true),
            .init(title: "SERVER", isFlexible: true, minimumWidth: 12, dropOrder: 5),
        ])
        .rows(for: records) { record in
            [
                brief(record.id), record.mode == nil ? "local only" : words(for: record.state),
                TerminalText.escaped(record.keyLevel ?? "-"), brief(record.mediaHash),
                record.mediaBytes.map { Formats.bytes($0) } ?? "-", Formats.age(of: record.createdAt, now: now),
                record.path.map { TerminalText.escaped($0) } ?? (record.isObserved ? "-" : "not observed"),
                // Only the host is shown, as in `uploads list`.
                TerminalText.escaped(record.server.replacing(/^https?:\/\//, with: "")),
            ]
        }
    }
}
