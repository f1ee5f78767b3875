internal import ArgumentParser
internal import Foundation
internal import MediaCore
internal import MediaStore
internal import PhotoSync

struct SyncVerify: ContextCommand {
    static let schema = "mediactl.sync-verify/1"
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Compare server, index and local copies, and change none of them.",
        discussion: """
            The server is listed anew. Ends with 3 when there are differences.

            Examples:
              mediactl sync verify
              mediactl sync verify --read-content
            """
    )

    @Flag(help: "Read local files also where their digests are known.")
    var readContent = false

    @OptionGroup(title: "Credentials") var key: KeyOptions
    @OptionGroup(title: "Connection options") var connection: ServerConnectionOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(in console: Console) async throws -> ExitCode {
        let session = try await SyncSession.open(console, global, connection)
        let account = try await session.account(key)
        let run = VerifyRun(
            console: console,
            account: account,
            hashes: session.settings.hashCache(),
            readsContent: readContent,
            writesProgressRecords: global.progressEvents
        )
        return try await run.run()
    }
}

/// Compares index, copies and server, and reports each difference.
struct VerifyRun: Sendable {
    let console: Console
    let account: SyncAccount
    let hashes: HashCache
    let readsContent: Bool
    let writesProgressRecords: Bool

    /// - Throws: `PhotoSyncError`, `Diagnosis`.
    func run() async throws -> ExitCode {
        console.record(.start, ["server": .string(account.server), "read_content": .bool(readsContent)])
        try console.requireOutput()
        let run = LongRun<ListingReading>(console, writesRecords: writesProgressRecords)
        let tally = ItemTally<SyncDifference.Kind>()
        return try await console.context.interruption.handling({ _ in }) {
            let verification = Verification(account, hashes: hashes, readsContent: readsContent)
            let result = try await run.run(telling: { tell($0, tally) }) { surroundings in
                try await verification.run(control: surroundings.control, onDifference: surroundings.onItem) {
                    surroundings.progress(ListingReading(progress: $0))
                }
            }
            let code = console.exitCode(result == nil || tally.total > 0 ? .partly : .success)
            if let result {
                console.note(
                    "\(Formats.count(result.photos, "photo")) and "
                        + "\(result.copies == 1 ? "1 copy" : "\(result.copies) copies") compared, "
                        + (tally.total == 0 ? "no differences" : Formats.count(tally.total, "difference"))
                )
                advise(tally)
            }
            console.summary(summary(result, tally, run, code))
            return code
        }
    }

    /// Prints the commands that repair the differences.
    private func advise(_ tally: ItemTally<SyncDifference.Kind>) {
        func has(_ kinds: SyncDifference.Kind...) -> Bool { kinds.contains { tally.count($0) > 0 } }
        if has(.notIndexed, .notOnServer, .changedOnServer, .originChanged) {
            console.note("mediactl sync --full brings the index up to date")
        }
        if has(.copyMissing, .copyUnfinished) {
            console.note("mediactl sync download --missing --output DIR fetches missing copies again")
        }
    }

    private func tell(_ difference: SyncDifference, _ tally: ItemTally<SyncDifference.Kind>) {
        tally.add(difference.kind, .partly)
        console.result(
            JSONRenderer.difference(difference),
            TextRenderer.difference(difference, style: console.outputStyle)
        )
    }

    private func summary(
        _ result: VerificationResult?,
        _ tally: ItemTally<SyncDifference.Kind>,
        _ run: LongRun<ListingReading>,
        _ code: ExitCode
    ) -> JSONObject {
        var summary: JSONObject = [
            "server": .string(account.server), "complete": .bool(result != nil), "photos": JSONValue(result?.photos),
            "copies": JSONValue(result?.copies), "items": JSONValue(tally.total),
        ]
        for kind in SyncDifference.Kind.allCases {
            summary[kind.rawValue] = JSONValue(tally.count(kind))
        }
        return summary + console.ending(code, after: run.display.elapsed)
    }
}

extension JSONRenderer {
    static func difference(_ difference: SyncDifference) -> JSONObject {
        [
            "kind": .string(difference.kind.rawValue), "photo_id": .string(difference.photoID),
            "path": path(difference.path), "expected": JSONValue(difference.expected),
            "found": JSONValue(difference.found),
        ]
    }
}

extension TextRenderer {
    static func difference(_ difference: SyncDifference, style: Style) -> [String] {
        let kind = difference.kind.rawValue.replacing("_", with: " ")
        let what = difference.path.map { TerminalText.escaped($0) } ?? TerminalText.escaped(difference.photoID)
        let values = values(of: difference)
        let padded = kind.padding(toLength: 17, withPad: " ", startingAt: 0)
        return ["\(style.yellow(padded))  \(what)" + (values.isEmpty ? "" : "  (\(values.joined(separator: ", ")))")]
    }

    /// Names and reasons; digests are only in JSON.
    private static func values(of difference: SyncDifference) -> [String] {
        switch difference.kind {
        case .notIndexed, .notOnServer:
            [difference.found ?? difference.expected].compactMap { $0.map { TerminalText.escaped($0) } }
        default:
            [("expected", difference.expected), ("found", difference.found)]
                .compactMap { name, value in value.map { (name, $0) } }
                .filter { $0.1.wholeMatch(of: /[0-9a-f]{64}/) == nil }
                .map { "\($0.0) \(TerminalText.escaped($0.1))" }
        }
    }
}
