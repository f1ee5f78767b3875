internal import ArgumentParser
internal import MediaCore
internal import MediaStore
internal import Tapes

struct TapesVerify: ContextCommand {
    static let schema = "mediactl.tapes-verify/1"
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Check that albums match their tapes. Changes nothing.",
        discussion: """
            Reports clips that are not in the album yet or that the library refused, missing or changed originals, \
            missing albums, links that were deleted, renamed or replaced by hand, wrong numbers and outdated \
            playlists; without a tape, also files left by interrupted commands. For an album on a server, checks that \
            it has the asset of each clip. Exits with 1 if it finds problems, or with 4 if the only problem is that \
            reading albums is not permitted. To repair them, use mediactl tapes repair.

            Examples:
              mediactl tapes verify
              mediactl tapes verify Summer --json
            """
    )

    @Argument("Tapes to check (default: all).", value: "tape")
    var tapes: [String] = []

    @OptionGroup(title: "Library options") var connection: TapeConnectionOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(in console: Console) async throws -> ExitCode {
        let session = try await TapesSession.open(console, global, connection)
        let named = try tapes.map { try session.tape($0) }.uniqued { $0.id }
        let service = try await session.service(connection.key)
        let work = TapeFindings(session: session, service: service, tapes: named)
        try console.start(["dry_run": false])
        let checked = try work.checked()
        var totals = TapeFindings.Totals()
        var findings: [AlbumFinding] = []
        var isRepairable = false
        for tape in checked {
            let check = try await console.context.interruption.canceling { try await service.verify(tape.id) }
            for finding in check.findings {
                console.result(TapeFindings.Item(tape: check.tape, finding: finding, state: .found))
            }
            totals.count(check.tape, hasAlbum: check.hasAlbum, check.findings)
            findings += check.findings
            isRepairable = isRepairable || check.findings.contains { check.isRepairable($0) }
        }
        let leftovers = try await work.leftovers()
        for finding in leftovers { console.result(TapeFindings.Item(finding: finding, state: .found)) }
        findings += leftovers
        return finish(totals, findings, isRepairable: isRepairable || !leftovers.isEmpty, console)
    }

    private func finish(
        _ totals: TapeFindings.Totals,
        _ findings: [AlbumFinding],
        isRepairable: Bool,
        _ console: Console
    ) -> ExitCode {
        let albums = "\(Formats.count(totals.albums, "album")) checked"
        let repair = (["mediactl tapes repair"] + tapes.map { ShellWord.quoted($0) }).joined(separator: " ")
        console.note(
            findings.isEmpty
                ? "\(albums), no problems found"
                : "\(albums), \(Formats.count(findings.count, "problem")) found"
                    + (isRepairable ? "; to repair: \(repair)" : "")
        )
        totals.note(on: console)
        let isUnknown = !findings.isEmpty && findings.allSatisfy { $0.kind == .albumUnknown }
        return console.ending(findings.isEmpty ? .success : isUnknown ? .unauthorized : .failure).runSummary([
            "albums": JSONValue(totals.albums), "items": JSONValue(findings.count),
            "pending_clips": JSONValue(totals.pendingClips.count), "dry_run": false,
        ])
    }
}
