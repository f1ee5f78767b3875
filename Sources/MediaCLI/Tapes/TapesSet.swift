internal import ArgumentParser
internal import MediaCore
internal import MediaStore
internal import Tapes

struct TapesSet: ContextCommand {
    static let schema = "mediactl.tapes-set/1"
    static let configuration = CommandConfiguration(
        commandName: "set",
        abstract: "Change how a tape or its clips are displayed. Originals are never changed.",
        discussion: """
            Without --clip, the tape is changed; with --clip, the specified clips are changed. Times are in seconds, \
            or have a unit: 1.5s, 2m.

            Examples:
              mediactl tapes set Summer --orientation landscape --transition crossfade
              mediactl tapes set Summer --clip 1 --trim-start 1.5 --rotate 90
              mediactl tapes set Summer --clip 2 --image-duration 6s --scale tape
            """
    )

    @Argument(help: TapeHelp.tape)
    var tape: String

    @Option(name: .customLong("clip"), help: TapeHelp.clip)
    var clips: [String] = []

    @OptionGroup(title: "Tape options") var ofTape: TapeLookOptions
    @OptionGroup(title: "Clip options") var ofClips: ClipLookOptions

    @Option("Scaling to the frame; tape (clips only) uses the tape's mode.", value: "mode")
    var scale: ScaleName?

    @Flag(name: .dryRun, help: "Show what would be changed, without changing it.")
    var dryRun = false

    @OptionGroup(visibility: .hidden) var connection: ProfileOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func validate() throws {
        try require(scale != nil || ofTape.isGiven || ofClips.isGiven, "Specify what to change.")
        try require(
            clips.isEmpty || !ofTape.isGiven,
            "--orientation and the transition options cannot be combined with --clip."
        )
        try require(!clips.isEmpty || !ofClips.isGiven, "Specify the clips: --clip CLIP.")
        try require(!clips.isEmpty || scale != .tape, "--scale tape requires --clip.")
    }

    func run(in console: Console) async throws -> ExitCode {
        let tapeChange = try ofTape.change(scale: scale)
        let clipChange = try ofClips.change(scale: scale)
        let session = try await TapesSession.open(console, global, connection)
        var tape = try session.tape(tape)
        let named = try clips.map { try session.clip($0, of: tape) }.uniqued { $0.id }
        try console.requireOutput()
        var changed: [ClipRecord] = []
        let before = tape
        if !dryRun {
            if clips.isEmpty {
                tape = try session.editor.set(tapeChange, on: tape)
            } else {
                changed = try session.editor.set(clipChange, on: named)
            }
        }
        var outcome: AlbumOutcome? = .skipped
        if !changed.isEmpty { outcome = try await session.rearrange(tape) }
        console.records(.item, (dryRun ? named : changed).map { JSONRenderer.clip($0) })
        console.text(lines(tape, isTapeChanged: tape != before, named, changed, console))
        console.warn(AlbumWarning(saved: "the change is", count: 1, outcome, isOrder: true))
        return console.finish(JSONRenderer.tape(tape) + ["items": JSONValue(named.count), "dry_run": .bool(dryRun)])
    }

    /// `changed` contains the clips in `named` after the change.
    private func lines(
        _ tape: TapeRecord,
        isTapeChanged: Bool,
        _ named: [ClipRecord],
        _ changed: [ClipRecord],
        _ console: Console
    ) -> [String] {
        let title = ErrorCatalog.quoted(tape.title)
        guard !dryRun else {
            return ["\(clips.isEmpty ? title : Formats.count(named.count, "clip")) would be changed"]
        }
        let word = console.outputStyle.green("changed")
        guard !clips.isEmpty else {
            return [isTapeChanged ? "\(word) \(title)" : "\(title) already has these settings"]
        }
        let same = zip(named, changed).count { $0 == $1 }
        let verb = same == 1 ? "has" : "have"
        return (same < named.count ? ["\(word) \(Formats.count(named.count - same, "clip"))"] : [])
            + (same > 0 ? ["\(Formats.count(same, "clip")) already \(verb) these settings"] : [])
    }
}

/// How clips with a different aspect ratio fill the frame, as written on the command line.
enum ScaleName: String, ExpressibleByArgument, CaseIterable {
    case fit, fill
    /// Uses the mode of the tape.
    case tape

    var mode: TapeRecord.ScaleMode? { TapeRecord.ScaleMode(rawValue: rawValue) }
}

struct TapeLookOptions: ParsableArguments {
    @Option("Orientation (portrait: 9:16, landscape: 16:9).", value: "shape")
    var orientation: ArgumentChoice<TapeRecord.Orientation>?

    @Option("Transition between clips.", value: "kind")
    var transition: ArgumentChoice<TapeRecord.Transition>?

    @Option("Length of the transition, 100 to 2000.", value: "ms", parsing: .unconditional)
    var transitionMs: Int?

    var isGiven: Bool { orientation != nil || transition != nil || transitionMs != nil }

    func change(scale: ScaleName?) throws(UserFacingError) -> TapeChange {
        if let transitionMs, !(100...2000).contains(transitionMs) {
            throw .usage("--transition-ms: \(transitionMs) is not a number from 100 to 2000")
        }
        var change = TapeChange()
        change.orientation = orientation?.value
        change.scaleMode = scale?.mode
        change.transition = transition?.value
        change.transitionMilliseconds = transitionMs
        return change
    }
}

struct ClipLookOptions: ParsableArguments {
    @Option("Trim this much from the beginning of a video.", value: "time")
    var trimStart: String?

    @Option("Trim this much from the end of a video.", value: "time")
    var trimEnd: String?

    @Option("Rotate clockwise: 0, 90, 180 or 270.", value: "degrees", parsing: .unconditional)
    var rotate: Int?

    @Option("Volume, 0 to 1.", value: "volume", parsing: .unconditional)
    var volume: Double?

    @Option("Display time of an image, in seconds or with a unit (default: 4s).", value: "time")
    var imageDuration: String?

    var isGiven: Bool {
        trimStart != nil || trimEnd != nil || rotate != nil || volume != nil || imageDuration != nil
    }

    func change(scale: ScaleName?) throws(UserFacingError) -> ClipChange {
        var change = ClipChange()
        change.trimStartMilliseconds = try milliseconds(trimStart, "--trim-start")
        change.trimEndMilliseconds = try milliseconds(trimEnd, "--trim-end")
        change.imageMilliseconds = try milliseconds(imageDuration, "--image-duration")
        if let rotate {
            guard [0, 90, 180, 270].contains(rotate) else {
                throw .usage("--rotate: \(rotate) is not 0, 90, 180 or 270")
            }
            change.rotateQuarterTurns = rotate / 90
        }
        if let volume {
            guard (0...1).contains(volume) else { throw .usage("--volume: \(volume) is not a number from 0 to 1") }
            change.volume = .some(volume == 1 ? nil : volume)
        }
        if let scale {
            change.scaleOverride = .some(scale.mode)
        }
        return change
    }

    private func milliseconds(_ text: String?, _ flag: String) throws(UserFacingError) -> Int64? {
        try FlagValue.read(text, flag, SettingValue.timeoutOrZero).map { Formats.milliseconds($0) }
    }
}
