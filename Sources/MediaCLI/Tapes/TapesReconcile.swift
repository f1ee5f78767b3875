internal import ArgumentParser
internal import MediaCore
internal import MediaStore
internal import Tapes

struct TapesReconcile: ContextCommand {
    static let schema = "mediactl.tapes-reconcile/1"
    static let configuration = CommandConfiguration(
        commandName: "reconcile",
        abstract: "List pending album updates; apply them with --apply.",
        discussion: """
            Tapes are updated one at a time, longest pending first; the run stops at the first library-wide error. \
            --verify checks whether the stored albums exist, but does not create any.

            Examples:
              mediactl tapes reconcile
              mediactl tapes reconcile --apply --limit 100
            """
    )

    @Flag(help: "Apply the pending album updates.")
    var apply = false

    @Flag(name: .dryRun, help: "List the pending album updates, without applying them (default).")
    var dryRun = false

    @Option("Maximum number of tapes (default: 20).", value: "n", parsing: .unconditional)
    var limit: Int?

    @Flag(help: "Check whether all stored albums exist, and mark missing albums.")
    var verify = false

    @OptionGroup(title: "Library options") var connection: TapeUploadOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func validate() throws {
        try require(!apply || !verify, "--apply cannot be combined with --verify.")
        try require(!dryRun || !(apply || verify), "--dry-run cannot be combined with --apply or --verify.")
        try require(limit == nil || apply, "--limit requires --apply.")
        try connection.requireUploads(apply, otherwise: "requires --apply")
        try require(limit.map({ $0 > 0 }) ?? true, "--limit must be at least 1.")
    }

    func run(in console: Console) async throws -> ExitCode {
        let session = try await TapesSession.open(console, global, connection)
        let display = RunDisplay<TapeReading>(console)
        let service =
            apply || verify
            ? try await session.service(connection.key, progress: display) : try session.localService()
        let run = ReconcileRun(session: session, service: service, display: display)
        if verify { return try await run.verify() }
        return apply ? try await run.apply(limit: limit ?? ReconcileRun.usualLimit) : try run.plan()
    }
}

/// `tapes reconcile`: pending album updates (rule R13).
struct ReconcileRun: Sendable {
    struct Item: Sendable {
        enum Work: String, Sendable {
            case tape, deletion, verification
        }

        var work: Work
        var state: String
        var tapeID: String?
        var title: String?
        var albumID: String?
        var libraryID: String?
        var association: TapeRecord.Association?
        var reason: AssociationReason?
        var isCreated: Bool?
        var pendingClips: Int?
        var detail: String?
        /// Whether the album exists but cannot be read; `detail` contains a remedy.
        var isDamaged = false
    }

    /// Maximum number of tapes per run, to limit the load on a library.
    static let usualLimit = 20
    static let albumsAreOff = "albums are disabled; to enable them, set albums.enabled: true"

    let session: TapesSession
    let service: AlbumService
    let display: RunDisplay<TapeReading>

    private var console: Console { session.console }

    // MARK: Checking

    /// Lists the pending updates, without contacting a library.
    func plan() throws -> ExitCode {
        try console.start(["dry_run": true])
        let plan = try service.reconcilePlan()
        for tape in plan.tapes {
            console.result(
                Item(
                    work: .tape,
                    state: "planned",
                    tapeID: tape.id,
                    title: tape.title,
                    association: tape.association,
                    reason: tape.reason
                )
            )
        }
        for tombstone in plan.tombstones {
            console.result(Item(tombstone))
        }
        if !service.policy.isEnabled {
            console.note(Self.albumsAreOff)
        } else if plan.tapes.isEmpty, plan.tombstones.isEmpty {
            console.note("no pending album updates")
        } else {
            console.note("nothing was changed; to apply: mediactl tapes reconcile --apply")
        }
        return finish(nil, items: plan.tapes.count + plan.tombstones.count, left: plan.tapes.count, .success)
    }

    /// Checks whether the stored albums exist; does not create albums.
    ///
    /// - Throws: `TapesError` if the library cannot be read.
    func verify() async throws -> ExitCode {
        try console.start(["dry_run": false])
        let titles = Dictionary(try session.store.tapeSummaries().map { ($0.tape.id, $0.tape.title) }) { $1 }
        let (missing, statistics) = try await console.context.interruption.canceling { [service, console] in
            let statistics = ItemStatistics<String>()
            let missing = try await service.verifyAlbums { link, presence in
                let item = Item(link, presence, title: titles[link.tapeID])
                statistics.add(item.isDamaged ? "damaged" : item.state, .success)
                console.result(item)
            }
            return (missing, statistics)
        }
        let count = statistics.total
        let unseen = statistics.count("unknown") + statistics.count("damaged")
        let checked = unseen == 0 ? Formats.count(count, "album") : "\(count - unseen) of \(count) albums checked"
        console.note(
            missing == 0
                ? "\(checked), none missing"
                : "\(checked), \(missing) missing; the next add, or --apply, creates \(missing == 1 ? "it" : "them") again"
        )
        return finish(nil, items: count, left: missing + unseen, unseen == 0 ? .success : reportFailure(statistics))
    }

    /// Reports albums that could not be checked: an album that is not reported missing may still not exist.
    private func reportFailure(_ statistics: ItemStatistics<String>) -> ExitCode {
        let damaged = statistics.count("damaged")
        if damaged > 0 {
            console.warning("\(Formats.count(damaged, "album")) cannot be read")
        }
        let unknown = statistics.count("unknown")
        guard unknown > 0 else { return .partly }
        console.warning(
            "\(Formats.count(unknown, "album")) cannot be checked: reading albums is not permitted",
            hint: AssociationReason.accessLimited.hint
        )
        return unknown == statistics.total ? .unauthorized : .partly
    }

    // MARK: Updating

    /// Processes pending updates one at a time.
    ///
    /// - Throws: `TapesError` if the store cannot be used.
    func apply(limit: Int) async throws -> ExitCode {
        try console.start(["dry_run": false])
        let statistics = ItemStatistics<String>()
        let outcome: ReconcileOutcome?
        do {
            outcome = try await display.during {
                try await console.context.interruption.canceling { [service, console] in
                    try await service.reconcile(limit: limit) { tape, outcome in
                        statistics.add(outcome.state.rawValue, .success)
                        console.result(Item(tape, outcome))
                    }
                }
            }
        } catch let error as TapesError where error.code == .cancelled {
            outcome = nil
        }
        return conclude(outcome, statistics)
    }

    /// The exit code for the failure that stopped the run, unless albums were updated before it.
    private static func exitCode(_ outcome: ReconcileOutcome, _ statistics: ItemStatistics<String>) -> ExitCode {
        guard let reason = outcome.stoppedBy else { return .success }
        let states: [AlbumOutcome.State] = [.associated, .partly]
        let updated = states.reduce(outcome.deletedAlbums) { $0 + statistics.count($1.rawValue) }
        return updated == 0 ? reason.exitCode : .partly
    }

    /// Processes pending updates after access was granted, and returns the number of tapes. Reports only the total.
    ///
    /// - Throws: `TapesError` if the store cannot be used.
    func catchUp() async throws -> (done: Int, code: ExitCode) {
        let statistics = ItemStatistics<String>()
        let outcome = try await display.during {
            try await console.context.interruption.canceling { [service] in
                try await service.reconcile(limit: Self.usualLimit) { _, outcome in
                    statistics.add(outcome.state.rawValue, .success)
                }
            }
        }
        if let reason = outcome.stoppedBy {
            console.warning(
                "stopped (\(reason.words)); \(Formats.count(outcome.left, "tape")) left",
                hint: outcome.obstacle?.hint ?? reason.hint
            )
        } else if outcome.done > 0 {
            console.note("\(Formats.count(outcome.done, "tape")) updated")
        }
        return (outcome.done, Self.exitCode(outcome, statistics))
    }

    private func conclude(_ outcome: ReconcileOutcome?, _ statistics: ItemStatistics<String>) -> ExitCode {
        guard let outcome else { return finish(nil, items: statistics.total, left: 0, .partly) }
        if outcome.deletedAlbums > 0 {
            console.text(["\(Formats.count(outcome.deletedAlbums, "album")) deleted"])
        }
        if let reason = outcome.stoppedBy {
            let detail = outcome.detail.isEmpty ? "" : ": \(ErrorCatalog.clean(outcome.detail))"
            console.warning(
                "stopped (\(reason.words)\(detail)); \(Formats.count(outcome.left, "tape")) left",
                hint: outcome.obstacle?.hint ?? reason.hint
            )
        } else if outcome.left > 0 {
            console.note("\(Formats.count(outcome.left, "tape")) left; run the command again, or raise --limit")
        } else if outcome.done == 0, outcome.deletedAlbums == 0 {
            console.note(service.policy.isEnabled ? "no pending album updates" : Self.albumsAreOff)
        }
        return finish(outcome, items: outcome.done, left: outcome.left, Self.exitCode(outcome, statistics))
    }

    // MARK: Output

    private func finish(_ outcome: ReconcileOutcome?, items: Int, left: Int, _ code: ExitCode) -> ExitCode {
        console.ending(code).runSummary([
            "items": JSONValue(items), "left": JSONValue(left),
            "deleted_albums": JSONValue(outcome?.deletedAlbums ?? 0),
            "stopped_by": JSONValue(outcome?.stoppedBy?.rawValue), "detail": .nonEmpty(outcome?.detail),
        ])
    }
}

extension ReconcileRun.Item: RunItem {
    /// A planned deletion.
    init(_ tombstone: AlbumTombstone) {
        self.init(
            work: .deletion,
            state: "planned",
            title: tombstone.tapeTitle,
            albumID: tombstone.albumID,
            libraryID: tombstone.libraryID,
            reason: tombstone.lastError.flatMap(AssociationReason.init),
            detail: tombstone.lastError
        )
    }

    fileprivate init(_ tape: TapeRecord, _ outcome: AlbumOutcome) {
        self.init(
            work: .tape,
            state: outcome.state.rawValue,
            tapeID: tape.id,
            title: tape.title,
            albumID: outcome.link?.albumID,
            libraryID: outcome.link?.libraryID,
            association: outcome.state == .associated || outcome.state == .partly ? .associated : .pending,
            reason: outcome.reason,
            isCreated: outcome.isCreated,
            pendingClips: outcome.pendingClips,
            detail: outcome.detail.isEmpty ? nil : outcome.detail,
            isDamaged: outcome.isAlbumDamaged
        )
    }

    fileprivate init(_ link: AlbumLink, _ presence: AlbumPresence, title: String?) {
        let state =
            switch presence {
            case .found: "found"
            case .missing: "missing"
            case .unknown, .damaged: "unknown"
            }
        var detail: String?
        if case .damaged(let words) = presence { detail = words }
        self.init(
            work: .verification,
            state: state,
            tapeID: link.tapeID,
            title: title ?? link.titleAtCreation,
            albumID: link.albumID,
            libraryID: link.libraryID,
            detail: detail,
            isDamaged: detail != nil
        )
    }

    var json: JSONObject {
        [
            "work": .string(work.rawValue), "state": .string(state), "tape_id": JSONValue(tapeID),
            "title": JSONValue(title), "album_id": JSONValue(albumID),
            "library_id": JSONValue(libraryID), "association": JSONValue(association?.rawValue),
            "reason": JSONValue(reason?.rawValue), "created": JSONValue(isCreated),
            "pending_clips": JSONValue(pendingClips), "detail": JSONValue(detail),
        ]
    }

    func text(_ style: Style) -> [String] {
        let name = ErrorCatalog.quoted(title ?? "")
        let reason = reason.map { " (\($0.words))" } ?? ""
        guard !isDamaged else {
            return ["the album of \(name) cannot be read: \(ErrorCatalog.clean(detail ?? ""))"]
        }
        return switch (work, state) {
        case (.tape, "planned"): ["\(name) would be updated\(reason)"]
        case (.tape, "associated"):
            ["\(style.green("updated")) \(name)" + (isCreated == true ? ", album created" : "")]
        case (.tape, "partly"): ["\(name): \(Formats.count(pendingClips ?? 0, "clip")) not in the album\(reason)"]
        case (.tape, _): ["\(name): no album\(reason)"]
        case (.deletion, _): ["the album of the deleted tape \(name) would be deleted\(reason)"]
        case (.verification, "found"): ["\(style.green("found")) the album of \(name)"]
        case (.verification, "missing"):
            ["\(style.yellow("missing")) the album of \(name); the next add creates it again"]
        case (.verification, _): ["the album of \(name) cannot be checked: reading albums is not permitted"]
        }
    }
}
