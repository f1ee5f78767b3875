internal import ArgumentParser
internal import MediaCore
internal import MediaStore
internal import Tapes

struct TapesRemove: ContextCommand {
    static let schema = "mediactl.tapes-remove/1"
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Remove clips from a tape. Originals and their links in the album are kept.",
        discussion: """
            Kept links are numbered after the last clip, and are not in the playlist. With \
            features.deleteAssociatedAlbum, the links are removed too, unless another clip of the tape has the same \
            original.

            Examples:
              mediactl tapes remove Summer 3
              mediactl tapes remove Summer sunset.jpg 81d2c0aa --yes
            """
    )

    @Argument(help: TapeHelp.tape)
    var tape: String

    @Argument(help: TapeHelp.clip)
    var clips: [String]

    @Flag(name: .shortAndLong, help: "Remove without confirmation.")
    var yes = false

    @Flag(name: .dryRun, help: "Show what would be removed, without removing it.")
    var dryRun = false

    @OptionGroup(title: "Library options") var connection: TapeConnectionOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(in console: Console) async throws -> ExitCode {
        let session = try await TapesSession.open(console, global, connection)
        let tape = try session.tape(tape)
        let named = try clips.map { try session.clip($0, of: tape) }.uniqued { $0.id }
        let confirmation = Confirmation(prompter: session.settings.prompter, isGiven: yes)
        let question = named.count == 1 ? "Remove it?" : "Remove them?"
        if !dryRun { try confirmation.requirePrompt(for: question) }
        let callsLibrary = session.settings.settings.deleteAssociatedAlbum.value && !dryRun
        let service = callsLibrary ? try await session.service(connection.key) : try session.localService()
        try console.requireOutput()
        let isConfirmed = dryRun ? true : try await confirmation.prompt(lines(tape, named), question, on: console)
        return try await console.context.interruption.handling({ _ in }) {
            guard !dryRun else { return finish(tape, named, .planned, nil, console) }
            guard isConfirmed, console.mayContinue else { return finish(tape, named, .declined, nil, console) }
            let (removed, outcome) = try await remove(named, of: tape, service, session)
            return finish(tape, removed, .removed, outcome, console)
        }
    }

    /// The outcome is nil if a signal stopped the update of the album. A signal before the removal throws `.cancelled`.
    private func remove(
        _ clips: [ClipRecord],
        of tape: TapeRecord,
        _ service: AlbumService,
        _ session: TapesSession
    ) async throws -> (removed: [ClipRecord], album: AlbumOutcome?) {
        let (removed, outcome) = try await session.console.context.interruption.canceling {
            try await service.removeClips(clips.map(\.id), of: tape.id)
        }
        guard !service.policy.deletesAlbums, !removed.isEmpty else { return (removed, outcome) }
        var order = try await session.rearrange(tape)
        // Nothing was removed from the album.
        if order?.state == .associated { order?.state = .skipped }
        return (removed, order)
    }

    private enum State: String {
        case removed, planned, declined
    }

    private func lines(_ tape: TapeRecord, _ clips: [ClipRecord]) -> [String] {
        ["This removes \(Formats.count(clips.count, "clip")) from the tape \(ErrorCatalog.quoted(tape.title)):"]
            + clips.prefix(20).map { "  \($0.number)  \(TextRenderer.name(of: $0))" }
            + (clips.count > 20 ? ["  and \(clips.count - 20) more"] : []) + ["Originals are not deleted."]
    }

    private func finish(
        _ tape: TapeRecord,
        _ clips: [ClipRecord],
        _ state: State,
        _ outcome: AlbumOutcome?,
        _ console: Console
    ) -> ExitCode {
        for clip in clips {
            let name = TextRenderer.name(of: clip)
            let line =
                switch state {
                case .removed: "\(console.outputStyle.green("removed")) \(name)"
                case .planned: "\(name): would be removed"
                case .declined: "\(name): not removed"
                }
            console.result(JSONRenderer.clip(clip) + ["state": .string(state.rawValue)], [line])
        }
        if state == .removed, outcome?.isComplete != true {
            console.warn(AlbumWarning(saved: "the change is", count: 1, outcome, isOrder: true))
        }
        let members: JSONObject = [
            "tape_id": .string(tape.id), "title": .string(tape.title), "items": JSONValue(clips.count),
            "removed": JSONValue(state == .removed ? clips.count : 0),
        ]
        return console.ending(state == .declined ? .failure : .success)
            .runSummary(members + JSONRenderer.album(outcome) + ["dry_run": .bool(dryRun)])
    }
}
