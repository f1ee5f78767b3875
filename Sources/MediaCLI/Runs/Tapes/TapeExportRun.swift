internal import Foundation
internal import MediaCore
internal import MediaFiles
internal import MediaStore
internal import Tapes

/// `tapes export`: a tape for other programs, or as one video.
struct TapeExportRun: Sendable {
    enum Form: Sendable {
        case text(TapeExport)
        case video(TapeRendering.Options)

        /// For JSON.
        var name: String {
            switch self {
            case .text(let format): format.rawValue
            case .video: "video"
            }
        }
    }

    let session: TapesSession
    /// nil leaves the album alone.
    let service: AlbumService?
    let display: RunDisplay<TapeReading>
    let form: Form
    /// Where the file goes; nil is standard output.
    let target: [UInt8]?
    let isReplacing: Bool
    let isDryRun: Bool

    private var console: Console { session.console }

    /// Exports, and writes text, warning and summary.
    ///
    /// - Throws: `TapesError`, `Diagnosis`.
    func run(_ tape: TapeRecord) async throws -> ExitCode {
        let clips = try session.store.clips(of: tape.id)
        let originals = target == nil ? [] : try session.store.originalPaths()
        let isReplacing = isReplacing
        if let target {
            try await BlockingWork.run { () throws(TapesError) in
                try ExportTarget.check(target, replacing: isReplacing, originals: originals)
            }
        }
        let outcome: AlbumOutcome?
        switch form {
        case .text(let format): outcome = try await write(format, tape, clips)
        case .video(let options): outcome = try await render(options, tape, clips, protecting: originals)
        }
        if !isDryRun, service != nil, outcome?.isComplete != true {
            console.warn(AlbumWarning(saved: target.map { ErrorCatalogue.quoted($0) } ?? "the tape", count: 1, outcome))
        }
        return finish(tape, clips, outcome)
    }

    // MARK: Playlists and timelines

    /// A tape without an album gets it now (rule R13); one that has it is left alone.
    private func write(_ format: TapeExport, _ tape: TapeRecord, _ clips: [ClipRecord]) async throws -> AlbumOutcome? {
        let bytes = try format.bytes(of: tape, clips: clips)
        await warnOfMissing(clips)
        guard let target else {
            if isDryRun {
                console.text(["\(ErrorCatalogue.quoted(tape.title)) would be written to standard output"])
            } else {
                console.context.output.write(bytes)
            }
            return try await associate(tape)
        }
        if !isDryRun {
            let isReplacing = isReplacing
            try await BlockingWork.run { () throws(TapesError) in
                try ExportedFile.write(bytes, to: target, replacing: isReplacing)
            }
        }
        say(target, length: nil)
        return try await associate(tape)
    }

    /// What is written names these files all the same: they may be back when it is read.
    private func warnOfMissing(_ clips: [ClipRecord]) async {
        let count = await BlockingWork.run { clips.count { $0.source != nil && !$0.isThere } }
        guard count > 0 else { return }
        console.warning(
            "\(Formats.count(count, "original")) of the tape cannot be found",
            hint: ErrorCatalogue.relinkingHint
        )
    }

    private func associate(_ tape: TapeRecord) async throws -> AlbumOutcome? {
        guard let service, !isDryRun, tape.association == .pending else { return AlbumOutcome(.skipped) }
        return try await AlbumWork(console: console, service: service, display: display)
            .run { (service) async throws(TapesError) in try await service.associate(tape.id) }
    }

    // MARK: Videos

    private func render(
        _ options: TapeRendering.Options,
        _ tape: TapeRecord,
        _ clips: [ClipRecord],
        protecting originals: [[UInt8]]
    ) async throws -> AlbumOutcome? {
        guard let target else { throw Diagnosis.usage("a video needs a place: --output FILE") }
        let length = TapeRendering.milliseconds(of: tape, clips: clips)
        guard !isDryRun else {
            say(target, length: length)
            return nil
        }
        let rendering = TapeRendering(searchPath: console.context.environment["PATH"] ?? "")
        let display = display
        try await display.during {
            try await console.context.interruption.cancelling {
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
        say(target, length: length)
        guard let service else { return AlbumOutcome(.skipped) }
        let path = target.absolute(from: console.context.workingDirectory)
        return try await AlbumWork(console: console, service: service, display: display)
            .run { (service) async throws(TapesError) in try await service.file(path, into: tape.id) }
    }

    // MARK: Telling

    private func say(_ target: [UInt8], length: Int64?) {
        let length = length.map { " (\(Formats.clock(.milliseconds($0))))" } ?? ""
        console.text([
            isDryRun
                ? "\(TerminalText.escaped(target)): would be written\(length)"
                : "\(console.outputStyle.green("exported")) \(TerminalText.escaped(target))\(length)"
        ])
    }

    private func finish(_ tape: TapeRecord, _ clips: [ClipRecord], _ outcome: AlbumOutcome?) -> ExitCode {
        let code = console.exitCode(.success)
        if let outcome, target != nil {
            console.text(TextRenderer.album(outcome, style: console.outputStyle))
        }
        guard target != nil else { return code }
        console.summary(
            [
                "tape_id": .string(tape.id), "title": .string(tape.title), "format": .string(form.name),
                "output": JSONRenderer.path(target), "clips": JSONValue(clips.count),
                "duration_ms": JSONValue(TapeRendering.milliseconds(of: tape, clips: clips)),
            ] + JSONRenderer.album(outcome) + [
                "dry_run": .bool(isDryRun), "exit_code": JSONRenderer.exitCode(code),
            ]
        )
        return code
    }
}
