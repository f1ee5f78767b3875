internal import ArgumentParser
internal import MediaCore
internal import MediaStore
internal import Tapes

/// `mediactl tapes set TAPE …`
struct TapesSet: ContextCommand {
    static let schema = "mediactl.tapes-set/1"
    static let configuration = CommandConfiguration(
        commandName: "set",
        abstract: "Change how a tape, or clips of it, are shown. Originals are never changed.",
        discussion: """
            Without --clip the tape is changed, with it those clips. Times are seconds, or like 1.5s and 2m.

            Examples:
              mediactl tapes set Summer --orientation landscape --transition crossfade
              mediactl tapes set Summer --clip "#1" --trim-start 1.5 --rotate 90
              mediactl tapes set Summer --clip "#2" --image-duration 6s --scale tape
            """
    )

    @Argument(help: TapeHelp.tape)
    var tape: String

    @Option(name: .customLong("clip"), help: TapeHelp.clip)
    var clips: [String] = []

    @OptionGroup(title: "Of a tape") var ofTape: TapeLookOptions
    @OptionGroup(title: "Of clips") var ofClips: ClipLookOptions

    @Option(help: ArgumentHelp("fit or fill; tape for a clip that is to follow its tape.", valueName: "mode"))
    var scale: ScaleName?

    @Flag(help: "Only say what would be changed.")
    var dryRun = false

    @OptionGroup(visibility: .hidden) var connection: NoConnectionOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func validate() throws {
        guard scale != nil || ofTape.isGiven || ofClips.isGiven else { throw ValidationError("Say what to change.") }
        guard clips.isEmpty || !ofTape.isGiven else {
            throw ValidationError("--orientation and the transition are the tape's: leave --clip out.")
        }
        guard !clips.isEmpty || !ofClips.isGiven else { throw ValidationError("Name the clips with --clip CLIP.") }
        guard !clips.isEmpty || scale != .tape else { throw ValidationError("--scale tape is for clips.") }
    }

    func run(in console: Console) async throws -> ExitCode {
        let tapeChange = try ofTape.change(scale: scale)
        let clipChange = try ofClips.change(scale: scale)
        let session = try await TapesSession.open(console, global, connection)
        var tape = try session.tape(tape)
        let named = try clips.map { try session.editor.clip(named: $0, of: tape) }
        try console.requireOutput()
        var changed: [ClipRecord] = []
        if !dryRun {
            changed = try named.map { try session.editor.set(clipChange, on: $0) }
            if clips.isEmpty {
                tape = try session.editor.set(tapeChange, on: tape)
            }
        }
        for clip in dryRun ? named : changed {
            console.record(.item, JSONRenderer.clip(clip))
        }
        let what = clips.isEmpty ? ErrorCatalogue.quoted(tape.title) : Formats.count(named.count, "clip")
        console.text([dryRun ? "\(what) would be changed" : "\(console.outputStyle.green("changed")) \(what)"])
        console.summary(
            JSONRenderer.tape(tape) + ["items": JSONValue(named.count), "dry_run": .bool(dryRun), "exit_code": 0]
        )
        return .success
    }
}
