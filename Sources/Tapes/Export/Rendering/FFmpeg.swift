internal import MediaFiles

/// Runs of ffmpeg and ffprobe as they are installed. Arguments are ours from end to end: no shell sees them, and every input
/// is a file, whatever it is called and whatever it holds.
struct FFmpeg: Sendable {
    /// `PATH`.
    let searchPath: String

    /// More than the longest line that matters.
    private static let keptErrors = 16 << 10

    /// Arguments for an input.
    ///
    /// - Parameters:
    ///   - name: Of a file. Nothing that it holds makes ffmpeg open anything but files.
    ///   - seekMicroseconds: Where reading begins.
    /// - Returns: Arguments.
    static func input(_ name: String, seekMicroseconds: Int64 = 0) -> [String] {
        ["-protocol_whitelist", "file"]
            + (seekMicroseconds > 0 ? ["-ss", SegmentRecipe.seconds(seekMicroseconds)] : [])
            + ["-i", "file:\(name)"]
    }

    /// Refuses where a program is missing.
    ///
    /// - Throws: `TapesError` `.programMissing`, which names it.
    func requirePrograms() throws(TapesError) {
        for name in ["ffmpeg", "ffprobe"] where !ProgramRun([name], searchPath: searchPath).isFound {
            throw Self.missing(name)
        }
    }

    /// Runs ffmpeg to its end.
    ///
    /// Cancelling kills it: what it has made is worth nothing then, and ending in good order may take it long.
    ///
    /// - Parameters:
    ///   - arguments: Inputs, graph and output.
    ///   - directory: Where it begins, for relative names.
    ///   - progress: Gets the number of frames that are done, on another thread.
    /// - Returns: What its last report says.
    /// - Throws: `TapesError` `.programMissing`, `.diskFull`, `.renderFailed`, `.cancelled`.
    func run(
        _ arguments: [String],
        in directory: TargetDirectory?,
        progress: @escaping @Sendable (Int) -> Void = { _ in }
    ) async throws(TapesError) -> FFmpegReport.Figures {
        let report = FFmpegReport(progress)
        let common = ["ffmpeg", "-nostdin", "-hide_banner", "-v", "error", "-nostats", "-progress", "pipe:1"]
        var run = ProgramRun(common + arguments, searchPath: searchPath)
        run.onOutput = { report.read($0) }
        run.directory = directory
        _ = try await finish(run, "ffmpeg")
        return report.figures
    }

    /// Asks ffprobe what a file holds.
    ///
    /// - Returns: Its JSON.
    /// - Throws: `TapesError` as `run`.
    func probe(_ name: String) async throws(TapesError) -> [UInt8] {
        let questions = "stream=codec_type,duration:stream_disposition=attached_pic:format=duration"
        let arguments = ["ffprobe", "-hide_banner", "-v", "error", "-print_format", "json", "-show_entries", questions]
        let run = ProgramRun(arguments + Self.input(name), searchPath: searchPath, outputLimit: 1 << 20)
        return try await finish(run, "ffprobe").output
    }

    private func finish(_ run: ProgramRun, _ name: String) async throws(TapesError) -> ProgramResult {
        var run = run
        run.keptErrors = Self.keptErrors
        run.grace = .zero
        let result: ProgramResult
        do {
            result = try await run.run()
        } catch {
            switch error {
            case .cancelled: throw TapesError(.cancelled)
            case .notFound: throw Self.missing(name)
            default: throw TapesError(.renderFailed, detail: "\(name) \(error.detail)")
            }
        }
        // A terminal interrupts it as well, and it may be the first to end.
        if result.failure != nil, Task.isCancelled { throw TapesError(.cancelled) }
        if let failure = result.failure { throw Self.refused("\(name) \(failure)", result.errors) }
        return result
    }

    private static func missing(_ name: String) -> TapesError {
        TapesError(.programMissing, detail: "\(name) is not in PATH", value: name)
    }

    /// What was said last, but for ffmpeg's remark that it failed.
    private static func refused(_ failure: String, _ errors: [UInt8]) -> TapesError {
        let lines = String(decoding: errors, as: UTF8.self).split(whereSeparator: \.isNewline)
        // ffmpeg speaks English everywhere.
        let isFull = lines.contains { $0.contains("No space left on device") || $0.contains("Disk quota exceeded") }
        let line = lines.last { $0 != "Conversion failed!" }
        return TapesError(isFull ? .diskFull : .renderFailed, detail: line.map(String.init) ?? failure)
    }
}
