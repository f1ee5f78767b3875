internal import ArgumentParser
internal import MediaStore
internal import Tapes

/// `mediactl tapes export TAPE`
struct TapesExport: ContextCommand {
    static let schema = "mediactl.tapes-export/1"
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Write a tape for other programs: a playlist, a timeline, JSON, or one video.",
        discussion: """
            m3u8 is a playlist for any player, otio an OpenTimelineIO timeline for editors, json has everything. \
            --render makes one video with ffmpeg, which must be installed, and puts it into the tape's own album as well. \
            A tape that has no album yet gets it now.

            Examples:
              mediactl tapes export Summer -o summer.m3u8
              mediactl tapes export Summer --format otio -o summer.otio
              mediactl tapes export Summer --render -o summer.mp4
              mediactl tapes export Summer | mpv --playlist=-
            """
    )

    enum Format: String, ExpressibleByArgument, CaseIterable {
        case m3u8, json, otio
    }

    @Argument(help: TapeHelp.tape)
    var tape: String

    @Option(
        help: ArgumentHelp("m3u8 (by default), json or otio; else the ending of the file tells.", valueName: "format")
    )
    var format: Format?

    @Option(
        name: .shortAndLong,
        help: ArgumentHelp("Write to this file; standard output by default.", valueName: "file"),
        completion: .file()
    )
    var output: String?

    @Flag(help: "Make one video, with cuts, turns and transitions; its ending chooses mp4, mov or mkv.")
    var render = false

    @Option(parsing: .unconditional, help: ArgumentHelp("Pixels of its longer side, 1920 by default.", valueName: "n"))
    var longSide: Int?

    @Option(parsing: .unconditional, help: ArgumentHelp("Its frames a second, 30 by default.", valueName: "n"))
    var frameRate: Int?

    @Flag(help: "Replace a file that is there.")
    var force = false

    @Flag(help: "Leave the album alone.")
    var noAlbum = false

    @Flag(help: "Only say what would be written.")
    var dryRun = false

    @OptionGroup(title: "Library options") var connection: TapeConnectionOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func validate() throws {
        guard output != "" else { throw ValidationError("--output: an empty path.") }
        guard !render || format == nil else { throw ValidationError("--render makes a video: leave --format out.") }
        guard !render || output != nil else { throw ValidationError("--render needs a file: --output FILE.") }
        guard render || format != nil || namedFormat != nil else {
            throw ValidationError(
                Self.videoEndings.contains(ending ?? "")
                    ? "--output: a video needs --render; anything else with this name needs --format."
                    : "--output: name the file .m3u8, .m3u, .json or .otio, or say which it is with --format."
            )
        }
        guard render || (longSide == nil && frameRate == nil) else {
            throw ValidationError("--long-side and --frame-rate are for --render.")
        }
        guard longSide.map({ (64...7680).contains($0) && $0 % 2 == 0 }) ?? true else {
            throw ValidationError("--long-side takes an even number from 64 to 7680.")
        }
        guard frameRate.map({ (1...240).contains($0) }) ?? true else {
            throw ValidationError("--frame-rate takes a number from 1 to 240.")
        }
        guard output != nil || !global.json else {
            throw ValidationError(
                "An export on standard output leaves no room for the records of --json: name a file with --output FILE."
            )
        }
    }

    func run(in console: Console) async throws -> ExitCode {
        let session = try await TapesSession.open(console, global, connection)
        let tape = try session.tape(tape)
        let display = RunDisplay<TapeReading>(console, writesRecords: global.progressEvents)
        let isAlbumLeft = noAlbum || dryRun || (!render && tape.association != .pending)
        try console.requireOutput()
        let run = TapeExportRun(
            session: session,
            service: isAlbumLeft ? nil : try await session.service(connection.key, progress: display),
            display: display,
            form: form,
            target: output.map { RawArguments.bytes(of: $0) },
            isReplacing: force,
            isDryRun: dryRun
        )
        return try await run.run(tape)
    }

    private var form: TapeExportRun.Form {
        guard render else {
            return .text(format.flatMap { TapeExport(rawValue: $0.rawValue) } ?? namedFormat ?? .m3u8)
        }
        return .video(
            TapeRendering.Options(longSide: longSide ?? 1920, frameRate: frameRate ?? 30, isReplacing: force)
        )
    }

    // MARK: The ending of the file

    private static let videoEndings = ["mp4", "mov", "mkv"]

    /// In small letters; nil where the name has none.
    private var ending: String? {
        guard let name = output?.split(separator: "/").last, let dot = name.lastIndex(of: "."), dot != name.startIndex
        else { return nil }
        return name[name.index(after: dot)...].lowercased()
    }

    /// What the ending says; a playlist without one. nil when it says nothing that is known.
    private var namedFormat: TapeExport? {
        guard let ending, ending != "m3u" else { return .m3u8 }
        return TapeExport(rawValue: ending)
    }
}
