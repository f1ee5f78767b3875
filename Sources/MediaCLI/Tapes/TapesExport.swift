internal import ArgumentParser
internal import Foundation
internal import MediaCore
internal import MediaFiles
internal import MediaStore
internal import MediaSystem
internal import Tapes

struct TapesExport: ContextCommand {
    static let schema = "mediactl.tapes-export/1"
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Export a tape as a playlist, a timeline, JSON, or one video.",
        discussion: """
            m3u8 is a playlist for any player, otio is an OpenTimelineIO timeline for editors, and json contains \
            everything. A timeline has the frame rates and the audio of the videos if ffprobe is installed; otherwise, \
            its times are in milliseconds. --render requires ffmpeg, and checks first that it can decode every clip. \
            An album is created for a tape without one; the video is added to it only with --add-to-album.

            Examples:
              mediactl tapes export Summer -o summer.m3u8
              mediactl tapes export Summer --format otio -o summer.otio
              mediactl tapes export Summer --render -o summer.mp4
              mediactl tapes export Summer | mpv --playlist=-
            """
    )

    @Argument(help: TapeHelp.tape)
    var tape: String

    @Option("Format (default: by the file extension, otherwise m3u8).", value: "format")
    var format: ArgumentChoice<TapeExport>?

    @Option("Write to this file (default, and -: standard output).", value: .file, name: .shortAndLong)
    var output: String?

    /// nil for standard output.
    fileprivate var file: String? { output == "-" ? nil : output }

    @Flag(help: "Render one video with trims, rotations and transitions; the extension selects mp4, mov or mkv.")
    var render = false

    @Flag(help: "Add the rendered video to the tape's album.")
    var addToAlbum = false

    @Option("Length of the longer side in pixels (default: 1920).", value: "n", parsing: .unconditional)
    var longSide: Int?

    @Option("Frames per second (default: 30).", value: "n", parsing: .unconditional)
    var frameRate: Int?

    @Flag(help: "Replace an existing file.")
    var force = false

    @Flag(help: "Do not change the album.")
    var noAlbum = false

    @Flag(name: .dryRun, help: "Show what would be written, without writing it.")
    var dryRun = false

    @OptionGroup(title: "Library options") var connection: TapeUploadOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func validate() throws {
        try require(output != "", "--output: the path is empty.")
        try require(!render || format == nil, "--render cannot be combined with --format.")
        try require(!render || file != nil, "--render requires --output FILE.")
        try require(
            !render || Self.videoExtensions.contains(pathExtension ?? ""),
            "--render: the extension of --output must be .mp4, .mov or .mkv."
        )
        try require(
            render || format != nil || namedFormat != nil,
            Self.videoExtensions.contains(pathExtension ?? "")
                ? "--output: a video requires --render; any other format requires --format."
                : "--output: unknown extension; use .m3u8, .m3u, .json or .otio, or specify --format."
        )
        try require(
            render || (longSide == nil && frameRate == nil && !addToAlbum),
            "--long-side, --frame-rate and --add-to-album require --render."
        )
        try require(!addToAlbum || !noAlbum, "--add-to-album and --no-album cannot be combined.")
        try connection.requireUploads(!noAlbum, otherwise: TapeUploadOptions.ruleOfAlbum)
        try require(!force || file != nil, "--force requires --output FILE.")
        try require(
            longSide.map({ (64...7680).contains($0) && $0 % 2 == 0 }) ?? true,
            "--long-side must be an even number from 64 to 7680."
        )
        try require(frameRate.map({ (1...240).contains($0) }) ?? true, "--frame-rate must be a number from 1 to 240.")
        try require(
            file != nil || !global.json,
            "--json requires --output FILE: the export and the records cannot both be written to standard output."
        )
    }

    func run(in console: Console) async throws -> ExitCode {
        let session = try await TapesSession.open(console, global, connection)
        let tape = try session.tape(tape)
        let display = RunDisplay<TapeReading>(console)
        let isAlbumLeft = noAlbum || dryRun || (!addToAlbum && tape.association != .pending)
        try console.requireOutput()
        let run = TapeExportRun(
            session: session,
            service: isAlbumLeft ? nil : try await session.service(connection.key, progress: display),
            display: display,
            command: self
        )
        return try await run.run(tape)
    }

    /// The format if --render is not given.
    fileprivate var textFormat: TapeExport { format?.value ?? namedFormat ?? .m3u8 }

    // MARK: File extension

    private static let videoExtensions = ["mp4", "mov", "mkv"]

    /// In lowercase; nil if the name has no extension.
    private var pathExtension: String? {
        guard let name = file?.split(separator: "/").last, let dot = name.lastIndex(of: "."), dot != name.startIndex
        else { return nil }
        return name[name.index(after: dot)...].lowercased()
    }

    /// The format for the file extension: a playlist if there is no extension, nil if it is unknown.
    private var namedFormat: TapeExport? {
        guard let pathExtension, pathExtension != "m3u" else { return .m3u8 }
        return TapeExport(rawValue: pathExtension)
    }
}

/// `tapes export`: exports a tape for other programs or as one video.
struct TapeExportRun: Sendable {
    let session: TapesSession
    /// nil skips the album.
    let service: AlbumService?
    let display: RunDisplay<TapeReading>
    let command: TapesExport

    private var console: Console { session.console }
    /// nil for standard output.
    private var target: [UInt8]? { command.file.map { RawArguments.bytes(of: $0) } }
    private var isDryRun: Bool { command.dryRun }

    func run(_ tape: TapeRecord) async throws -> ExitCode {
        let clips = try session.store.clips(of: tape.id)
        let all = target == nil ? [] : try session.store.originalPaths()
        let silent = try await silentDirectories(of: clips, beside: all)
        // An original on a file system that does not respond cannot be the target, which has responded.
        let originals = all.filter { !silent.contains($0) }
        let isReplacing = command.force
        if let target {
            try await BlockingWork.run { () throws(TapesError) in
                try ExportTarget.check(target, replacing: isReplacing, originals: originals)
            }
        }
        let current = try await session.editor.current(clips, except: silent)
        let outcome: AlbumOutcome?
        if command.render {
            try requireResponse(clips, silent)
            outcome = try await render(tape, clips, protecting: originals)
        } else {
            let format = command.textFormat
            outcome = try await write(format, tape, format == .otio ? current : clips, except: silent)
        }
        warnOfReplaced(clips, current)
        if !isDryRun, service != nil, outcome?.isComplete != true {
            console.warn(AlbumWarning(saved: target.map { ErrorCatalog.quoted($0) }, count: nil, outcome))
        }
        return finish(tape, clips, outcome)
    }

    // MARK: File systems

    /// The directories whose file systems do not respond, with one time limit for the whole export. If the target
    /// exists, it may be any original in the store, so the file systems of all originals are checked. A signal exits
    /// immediately.
    private func silentDirectories(
        of clips: [ClipRecord],
        beside all: [[UInt8]]
    ) async throws -> SilentDirectories {
        let target = target
        let isExisting = await BlockingWork.run { target.map { FileIdentity(ofRegularFile: $0) != nil } ?? false }
        let originals = clips.flatMap(\.originals)
        let console = console
        let silent = try await session.editor.silentDirectories(of: originals + (isExisting ? all : [])) { waiting in
            console.note("waiting up to 30 s for the file system of \(Self.words(for: waiting))")
        }
        let count = clips.count { $0.source.map(silent.contains) ?? false }
        if count > 0 {
            let names = Self.words(for: silent.paths.sorted { $0.lexicographicallyPrecedes($1) })
            console.warning(
                "the file system of \(names) does not respond; \(Formats.count(count, "original")) not checked"
            )
        }
        return silent
    }

    private static func words(for directories: [[UInt8]]) -> String {
        let first = directories.first.map { ErrorCatalog.quoted($0) } ?? ""
        let others = directories.count - 1
        return first + (others > 0 ? " and \(others) more" : "")
    }

    /// - Throws: `TapesError` `.fileUnreadable` for a clip whose file system does not respond: a video needs its content.
    private func requireResponse(_ clips: [ClipRecord], _ silent: SilentDirectories) throws(TapesError) {
        for path in clips.flatMap(\.originals) where silent.contains(path) {
            throw TapesError(.fileUnreadable, detail: "its file system does not respond", path: path)
        }
    }

    // MARK: Playlists and timelines

    /// Writes a playlist or a timeline. A tape without an album gets one (rule R13); an existing album is not changed.
    private func write(
        _ format: TapeExport,
        _ tape: TapeRecord,
        _ clips: [ClipRecord],
        except silent: SilentDirectories
    ) async throws -> AlbumOutcome? {
        let isTimeline = format == .otio && !isDryRun
        let responding = clips.filter { !$0.originals.contains(where: silent.contains) }
        let media = try await self.media(of: isTimeline ? responding : [])
        let bytes = try format.bytes(of: tape, clips: clips, media: media)
        try await warnOfMissing(clips, except: silent)
        guard let target else {
            if isDryRun {
                console.text(["\(ErrorCatalog.quoted(tape.title)) would be written to standard output"])
            } else {
                console.context.output.write(bytes)
            }
            return try await associate(tape)
        }
        if !isDryRun {
            let isReplacing = command.force
            try await BlockingWork.run { () throws(TapesError) in
                try Self.write(bytes, to: target, replacing: isReplacing)
            }
        }
        report(target, length: nil)
        return try await associate(tape)
    }

    /// Writes a file for other programs, with default permissions: the file is either complete or not created.
    ///
    /// - Throws: `.targetExists`, `.targetUnusable` (also if only the sync failed), `.diskFull`; no partial file is left
    ///   behind.
    private static func write(_ bytes: [UInt8], to path: [UInt8], replacing isReplacing: Bool) throws(TapesError) {
        do throws(FileWriteError) {
            let (file, name) = try WholeFile.at(path, audience: .everyone)
            try file.write(bytes, as: name, replacing: isReplacing)
        } catch {
            let code: OutcomeCode =
                switch error.kind {
                case .exists: .targetExists
                case .full: .diskFull
                default: .targetUnusable
                }
            throw TapesError(code, detail: code == .targetUnusable ? error.detail : "", path: path, underlying: error)
        }
    }

    private func media(of clips: [ClipRecord]) async throws -> [String: ClipMedia] {
        let searchPath = console.context.environment["PATH"] ?? ""
        let reason: String
        do {
            return try await console.context.interruption.canceling { [directory = session.directory] in
                try await ClipMedia.read(clips, searchPath: searchPath, directory: directory)
            }
        } catch let error as TapesError where error.code == .programMissing {
            reason = "ffprobe is not installed"
        } catch let error as TapesError where error.code == .targetUnusable || error.code == .diskFull {
            reason = "temporary files cannot be created (\(ErrorCatalog.clean(error.detail)))"
        }
        console.note("\(reason): the timeline has no frame rates; its times are in milliseconds")
        return [:]
    }

    /// Warns about missing originals. The output still contains them, since they may be available again by the time the
    /// output is used.
    private func warnOfMissing(_ clips: [ClipRecord], except silent: SilentDirectories) async throws(TapesError) {
        let missing = try await OriginalReading.missing(among: clips.compactMap(\.source), except: silent)
        let count = clips.count { clip in clip.source.map(missing.contains) ?? false }
        guard count > 0 else { return }
        console.warning(
            "\(Formats.count(count, "original")) of the tape cannot be found",
            hint: ErrorCatalog.relinkingHint
        )
    }

    /// Warns about replaced originals: trims and transitions were chosen for the former content, and the length of the
    /// tape is based on that content.
    private func warnOfReplaced(_ clips: [ClipRecord], _ current: [ClipRecord]) {
        for (clip, now) in zip(clips, current) {
            guard let length = clip.durationMilliseconds, let found = now.durationMilliseconds, found != length
            else { continue }
            console.warning(
                "clip \(clip.number) (\(TextRenderer.name(of: clip))) has changed in length since it was added",
                hint: ErrorCatalog.replacedHint
            )
        }
    }

    private func associate(_ tape: TapeRecord) async throws -> AlbumOutcome? {
        guard let service, !isDryRun, tape.association == .pending else { return .skipped }
        return try await display.albumWork { try await service.associate(tape.id) }
    }

    // MARK: Videos

    private func render(
        _ tape: TapeRecord,
        _ clips: [ClipRecord],
        protecting originals: [[UInt8]]
    ) async throws -> AlbumOutcome? {
        guard let target else { throw UserFacingError.usage("--render requires --output FILE") }
        let length = TapeRendering.milliseconds(of: tape, clips: clips)
        let rendering = TapeRendering(
            searchPath: console.context.environment["PATH"] ?? "",
            directory: session.directory
        )
        guard !isDryRun else {
            try await console.context.interruption.canceling { try await rendering.check(tape, clips: clips) }
            report(target, length: length)
            return nil
        }
        let options = TapeRendering.Options(
            longSide: command.longSide ?? 1920,
            frameRate: command.frameRate ?? 30,
            isReplacing: command.force
        )
        let display = display
        try await display.during {
            try await console.context.interruption.canceling {
                try await rendering.render(
                    tape,
                    clips: clips,
                    to: target,
                    options: options,
                    protecting: originals
                ) { done, total in
                    display.update(TapeReading(.rendering, path: target, done: done, whole: total))
                }
            }
        }
        report(target, length: length)
        guard command.addToAlbum, let service else { return try await associate(tape) }
        let path = target.prefixed(with: console.context.workingDirectory)
        return try await display.albumWork { try await service.file(path, into: tape.id) }
    }

    // MARK: Output

    private func report(_ target: [UInt8], length: Int64?) {
        let length = length.map { " (\(Formats.clock(.milliseconds($0))))" } ?? ""
        console.text([
            isDryRun
                ? "\(TerminalText.escaped(target)): would be written\(length)"
                : "\(console.outputStyle.green("exported")) \(TerminalText.escaped(target))\(length)"
        ])
    }

    private func finish(_ tape: TapeRecord, _ clips: [ClipRecord], _ outcome: AlbumOutcome?) -> ExitCode {
        let ending = console.ending(.success)
        if let outcome, target != nil {
            console.text(TextRenderer.album(outcome, style: console.outputStyle))
        }
        guard target != nil else { return ending.code }
        let members: JSONObject = [
            "tape_id": .string(tape.id), "title": .string(tape.title),
            "format": .string(command.render ? "video" : command.textFormat.rawValue),
            "output": .path(target), "clips": JSONValue(clips.count),
            "duration_ms": JSONValue(TapeRendering.milliseconds(of: tape, clips: clips)),
        ]
        return ending.summary(members + JSONRenderer.album(outcome) + ["dry_run": .bool(isDryRun)])
    }
}
