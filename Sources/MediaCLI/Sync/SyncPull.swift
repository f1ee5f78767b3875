internal import ArgumentParser
internal import MediaCore
internal import MediaStore
internal import PhotoSync

struct SyncPull: ServerCommand {
    static let schema = "mediactl.sync-pull/1"
    static let configuration = CommandConfiguration(
        commandName: "pull",
        abstract: "Update the local index from the server.",
        discussion: """
            The first run lists all photos. --full lists them again: the only way to detect deletions and reassigned \
            photos. This is done automatically when the last full listing is older than --full-interval. An interrupted \
            run resumes where it stopped; an inconsistent listing is never recorded as complete.

            Examples:
              mediactl sync
              mediactl sync --full
              mediactl sync pull --json
            """
    )

    @OptionGroup var listing: ListingOptions

    @Flag(name: .dryRun, help: "Show what would be listed, without storing it.")
    var dryRun = false

    @OptionGroup(title: "Credentials") var key: KeyOptions
    @OptionGroup(title: "Connection options") var connection: ServerConnectionOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(in console: Console) async throws -> ExitCode {
        try await listing.pull(console, key: key, connection: connection, global: global, isDryRun: dryRun)
    }
}

/// Listing options of `sync` and `sync pull`.
struct ListingOptions: ParsableArguments {
    @Flag(help: "List all photos again.")
    var full = false

    @Option(
        "List all photos again if the last full listing is older than this: 12h, 7d or never (default: 7d).",
        value: "time"
    )
    var fullInterval: String?

    func session(
        _ console: Console,
        _ global: GlobalOptions,
        _ connection: some ConnectionFlags
    ) async throws -> SyncSession {
        let flags = connection.flags + SettingsFlags([.fullInterval: fullInterval])
        return try await SyncSession.open(console, global, flags).waiting()
    }

    func options(_ session: SyncSession, isDryRun: Bool) -> Pull.Options {
        Pull.Options(
            isFull: full,
            isDryRun: isDryRun,
            fullInterval: session.settings.settings.fullInterval.value
        )
    }

    /// Updates the index and offers to claim photos without a device.
    func pull(
        _ console: Console,
        key: KeyOptions,
        connection: some ConnectionFlags,
        global: GlobalOptions,
        isDryRun: Bool
    ) async throws -> ExitCode {
        let session = try await session(console, global, connection)
        let run = PullRun(
            console: console,
            account: try await session.account(key),
            options: options(session, isDryRun: isDryRun),
            prompter: session.settings.prompter
        )
        return try await run.run()
    }
}

/// Updates the index and reports the result.
struct PullRun: Sendable {
    let console: Console
    let account: SyncAccount
    let options: Pull.Options
    let prompter: Prompter
    /// Whether `--yes` was specified: nothing may wait for input.
    var isUnattended = false

    func run() async throws -> ExitCode {
        let (code, result) = try await list()
        guard code == .success, let count = result?.legacyPhotos, count > 0, offersClaim else { return code }
        return try await offerClaim(of: count)
    }

    private func list() async throws -> (ExitCode, PullResult?) {
        try console.start([
            "server": .string(account.server), "device_id": JSONValue(account.deviceID),
            "full": .bool(options.isFull), "dry_run": .bool(options.isDryRun),
        ])
        let run = LongRun<PullProgress>(console)
        let waiting = LockNotice(console, "listing the photos on this server")
        return try await console.context.interruption.handling({ _ in }) {
            let pull = Pull(account, options: options)
            let result = try await run.run(reporting: { (_: Never) in }) { dependencies in
                try await pull.run(control: dependencies.control) {
                    waiting.note($0.waitsForProcess)
                    dependencies.progress($0)
                }
            }
            let ending = console.ending(result == nil ? .partly : .success)
            if let result {
                console.text(TextRenderer.pull(result, isDryRun: options.isDryRun, style: console.outputStyle))
                advise(result)
            } else {
                console.note("stopped; the next mediactl sync resumes here")
            }
            return (ending.runSummary(summary(result, run.display), after: run.display.elapsed), result)
        }
    }

    // MARK: Legacy photos

    /// A claim is offered only at a prompt, since it cannot be undone, and not in JSON mode, since the records of a
    /// claim belong to a different command. `--yes` does not confirm a claim.
    private var offersClaim: Bool {
        let mayPrompt = prompter.isAllowed && !isUnattended && !console.isJSON && !console.isQuiet
        return mayPrompt && !options.isDryRun && account.deviceID != nil
    }

    private func offerClaim(of count: Int64) async throws -> ExitCode {
        let lines = ClaimRun.explanation(count, account)
        let prompting = Confirmation(prompter: prompter, isGiven: false)
        guard try await prompting.prompt(lines, ClaimRun.question, on: console) else { return .success }
        let confirmation = Confirmation(prompter: prompter, isGiven: true)
        let claim = ClaimRun(console: console, account: account, confirmation: confirmation, isDryRun: false)
        return try await claim.claim(.all)
    }

    private func advise(_ result: PullResult) {
        if result.advisesFull, let status = result.status, !options.isDryRun {
            console.note(
                "the server has \(Formats.count(status.totalPhotos, "photo")) and the index has "
                    + "\(result.counts.total); find deleted and missed photos with: mediactl sync --full"
            )
        }
        let legacy = result.legacyPhotos
        if legacy > 0, !offersClaim {
            console.note(
                legacy == 1
                    ? "1 photo is not assigned to a device; list it with: mediactl claim-legacy --list"
                    : "\(legacy) photos are not assigned to a device; list them with: mediactl claim-legacy --list"
            )
        }
    }

    private func summary(_ result: PullResult?, _ display: RunDisplay<PullProgress>) -> JSONObject {
        let progress = display.latest
        return [
            "server": .string(account.server), "dry_run": .bool(options.isDryRun), "complete": .bool(result != nil),
            "full": JSONValue(result?.isFull), "resumed": JSONValue(result?.isResumed),
            "photos": .integer(result?.photos ?? progress?.photos ?? 0),
            "pages": .integer(result?.pages ?? progress?.pages ?? 0), "restarts": JSONValue(result?.restarts),
            "added": JSONValue(result?.changes.added), "changed": JSONValue(result?.changes.changed),
            "gone": JSONValue(result?.changes.gone),
            "index": result.map { JSONRenderer.indexCounts($0.counts) } ?? .null,
            "server_counts": JSONRenderer.serverCounts(result?.status),
            "needs_legacy_claim": JSONValue(result.map { $0.legacyPhotos > 0 }),
        ]
    }
}

extension PullResult {
    /// Number of photos without a device, according to the server if it has responded.
    fileprivate var legacyPhotos: Int64 { status?.legacyPhotos ?? counts.legacy }
}

/// Prints once that another process has to finish first.
final class LockNotice: Sendable {
    private let console: Console
    /// What the other process is doing.
    private let work: String
    private let notice = Once()

    init(_ console: Console, _ work: String) {
        self.console = console
        self.work = work
    }

    func note(_ process: Int32?) {
        guard let process, notice.begin() else { return }
        let name = process > 0 ? "mediactl process \(process)" : "another mediactl process"
        console.note("waiting for \(name), which is \(work)")
    }
}

extension PullProgress: RunReading {
    var amount: Int64 { photos }
    var percent: Int64? { Progress.percent(photos, of: expected) }

    func line(rate: Double?) -> String {
        guard waitsForProcess == nil else { return "waiting for another mediactl process" }
        var parts: [String]
        if let expected, let percent {
            parts = ["\(min(photos, expected)) of \(Formats.count(expected, "photo"))", "\(percent)%"]
        } else {
            parts = [Formats.count(photos, "photo")]
        }
        parts += Progress.rest(photos, of: expected, rate: rate) { "\($0)" }
        if attempt > 1 {
            parts.append("restarted, attempt \(attempt)")
        }
        return parts.joined(separator: "  ")
    }

    func record(elapsed: Duration) -> JSONObject {
        [
            "photos": .integer(photos), "pages": .integer(pages),
            "expected": JSONValue(expected), "attempt": JSONValue(attempt),
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
        guard !isDryRun else { return ["\(Formats.count(result.photos, "photo")) would be listed"] }
        let (changes, counts) = (result.changes, result.counts)
        let changed = facts([(changes.added, "new"), (changes.changed, "changed"), (changes.gone, "deleted")])
        return [
            "\(style.green("index updated")): \(changed.isEmpty ? "no changes" : changed)", "  " + shares(of: counts),
        ]
    }

    /// `7 photos: 3 from this device, 4 not assigned to a device`.
    private static func shares(of counts: PhotoCounts) -> String {
        let photos = Formats.count(counts.total, "photo")
        let shares = facts([
            (counts.thisDevice, "from this device"), (counts.otherDevices, "from other devices"),
            (counts.legacy, "not assigned to a device"),
        ])
        return shares.isEmpty ? photos : "\(photos): \(shares)"
    }

    /// `3 new, 1 deleted`; omits zero counts.
    private static func facts(_ counts: [(number: Int64, words: String)]) -> String {
        counts.filter { $0.number != 0 }.map { "\($0.number) \($0.words)" }.joined(separator: ", ")
    }
}
