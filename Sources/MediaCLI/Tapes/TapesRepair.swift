internal import ArgumentParser
internal import MediaCore
internal import MediaFiles
internal import MediaStore
internal import MediaSystem
internal import Tapes

struct TapesRepair: ContextCommand {
    static let schema = "mediactl.tapes-repair/1"
    static let configuration = CommandConfiguration(
        commandName: "repair",
        abstract: "Repair the problems that tapes verify reports.",
        discussion: """
            Adds clips that are not in the album, or that the library refused, restores deleted and renamed links, \
            their numbers and playlists, removes links that have neither clip nor original and recreates missing \
            albums; without a tape, also removes files left by interrupted commands. Originals and other files in \
            albums are never changed. Each repair is confirmed by a second check. Missing originals are found by \
            mediactl tapes relink; with --changed, it also finds the former content of changed originals. After an \
            intentional edit, remove the clip and add the file again. mediactl tapes reconcile --apply creates albums \
            for tapes that never had one.

            Examples:
              mediactl tapes repair --dry-run
              mediactl tapes repair Summer
            """
    )

    @Argument("Tapes to repair (default: all).", value: "tape")
    var tapes: [String] = []

    @Flag(name: .dryRun, help: "Show what would be repaired, without changing anything.")
    var dryRun = false

    @OptionGroup(title: "Library options") var connection: TapeUploadOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(in console: Console) async throws -> ExitCode {
        let session = try await TapesSession.open(console, global, connection)
        let named = try tapes.map { try session.tape($0) }.uniqued { $0.id }
        let display = RunDisplay<TapeReading>(console)
        let service = try await session.service(connection.key, progress: display)
        let work = TapeFindings(session: session, service: service, tapes: named)
        try console.start(["dry_run": .bool(dryRun)])
        let checked = try work.checked()
        var totals = TapeFindings.Totals()
        var items: [TapeFindings.Item] = []
        for tape in checked {
            let found = try await repaired(tape, service, display, &totals, console)
            for item in found { console.result(item) }
            items += found
        }
        let leftovers = try await removed(work, console)
        for item in leftovers { console.result(item) }
        return finish(totals, items + leftovers, console)
    }

    private func repaired(
        _ tape: TapeRecord,
        _ service: AlbumService,
        _ display: RunDisplay<TapeReading>,
        _ totals: inout TapeFindings.Totals,
        _ console: Console
    ) async throws -> [TapeFindings.Item] {
        guard !dryRun else {
            let check = try await console.context.interruption.canceling { try await service.verify(tape.id) }
            totals.count(check.tape, hasAlbum: check.hasAlbum, check.findings)
            return check.findings.map {
                .init(tape: check.tape, finding: $0, state: check.isRepairable($0) ? .planned : .failed)
            }
        }
        let repair = try await display.during {
            try await console.context.interruption.canceling { try await service.repair(tape.id) }
        }
        totals.count(repair.tape, hasAlbum: repair.hasAlbum, repair.remaining)
        return repair.repaired.map { .init(tape: repair.tape, finding: $0, state: .repaired) }
            + repair.remaining.map {
                .init(tape: repair.tape, finding: $0, state: .failed, reason: repair.reason, detail: repair.detail)
            }
    }

    /// Removes files outside albums that killed processes left behind.
    private func removed(_ work: TapeFindings, _ console: Console) async throws -> [TapeFindings.Item] {
        let found = try await work.leftovers()
        guard !dryRun, !found.isEmpty else { return found.map { .init(finding: $0, state: .planned) } }
        let (service, renderings) = (work.service, work.renderings)
        let folders = found.filter { $0.kind == .emptyFolder }
        let files = found.filter { $0.kind == .renderLeftover }
        var left = try await console.context.interruption.canceling { try await service.removeLeftovers(folders) }
        left += try await BlockingWork.run { () throws(TapesError) in try renderings.remove(files) }
        return found.map { .init(finding: $0, state: left.contains($0) ? .failed : .repaired) }
    }

    private func finish(
        _ totals: TapeFindings.Totals,
        _ items: [TapeFindings.Item],
        _ console: Console
    ) -> ExitCode {
        let planned = items.count { $0.state == .planned }
        let repaired = items.count { $0.state == .repaired }
        let failed = items.count { $0.state == .failed }
        let albums = "\(Formats.count(totals.albums, "album")) checked"
        if items.isEmpty {
            console.note("\(albums), no problems found")
        } else if dryRun {
            let problems = Formats.count(items.count, "problem")
            console.note(
                failed == 0
                    ? "\(albums), \(problems) found; nothing was changed"
                    : "\(albums), \(problems) found, \(failed) of them cannot be repaired; nothing was changed"
            )
        } else {
            console.note("\(albums), \(repaired) of \(Formats.count(items.count, "problem")) repaired")
        }
        totals.note(on: console)
        return console.ending(failed == 0 ? .success : repaired + planned == 0 ? .failure : .partly).runSummary([
            "albums": JSONValue(totals.albums), "items": JSONValue(items.count), "repaired": JSONValue(repaired),
            "planned": JSONValue(planned), "failed": JSONValue(failed),
            "pending_clips": JSONValue(totals.pendingClips.count), "dry_run": .bool(dryRun),
        ])
    }
}
