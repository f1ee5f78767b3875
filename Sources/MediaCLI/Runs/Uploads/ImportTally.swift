internal import MediaCore
internal import MediaStore

/// What became of the entries of an import.
struct ImportTally {
    /// How many entries had each outcome.
    let counts: [AddOutcome: Int]
    /// Tokens of files that the server does not have.
    let missing: Int

    init(_ counts: [AddOutcome: Int]) {
        self.counts = counts
        missing = 0
    }

    init(_ outcomes: [AddOutcome], missing: Int = 0) {
        counts = Dictionary(outcomes.map { ($0, 1) }, uniquingKeysWith: +)
        self.missing = missing
    }

    func text(isDryRun: Bool) -> String {
        let taken = count(.added) + count(.conflicting)
        let tokens = Formats.count(taken, "delete token")
        var text = isDryRun ? "\(tokens) would be imported" : "imported \(tokens)"
        if count(.conflicting) > 0 {
            text += " (\(count(.conflicting)) with another token for the same file)"
        }
        if count(.known) > 0 {
            text += ", \(count(.known)) already stored"
        }
        if count(.buried) > 0 {
            text += ", \(count(.buried)) removed before"
        }
        if missing > 0 {
            text += ", \(missing) not on the server"
        }
        return text
    }

    func members(isDryRun: Bool, _ code: ExitCode = .success) -> JSONObject {
        [
            "dry_run": .bool(isDryRun), "items": JSONValue(counts.values.reduce(missing, +)),
            "added": JSONValue(count(.added)),
            "known": JSONValue(count(.known)), "buried": JSONValue(count(.buried)),
            "conflicting": JSONValue(count(.conflicting)), "not_on_server": JSONValue(missing),
            "exit_code": JSONRenderer.exitCode(code),
        ]
    }

    private func count(_ outcome: AddOutcome) -> Int { counts[outcome] ?? 0 }
}
