internal import ArgumentParser
internal import MediaCore
internal import MediaStore
internal import PhotoSync

struct SyncPull: ContextCommand {
    static let schema = "mediactl.sync-pull/1"
    static let configuration = CommandConfiguration(
        commandName: "pull",
        abstract: "List what is new on the server into the local index.",
        discussion: """
            The first time everything is listed. --full does it anew, which alone finds what was deleted on the server \
            and what has got another device. A run that was cut goes on where it stopped; one that does not add up is \
            never taken for complete.

            Examples:
              mediactl sync
              mediactl sync --full
              mediactl sync pull --json
            """
    )

    @Flag(help: "List everything anew.")
    var full = false

    @Flag(name: .dryRun, help: "Show what would be listed, without storing it.")
    var dryRun = false

    @OptionGroup(title: "Credentials") var key: KeyOptions
    @OptionGroup(title: "Connection options") var connection: ServerConnectionOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(in console: Console) async throws -> ExitCode {
        let account = try await SyncSession.open(console, global, connection).account(key)
        let run = PullRun(
            console: console,
            account: account,
            options: Pull.Options(isFull: full, isDryRun: dryRun),
            writesProgressRecords: global.progressEvents
        )
        return try await run.run()
    }
}

/// Updates the index, and reports the result.
struct PullRun: Sendable {
    let console: Console
    let account: SyncAccount
    let options: Pull.Options
    let writesProgressRecords: Bool

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

struct ListingReading: RunReading {
    var progress: PullProgress

    var amount: Int64 { progress.photos }
    var percent: Int64? { Progress.percent(progress.photos, of: progress.expected) }

    func line(rate: Double?) -> String {
        var parts: [String]
        if let expected = progress.expected, let percent {
            parts = ["\(min(progress.photos, expected)) of \(Formats.count(expected, "photo"))", "\(percent) %"]
        } else {
            parts = [Formats.count(progress.photos, "photo")]
        }
        parts += Progress.rest(progress.photos, of: progress.expected, rate: rate) { "\($0)" }
        if progress.attempt > 1 {
            parts.append("begun anew, try \(progress.attempt)")
        }
        return parts.joined(separator: "  ")
    }

    func record(elapsed: Duration) -> JSONObject {
        [
            "photos": .integer(progress.photos), "pages": .integer(progress.pages),
            "expected": JSONValue(progress.expected), "attempt": JSONValue(progress.attempt),
            "elapsed_ms": .integer(Formats.milliseconds(elapsed)),
        ]
    }
}

extension JSONRenderer {
    static func indexCounts(_ counts: PhotoCounts) -> JSONValue {
        .object([
            "total": .integer(counts.total), "this_device": .integer(counts.thisDevice),
            "other_devices": .integer(counts.otherDevices), "legacy": .integer(counts.legacy),
            "gone": .integer(counts.gone),
        ])
    }

    static func serverCounts(_ status: SyncStatus?) -> JSONValue {
        guard let status else { return .null }
        return .object([
            "total": .integer(status.totalPhotos), "this_device": .integer(status.devicePhotos),
            "other_devices": .integer(status.otherDevicePhotos), "legacy": .integer(status.legacyPhotos),
            "last_page_at": JSONValue(status.lastSyncAt?.text),
        ])
    }
}

extension TextRenderer {
    static func pull(_ result: PullResult, isDryRun: Bool, style: Style) -> [String] {
        guard !isDryRun else { return ["\(Formats.count(result.photos, "photo")) would be listed; nothing is stored"] }
        let (changes, counts) = (result.changes, result.counts)
        let news = facts([(changes.added, "new"), (changes.changed, "changed"), (changes.gone, "gone")])
        return [
            "\(style.green("synchronised")): \(news.isEmpty ? "nothing new" : news)", "  " + shares(of: counts),
        ]
    }

    /// `7 photos: 3 of this device, 4 of no device`.
    private static func shares(of counts: PhotoCounts) -> String {
        let photos = Formats.count(counts.total, "photo")
        let shares = facts([
            (counts.thisDevice, "of this device"), (counts.otherDevices, "of other devices"),
            (counts.legacy, "of no device"),
        ])
        return shares.isEmpty ? photos : "\(photos): \(shares)"
    }

    /// `3 new, 1 gone`; omits zero counts.
    private static func facts(_ counts: [(number: Int64, words: String)]) -> String {
        counts.filter { $0.number != 0 }.map { "\($0.number) \($0.words)" }.joined(separator: ", ")
    }
}
