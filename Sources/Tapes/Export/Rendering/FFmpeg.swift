internal import MediaCore
internal import MediaFiles
internal import MediaTransport
internal import Synchronization

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

/// Reads what ffmpeg reports with `-progress`: lines of `key=value`.
final class FFmpegReport: Sendable {
    /// What matters of it.
    struct Figures: Equatable {
        /// Frames that were written.
        var frames = 0
        /// The time that was reached; nil is unknown.
        var microseconds: Int64?
    }

    private struct State {
        var rest: [UInt8] = []
        var figures = Figures()
    }

    private let state = Mutex(State())
    private let progress: @Sendable (Int) -> Void

    /// Tells `progress` each number of frames.
    init(_ progress: @escaping @Sendable (Int) -> Void) {
        self.progress = progress
    }

    /// The newest figures.
    var figures: Figures { state.withLock { $0.figures } }

    /// Takes a piece, which may end within a line.
    func read(_ piece: ArraySlice<UInt8>) {
        let frames = state.withLock { state -> Int? in
            state.rest += piece
            guard let end = state.rest.lastIndex(of: UInt8(ascii: "\n")) else { return nil }
            let lines = String(decoding: state.rest[..<end], as: UTF8.self)
            state.rest.removeSubrange(...end)
            let before = state.figures.frames
            for line in lines.split(separator: "\n") {
                let parts = line.split(separator: "=", maxSplits: 1)
                guard parts.count == 2, let number = Int64(parts[1]) else { continue }
                switch parts[0] {
                case "frame": state.figures.frames = Int(number)
                case "out_time_us": state.figures.microseconds = number
                default: break
                }
            }
            return state.figures.frames == before ? nil : state.figures.frames
        }
        if let frames { progress(frames) }
    }
}

/// A filter graph of ffmpeg as a value. Numbers and words of ours only: nothing in it needs to be escaped, and no name of a
/// file or title gets here.
struct FilterGraph: Equatable {
    /// One filter.
    struct Filter: Equatable {
        var name: String
        /// `key=value`.
        var options: [String]

        init(_ name: String, _ options: String...) {
            self.name = name
            self.options = options
        }

        var text: String { options.isEmpty ? name : "\(name)=\(options.joined(separator: ":"))" }
    }

    /// Filters in a row, from labels to labels.
    struct Chain: Equatable {
        var inputs: [String]
        var filters: [Filter]
        var output: String

        var text: String {
            inputs.map { "[\($0)]" }.joined() + filters.map(\.text).joined(separator: ",") + "[\(output)]"
        }
    }

    var chains: [Chain]

    /// As `-filter_complex` takes it.
    var text: String { chains.map(\.text).joined(separator: ";") }
}

/// What ffprobe says of a file.
struct MediaProbe: Equatable {
    /// Whether it has a moving picture; a cover is none.
    var hasPicture: Bool
    var hasSound: Bool
    /// How long it is; nil is unknown.
    var milliseconds: Int64?
    /// How long its picture is; nil is unknown.
    var pictureMilliseconds: Int64?

    /// Reads ffprobe's JSON; nil when it is none.
    init?(_ json: [UInt8]) {
        guard let members = JSONValue.object(in: json[...]) else { return nil }
        let streams = (members["streams"]?.elements ?? []).compactMap(\.members)
        let picture = streams.first { stream in
            stream["codec_type"]?.text == "video"
                && stream["disposition"]?.members?["attached_pic"]?.wholeNumber != 1
        }
        hasPicture = picture != nil
        hasSound = streams.contains { $0["codec_type"]?.text == "audio" }
        pictureMilliseconds = Self.milliseconds(picture?["duration"])
        milliseconds = Self.milliseconds(members["format"]?.members?["duration"]) ?? pictureMilliseconds
    }

    /// Seconds as text; `N/A` and what is no length are nil.
    private static func milliseconds(_ value: JSONValue?) -> Int64? {
        guard let text = value?.text, let seconds = Double(text), seconds > 0, seconds < 1e12 else { return nil }
        return Int64((seconds * 1000).rounded())
    }
}
