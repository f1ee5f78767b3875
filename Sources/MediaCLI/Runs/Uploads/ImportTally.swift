internal import MediaStore

/// What became of the entries of an import.
struct ImportTally {
    let outcomes: [AddOutcome]

    init(_ outcomes: [AddOutcome]) {
        self.outcomes = outcomes
    }

    func text(isDryRun: Bool) -> String {
        let taken = count(.added) + count(.conflicting)
        let tokens = Formats.count(taken, "delete token")
        var text = isDryRun ? "\(tokens) would be imported" : "imported \(tokens)"
        if count(.conflicting) > 0 {
            text += " (\(count(.conflicting)) beside another token of the same file)"
        }
        if count(.known) > 0 {
            text += ", \(count(.known)) known already"
        }
        if count(.buried) > 0 {
            text += ", \(count(.buried)) removed here before"
        }
        return text
    }

    func members(isDryRun: Bool) -> JSONObject {
        [
            "dry_run": .bool(isDryRun), "items": JSONValue(outcomes.count), "added": JSONValue(count(.added)),
            "known": JSONValue(count(.known)), "buried": JSONValue(count(.buried)),
            "conflicting": JSONValue(count(.conflicting)), "exit_code": 0,
        ]
    }

    private func count(_ outcome: AddOutcome) -> Int { outcomes.count { $0 == outcome } }
}
