internal import MediaStore

/// What became of the entries of an import.
struct ImportTally {
    let outcomes: [AddOutcome]
    /// Tokens of files that the server does not have.
    let missing: Int

    init(_ outcomes: [AddOutcome], missing: Int = 0) {
        self.outcomes = outcomes
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
            "dry_run": .bool(isDryRun), "items": JSONValue(outcomes.count + missing), "added": JSONValue(count(.added)),
            "known": JSONValue(count(.known)), "buried": JSONValue(count(.buried)),
            "conflicting": JSONValue(count(.conflicting)), "not_on_server": JSONValue(missing),
            "exit_code": JSONRenderer.exitCode(code),
        ]
    }

    private func count(_ outcome: AddOutcome) -> Int { outcomes.count { $0 == outcome } }
}
