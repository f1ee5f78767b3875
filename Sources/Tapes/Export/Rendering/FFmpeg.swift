internal import MediaCore
internal import MediaFiles
internal import MediaTransport
internal import Synchronization

/// Runs the installed ffmpeg and ffprobe. All arguments are ours, without a shell, and every input is a file, whatever
/// its name and content.
struct FFmpeg: Sendable {
    let searchPath: String

    private static let keptErrors = 16 << 10

    /// The arguments for an input file, whose content cannot make ffmpeg open anything but files. Reading starts at
    /// `seekMicroseconds`.
    static func input(_ name: String, seekMicroseconds: Int64 = 0) -> [String] {
        ["-protocol_whitelist", "file"]
            + (seekMicroseconds > 0 ? ["-ss", SegmentRecipe.seconds(seekMicroseconds)] : [])
            + ["-i", "file:\(name)"]
    }

    /// - Throws: `.programMissing` with the name of a missing program.
    func requirePrograms() throws(TapesError) {
        for name in ["ffmpeg", "ffprobe"] { try require(name) }
    }

    /// - Throws: `.programMissing`.
    func require(_ name: String) throws(TapesError) {
        guard ProgramRun([name], searchPath: searchPath).isFound else { throw Self.missing(name) }
    }

    /// Runs ffmpeg to its end. Canceling kills it: its output is useless then, and a graceful end may take long.
    /// `progress` gets the number of frames done, on another thread.
    ///
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

    /// Runs ffprobe on a file and returns its JSON. Throws as `run`.
    func probe(_ name: String) async throws(TapesError) -> [UInt8] {
        let questions =
            "stream=codec_type,duration,r_frame_rate,avg_frame_rate:stream_disposition=attached_pic"
            + ":format=duration,format_name"
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
        // Ctrl-C in a terminal interrupts it as well, perhaps first.
        if result.failure != nil, Task.isCancelled { throw TapesError(.cancelled) }
        if let failure = result.failure { throw Self.refused("\(name) \(failure)", result.errors) }
        return result
    }

    private static func missing(_ name: String) -> TapesError {
        TapesError(.programMissing, detail: "\(name) is not in PATH", value: name)
    }

    /// The last line of its errors, except ffmpeg's closing remark.
    private static func refused(_ failure: String, _ errors: [UInt8]) -> TapesError {
        let lines = String(decoding: errors, as: UTF8.self).split(whereSeparator: \.isNewline)
        // ffmpeg's messages are not localized.
        let isFull = lines.contains { $0.contains("No space left on device") || $0.contains("Disk quota exceeded") }
        let line = lines.last { $0 != "Conversion failed!" }
        return TapesError(isFull ? .diskFull : .renderFailed, detail: line.map(String.init) ?? failure)
    }
}

/// Parses ffmpeg's reports with `-progress`: lines of `key=value`.
final class FFmpegReport: Sendable {
    struct Figures: Equatable {
        var frames = 0
        /// Time reached; nil when unknown.
        var microseconds: Int64?
    }

    private struct State {
        var rest: [UInt8] = []
        var figures = Figures()
    }

    private let state = Mutex(State())
    private let progress: @Sendable (Int) -> Void

    init(_ progress: @escaping @Sendable (Int) -> Void) {
        self.progress = progress
    }

    var figures: Figures { state.withLock { $0.figures } }

    /// Parses a piece, which may end within a line.
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

/// A filter graph of ffmpeg. It consists of fixed words and numbers, without file names and titles, so nothing needs
/// to be escaped.
struct FilterGraph: Equatable {
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

    struct Chain: Equatable {
        var inputs: [String]
        var filters: [Filter]
        var output: String

        var text: String {
            inputs.map { "[\($0)]" }.joined() + filters.map(\.text).joined(separator: ",") + "[\(output)]"
        }
    }

    var chains: [Chain]

    var text: String { chains.map(\.text).joined(separator: ";") }
}

struct MediaProbe: Equatable {
    /// Number of video tracks; cover pictures do not count.
    var pictureCount: Int
    var hasSound: Bool
    var milliseconds: Int64?
    /// Duration of the first video track; nil when unknown.
    var pictureMilliseconds: Int64?
    /// Frame rate of the first video track; nil when unknown.
    var frameRate: ClipMedia.FrameRate?
    /// Whether the format is of the family of MP4, QuickTime and HEIC.
    var isMovie: Bool

    var hasPicture: Bool { pictureCount > 0 }

    /// Higher rates are those of time stamps, not of frames.
    private static let highestRate = 240.0

    init?(_ json: [UInt8]) {
        guard let members = JSONValue.object(in: json[...]) else { return nil }
        let streams = (members["streams"]?.elements ?? []).compactMap(\.members)
        let pictures = streams.filter { stream in
            stream["codec_type"]?.text == "video"
                && stream["disposition"]?.members?["attached_pic"]?.wholeNumber != 1
        }
        pictureCount = pictures.count
        hasSound = streams.contains { $0["codec_type"]?.text == "audio" }
        let format = members["format"]?.members
        isMovie = format?["format_name"]?.text?.split(separator: ",").contains("mov") ?? false
        pictureMilliseconds = Self.milliseconds(pictures.first?["duration"])
        milliseconds = Self.milliseconds(format?["duration"]) ?? pictureMilliseconds
        // The base rate of the time stamps; the average where that is no rate of frames.
        frameRate = ["r_frame_rate", "avg_frame_rate"].lazy
            .compactMap { pictures.first?[$0]?.text.flatMap(ClipMedia.FrameRate.init) }
            .first { $0.perSecond <= Self.highestRate }
    }

    /// From seconds as text; nil for `N/A` and invalid durations.
    private static func milliseconds(_ value: JSONValue?) -> Int64? {
        guard let text = value?.text, let seconds = Double(text), seconds > 0, seconds < 1e12 else { return nil }
        return Int64((seconds * 1000).rounded())
    }
}
