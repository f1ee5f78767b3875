internal import Foundation
internal import MediaFiles
internal import MediaStore
internal import MediaSystem

struct RenderRun: Sendable {
    let tape: TapeRecord
    let clips: [ClipRecord]
    let format: RenderFormat
    let container: String
    let ffmpeg: FFmpeg
    let workplace: RenderWorkplace
    let progress: (@Sendable (Int64, Int64) -> Void)?

    func make() async throws(TapesError) {
        let reader = RenderClipReader(tape: tape, ffmpeg: ffmpeg, workplace: workplace)
        let rendered = try await reader.read(clips)
        let plan = RenderPlan(tape: tape, lengths: rendered.map(\.length), format: format)
        guard plan.frameCount > 0 else {
            throw TapesError(.nothingToExport, detail: "the clips are empty after trimming")
        }
        let total = milliseconds(plan.frameCount)
        progress?(0, total)
        for (index, segment) in plan.segments.enumerated() {
            try await make(segment, index, of: rendered, total: total)
        }
        try await join(plan.segments.count)
        progress?(total, total)
    }

    private func milliseconds(_ frames: Int) -> Int64 { format.microseconds(ofFrame: frames) / 1000 }

    // MARK: Parts

    private func make(
        _ segment: RenderPlan.Segment,
        _ index: Int,
        of rendered: [RenderClip],
        total: Int64
    ) async throws(TapesError) {
        let recipe = SegmentRecipe(segment: segment, clips: rendered, format: format)
        let arguments =
            recipe.inputs + ["-filter_complex", recipe.graph, "-map", "[v]", "-map", "[a]", "-map_metadata", "-1"]
            // One track may start long before the first packet of the other track.
            + ["-map_chapters", "-1", "-max_muxing_queue_size", "9999"] + Self.videoCoding
            // Audio is encoded after joining: AAC starts with a short silence.
            + ["-c:a", "pcm_s16le", "-f", "mov", "-y", "file:\(Self.name(ofPart: index))"]
        let clip = rendered[segment.part.clip]
        do throws(TapesError) {
            let figures = try await ffmpeg.run(arguments, in: workplace.directory) { [progress, self] frames in
                progress?(milliseconds(segment.begin + min(frames, segment.count)), total)
            }
            guard figures.frames == segment.count else {
                throw TapesError(.renderFailed, detail: "\(figures.frames) of \(segment.count) frames were rendered")
            }
        } catch {
            throw error.located(at: clip.source, clip.input)
        }
    }

    /// Identical for all parts, which can then be joined without encoding.
    private static let videoCoding = ["-c:v", "libx264", "-preset", "medium", "-crf", "20", "-profile:v", "high"]

    private static func name(ofPart index: Int) -> String { "\(index).mov" }

    // MARK: Joining

    private func join(_ count: Int) async throws(TapesError) {
        let list = (0..<count).map { "file 'file:\(Self.name(ofPart: $0))'\n" }.joined()
        try await BlockingWork.run { [workplace] () throws(TapesError) in
            try TapesError.writing(workplace.write("ffconcat version 1.0\n" + list, as: "list"))
        }
        let arguments =
            ["-f", "concat", "-safe", "0"] + FFmpeg.input("list")
            + ["-map", "0:v:0", "-map", "0:a:0", "-map_metadata", "-1"]
            + ["-c:v", "copy", "-c:a", "aac", "-b:a", "192k"]
            + (container == "matroska" ? [] : ["-movflags", "+faststart"])
            + ["-f", container, "-y", "file:\(workplace.draftName)"]
        _ = try await ffmpeg.run(arguments, in: workplace.directory)
    }
}

/// Splits a video into parts that are rendered sequentially and then joined without another encoding: one part for each
/// clip, and one for each transition.
///
/// With one graph of all clips, ffmpeg would open every file and hold frames from each, so a tape of a few hundred
/// clips would run out of memory and descriptors. Here, each run has at most two inputs, every frame is encoded once,
/// and only filters available in old ffmpeg versions are used.
struct RenderPlan: Equatable {
    struct Part: Equatable {
        var clip: Int
        /// Number of frames of the clip that earlier parts show.
        var skipped: Int
    }

    /// The output of one run of ffmpeg.
    struct Segment: Equatable {
        /// Position in the video, in frames.
        var begin: Int
        var count: Int
        var part: Part
        var next: Part?
        var transition = TapeRecord.Transition.none
    }

    private(set) var segments: [Segment] = []

    /// All times are rounded to frames of the whole video, so errors do not accumulate.
    init(tape: TapeRecord, lengths: [Int64], format: RenderFormat) {
        let timing = TapeTiming(tape: tape, lengths: lengths)
        var begin: Int64 = 0
        // The frame range of each clip.
        var spans: [Range<Int>] = []
        for (index, length) in lengths.enumerated() {
            spans.append(format.frame(at: begin)..<format.frame(at: begin + length))
            begin += length - (timing.overlaps.dropFirst(index).first ?? 0)
        }
        for (index, span) in spans.enumerated() {
            let next = spans.dropFirst(index + 1).first
            let alone = (index > 0 ? spans[index - 1].upperBound : 0)..<(next?.lowerBound ?? span.upperBound)
            append(alone, Part(clip: index, skipped: alone.lowerBound - span.lowerBound))
            guard let next else { continue }
            append(
                next.lowerBound..<span.upperBound,
                Part(clip: index, skipped: next.lowerBound - span.lowerBound),
                Part(clip: index + 1, skipped: 0),
                tape.transition(after: index)
            )
        }
    }

    var frameCount: Int { segments.last.map { $0.begin + $0.count } ?? 0 }

    private mutating func append(
        _ frames: Range<Int>,
        _ part: Part,
        _ next: Part? = nil,
        _ transition: TapeRecord.Transition = .none
    ) {
        guard !frames.isEmpty else { return }
        segments.append(
            Segment(begin: frames.lowerBound, count: frames.count, part: part, next: next, transition: transition)
        )
    }
}

/// Format of video and audio. It is identical for all parts, which can then be joined without encoding.
struct RenderFormat: Equatable {
    var width: Int
    var height: Int
    var frameRate: Int

    static let sampleRate = 48_000

    /// The format of a tape's video: 9:16 or 16:9, both sides even.
    ///
    /// - Throws: `.outOfRange` for invalid sizes and rates.
    init(_ orientation: TapeRecord.Orientation, _ options: TapeRendering.Options) throws(TapesError) {
        guard (16...16_384).contains(options.longSide), options.longSide.isMultiple(of: 2) else {
            throw TapesError(
                .outOfRange,
                detail: "the longer side must be an even number from 16 to 16384",
                value: "\(options.longSide)"
            )
        }
        guard (1...240).contains(options.frameRate) else {
            throw TapesError(.outOfRange, detail: "the frame rate must be 1 to 240", value: "\(options.frameRate)")
        }
        // 9/16, rounded to an even number.
        let shortSide = (options.longSide * 9 + 16) / 32 * 2
        (width, height) =
            orientation == .portrait ? (shortSide, options.longSide) : (options.longSide, shortSide)
        frameRate = options.frameRate
    }

    /// The frame whose start is nearest to a time.
    func frame(at milliseconds: Int64) -> Int { Int((milliseconds * Int64(frameRate) + 500) / 1000) }

    func sample(ofFrame frame: Int) -> Int { frame * Self.sampleRate / frameRate }

    func microseconds(ofFrame frame: Int) -> Int64 { Int64(frame) * 1_000_000 / Int64(frameRate) }
}

/// The target of a video, checked before any work.
struct RenderTarget: Sendable {
    let directory: TargetDirectory
    let name: [UInt8]
    /// ffmpeg's name of the container format.
    let container: String

    private static let containers = ["mp4": "mp4", "mov": "mov", "mkv": "matroska"]

    /// Opens the directory. Blocks.
    ///
    /// - Throws: `.targetUnusable`, `.targetExists`.
    init(_ path: [UInt8], replacing isReplacing: Bool, originals: [[UInt8]]) throws(TapesError) {
        let name = path.nameOfPath
        self.name = name
        let end = name.lastIndex(of: UInt8(ascii: ".")).map { String(decoding: name[($0 + 1)...], as: UTF8.self) }
        guard let end, let container = Self.containers[end.lowercased()] else {
            throw TapesError(.targetUnusable, detail: "the extension must be .mp4, .mov or .mkv", path: path)
        }
        self.container = container
        let parent = path.directoryOfPath
        let opened = name.contains(0) ? nil : try TapesError.writing(TargetDirectory.open(parent, creating: false))
        guard let opened else {
            throw TapesError(.targetUnusable, detail: "no such directory", path: parent)
        }
        directory = opened
        try ExportTarget.check(self.path, replacing: isReplacing, originals: originals)
    }

    var path: [UInt8] { directory.path(of: name) }
}

extension TapesError {
    init(_ error: FileWriteError) {
        let code = error.kind == .busy ? .targetUnusable : error.code
        self.init(code, detail: error.detail, path: error.path, underlying: error)
    }

    static func writing<Value>(_ value: @autoclosure () throws(FileWriteError) -> Value) throws(TapesError) -> Value {
        do throws(FileWriteError) { return try value() } catch { throw TapesError(error) }
    }
}

/// The files of a rendering: a private directory for its parts and the draft of the whole video, both in the directory
/// of the target; and a directory of links to the originals in the system's temporary directory, since the target may
/// not support links.
///
/// The names of the links are generated, so user-controlled names never reach ffmpeg: they could look like an option, a
/// protocol or a pattern, or contain invalid UTF-8. Originals are only read, through these links.
struct RenderWorkplace: Sendable {
    private let parts: PrivateDirectory
    private let links: PrivateDirectory
    private let draft: PartialFile
    /// Allows `RenderLeftovers` to find all files if the process is killed.
    private let mark: RenderMark?

    /// Creates all files that `remove` removes, after marking them in `data`. Blocks.
    init(beside parent: TargetDirectory, marking data: DataDirectory? = nil) throws(FileWriteError) {
        let id = UUID().uuidString.lowercased()
        let name = RenderLeftovers.prefix + id
        let temporary = Array(NSTemporaryDirectory().utf8)
        guard let system = try TargetDirectory.open(temporary, creating: false) else {
            throw FileWriteError(.unsafe, path: temporary)
        }
        // Rendering is possible without a mark, for example on a full disk.
        let mark = data.flatMap { try? RenderMark.make(id, at: RenderLeftovers.places(parent, system), in: $0) }
        do throws(FileWriteError) {
            try self.init(name, beside: parent, system: system, mark: mark)
        } catch {
            mark?.remove()
            throw error
        }
    }

    private init(
        _ name: String,
        beside parent: TargetDirectory,
        system: TargetDirectory,
        mark: RenderMark?
    ) throws(FileWriteError) {
        let parts = try PrivateDirectory(in: parent, name)
        do throws(FileWriteError) {
            let links = try PrivateDirectory(in: system, name + RenderLeftovers.linksSuffix)
            do throws(FileWriteError) {
                draft = try PartialFile.open("\(name).part", in: parent)
            } catch {
                links.remove()
                throw error
            }
            self.links = links
        } catch {
            parts.remove()
            throw error
        }
        self.parts = parts
        self.mark = mark
    }

    /// Working directory of ffmpeg, for the parts.
    var directory: TargetDirectory { parts.directory }

    /// The draft of the whole video, relative to `directory`.
    var draftName: String { "../\(String(decoding: draft.name, as: UTF8.self))" }

    /// Creates a link to an original. If the extension of the original, by which ffmpeg recognizes some formats,
    /// consists of letters and digits, the link has this extension.
    func link(to original: [UInt8], number: Int) throws(FileWriteError) -> String {
        let last = original.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).last ?? []
        let isTame = last.count <= 8 && last.allSatisfy { Self.letters.contains($0) }
        let name = "\(number)" + (isTame ? ".\(String(decoding: last, as: UTF8.self))" : "")
        let path = links.directory.path(of: Array(name.utf8))
        guard symlink(original.cString, path.cString) == 0 else {
            let kind: FileWriteError.Kind = errno == ENOSPC || errno == EDQUOT ? .full : .io(errno: errno)
            throw FileWriteError(kind, path: path)
        }
        return String(decoding: path, as: UTF8.self)
    }

    private static let letters = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789".utf8)

    func write(_ text: String, as name: String) throws(FileWriteError) {
        try PartialFile.open(name, in: parts.directory).write(all: Array(text.utf8))
    }

    /// Syncs the draft and renames it. Blocks.
    ///
    /// - Throws: `.exists` if the name is taken.
    func publish(as name: [UInt8], replacing isReplacing: Bool) throws(FileWriteError) {
        try draft.seal()
        if isReplacing { try draft.publish(replacing: name) } else { try draft.publish(as: name) }
    }

    /// Removes all files except a published video. Blocks.
    func remove() {
        parts.remove()
        links.remove()
        try? draft.discard()
        mark?.remove()
    }
}
