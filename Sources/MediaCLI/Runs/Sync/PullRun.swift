internal import MediaCore
internal import MediaStore
internal import PhotoSync

/// Brings the index up to date, and says what came of it.
struct PullRun: Sendable {
    let console: Console
    let account: SyncAccount
    let options: Pull.Options
    let writesProgressRecords: Bool

    /// Writes every record, text and summary.
    ///
    /// - Throws: `PhotoSyncError`, `Diagnosis`.
    func run() async throws -> ExitCode {
        console.record(
            .start,
            [
                "server": .string(account.server), "device_id": JSONValue(account.deviceID),
                "full": .bool(options.isFull), "dry_run": .bool(options.isDryRun),
            ]
        )
        try console.requireOutput()
        let run = LongRun<ListingReading>(console, writesRecords: writesProgressRecords)
        return try await console.context.interruption.handling({ _ in }) {
            let pull = Pull(account, options: options)
            let result = try await run.run(telling: { (_: Never) in }) { surroundings in
                try await pull.run(control: surroundings.control) {
                    surroundings.progress(ListingReading(progress: $0))
                }
            }
            let code = console.exitCode(result == nil ? .partly : .success)
            if let result {
                console.text(TextRenderer.pull(result, isDryRun: options.isDryRun, style: console.outputStyle))
                advise(result)
            } else {
                console.note("stopped; the next mediactl sync goes on from here")
            }
            console.summary(summary(result, run.display, code))
            return code
        }
    }

    private func advise(_ result: PullResult) {
        if result.advisesFull, !options.isDryRun {
            console.note(
                "the server has \(result.status.map { "\($0.totalPhotos)" } ?? "other") photos, the index "
                    + "\(result.counts.total); mediactl sync --full finds what was deleted, or came late"
            )
        }
        let legacy = result.status?.legacyPhotos ?? result.counts.legacy
        if legacy > 0 {
            console.note(
                legacy == 1
                    ? "1 photo belongs to no device; mediactl claim-legacy --list shows it"
                    : "\(legacy) photos belong to no device; mediactl claim-legacy --list shows them"
            )
        }
    }

    private func summary(_ result: PullResult?, _ display: RunDisplay<ListingReading>, _ code: ExitCode) -> JSONObject {
        let progress = display.latest?.progress
        return [
            "server": .string(account.server), "dry_run": .bool(options.isDryRun), "complete": .bool(result != nil),
            "full": JSONValue(result?.isFull), "resumed": JSONValue(result?.isResumed),
            "photos": .integer(result?.photos ?? progress?.photos ?? 0),
            "pages": .integer(result?.pages ?? progress?.pages ?? 0), "restarts": JSONValue(result?.restarts),
            "added": JSONValue(result?.changes.added), "changed": JSONValue(result?.changes.changed),
            "gone": JSONValue(result?.changes.gone),
            "index": result.map { JSONRenderer.indexCounts($0.counts) } ?? .null,
            "server_counts": JSONRenderer.serverCounts(result?.status),
        ] + console.ending(code, after: display.elapsed)
    }
}
