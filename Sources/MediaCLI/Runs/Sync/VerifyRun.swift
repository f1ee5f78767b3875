internal import MediaCore
internal import MediaStore
internal import PhotoSync

/// Compares index, copies and server, and says each difference.
struct VerifyRun: Sendable {
    let console: Console
    let account: SyncAccount
    let hashes: HashCache
    let readsContent: Bool
    let writesProgressRecords: Bool

    /// Writes every record, text and summary.
    ///
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

    /// Names the commands that repair what was found.
    private func advise(_ tally: ItemTally<SyncDifference.Kind>) {
        func has(_ kinds: SyncDifference.Kind...) -> Bool { kinds.contains { tally.count($0) > 0 } }
        if has(.notIndexed, .notOnServer, .changedOnServer, .originChanged) {
            console.note("mediactl sync --full brings the index up to date")
        }
        if has(.copyMissing, .copyUnfinished) {
            console.note("mediactl sync download --missing --to DIR fetches missing copies again")
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
            summary.members.append(.init(name: kind.rawValue, value: JSONValue(tally.count(kind))))
        }
        return summary + console.ending(code, after: run.display.elapsed)
    }
}
