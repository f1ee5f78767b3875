internal import ArgumentParser
internal import Foundation
internal import MediaCore
internal import MediaStore

struct StoreCheckCommand: ContextCommand {
    static let schema = "mediactl.store-check/1"
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Verify the token store and count its entries. Changes nothing.",
        discussion: """
            Reads every row and every index. Exits with 12 if the store is damaged.

            Example:
              mediactl store check
            """
    )

    @OptionGroup(visibility: .hidden) var connection: ProfileOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(in console: Console) async throws -> ExitCode {
        let settings = try await SettingsSession.open(console, global: global, connection: connection)
        let path = settings.locations.dataDirectory
        try DataDirectory.refuseFile(inPlaceOf: path)
        // If there is no store, for example in a mistyped directory, nothing is created.
        let unchanged = try DataDirectory.unchanged(path)
        let directory =
            try TokenStore.exists(in: unchanged) ? StoreSession.directory(settings, for: .reading) : unchanged
        let check = try StoreCheck(reading: directory)
        guard check.findings.isEmpty else {
            throw StoreError(.corrupt, path: check.path, detail: check.findings.joined(separator: "; "))
        }
        let responses = try StoredResponse.count(in: directory)
        console.text(
            TextRenderer.check(
                check,
                responses: responses,
                now: console.context.now(),
                style: console.outputStyle
            )
        )
        if check.isEmpty {
            console.hintAtBackup(in: directory)
        } else if let missing = check.missing {
            console.warn(ofMissing: missing)
        }
        return console.finish(JSONRenderer.check(check, responses: responses))
    }
}

extension JSONRenderer {
    static func check(_ check: StoreCheck, responses: Int) -> JSONObject {
        [
            "path": .string(check.path), "exists": .bool(check.exists), "size_bytes": .integer(check.byteCount),
            "tokens": JSONValue(check.tokens), "hosts": JSONValue(check.hosts), "uploads": JSONValue(check.uploads),
            "unfinished": JSONValue(check.unfinishedUploads), "responses": JSONValue(responses),
            "backups": .array(
                check.backups.map {
                    .object([
                        "path": .string($0.path), "created_at": .time($0.createdAt),
                        "size_bytes": .integer($0.byteCount),
                    ])
                }
            ),
            "missing_tokens": JSONValue(check.missing?.tokens ?? 0),
        ]
    }
}

extension TextRenderer {
    static func check(_ check: StoreCheck, responses: Int, now: Date, style: Style) -> [String] {
        let uploads =
            check.unfinishedUploads == 0
            ? "\(check.uploads)" : "\(check.uploads) (\(check.unfinishedUploads) unfinished)"
        let head = fields(
            [
                ("store", check.path), ("size", Formats.bytes(check.byteCount)),
                ("tokens", "\(check.tokens) for \(Formats.count(check.hosts, "host"))"), ("uploads", uploads),
                ("responses", responses == 0 ? "none" : "\(responses) kept, see mediactl uploads responses"),
                ("backups", check.backups.isEmpty ? "none" : "\(check.backups.count)"),
            ],
            style
        )
        let backups = check.backups.map {
            "  \(TerminalText.escaped($0.path))  (\(Formats.bytes($0.byteCount)), \(Formats.age(of: $0.createdAt, now: now)))"
        }
        return head + backups + [check.exists ? "no errors found" : "no store yet"]
    }
}
