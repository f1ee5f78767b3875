internal import ArgumentParser
internal import CaptureSubmission
internal import Foundation
internal import MediaCore
internal import MediaStore

struct HashOnlyShow: ContextCommand {
    static let schema = "mediactl.hash-only-show/1"
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show a stored capture. Sends nothing.",
        discussion: """
            Examples:
              mediactl hash-only show 5f0c2a91
              mediactl hash-only show 5f0c2a91 --show-body
            """
    )

    @Argument("ID of the capture, or a unique prefix of it.", value: "id")
    var id: String

    @Flag(help: "Also show the body last sent, or to be sent, including signature, time and location.")
    var showBody = false

    @OptionGroup(visibility: .hidden) var connection: ProfileOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(in console: Console) async throws -> ExitCode {
        let context = try await CaptureContext.open(console, global, connection, for: .reading)
        let record = try context.record(id)
        let body = showBody ? (record.body ?? record.unsignedBody).map { String(decoding: $0, as: UTF8.self) } : nil
        let kept: JSONObject = [
            "privacy": JSONRenderer.kept(record.settings), "analysis": JSONRenderer.analysis(of: record),
            "body": JSONRenderer.kept(body), "signed": .bool(record.body != nil),
            "earlier_submissions": JSONValue(record.earlierSubmissions?.count ?? 0),
        ]
        console.record(.item, JSONRenderer.captureRow(record) + kept)
        console.text(
            TextRenderer.capture(
                record,
                problem: context.problem(withCopyOf: record),
                now: console.context.now(),
                style: console.outputStyle
            )
                + (body.map { [JSONText.escapedForTerminals($0)] } ?? [])
        )
        return console.finish(["items": 1])
    }
}

extension JSONRenderer {
    /// The depth analysis with the numbers in the body, which are sent as binary32.
    static func analysis(of record: CaptureRecord) -> JSONValue {
        guard let analysis = record.analysis, let bytes = record.body ?? record.unsignedBody,
            let sent = JSONValue.object(in: bytes[...])?["depth_analysis"]?.members,
            let members = JSONValue.object(in: Array(analysis.utf8)[...])
        else { return kept(record.analysis) }
        return .object(members.replacing(sent))
    }

    /// Inserts JSON from the store unchanged.
    static func kept(_ json: String?) -> JSONValue { json.map { .verbatim($0) } ?? .null }
}

extension TextRenderer {
    private static func body(of record: CaptureRecord) -> String {
        guard let body = record.body ?? record.unsignedBody else { return "-" }
        return Formats.bytes(Int64(body.count)) + (record.body == nil ? ", not signed" : "")
    }

    private static func words(forCopyWith problem: OutcomeCode) -> String {
        switch problem {
        case .mediaMissing: "missing from the vault"
        case .mediaDamaged: "damaged in the vault"
        default: "unreadable in the vault"
        }
    }

    /// Everything except the body. `problem` is the reason why the copy in the vault cannot be read, if any.
    static func capture(_ record: CaptureRecord, problem: OutcomeCode?, now: Date, style: Style) -> [String] {
        let seen =
            !record.isObserved
            ? "none; the file was not read on this machine"
            : problem.map { words(forCopyWith: $0) }
                ?? "in the vault, encrypted" + (record.hasDepth ? ", with its depth map" : "")
        let failure = record.errorCode.map { code in
            record.errorDetail.map { $0.isEmpty ? code : "\(code): \($0)" } ?? code
        }
        let fields: [(String, String?)] = [
            ("id", record.id), ("server", record.server), ("profile", record.profile),
            ("mode", record.mode?.rawValue ?? "none; local only"), ("state", words(for: record.state)),
            ("last error", record.state == .accepted ? nil : failure),
            ("file", record.path.map { TerminalText.escaped($0) }),
            ("media", "\(record.mediaType), \(record.mediaBytes.map { Formats.bytes($0) } ?? "unknown size")"),
            ("copy", seen), ("sha-256", record.mediaHash), ("level", record.keyLevel ?? "-"),
            ("device", record.deviceID ?? "-"), ("counter", record.counter.map { "\($0)" } ?? "-"),
            ("body", body(of: record)),
            ("created", time(record.createdAt, now: now)),
            ("sent", record.submittedAt.map { time($0, now: now) } ?? "-"),
            ("submissions", "\(record.submissions)"), ("server ID", record.serverCaptureID ?? "-"),
            ("public page", record.verificationURL ?? "-"),
        ]
        return self.fields(fields.compactMap { name, value in value.map { (name, $0) } }, style)
    }
}
