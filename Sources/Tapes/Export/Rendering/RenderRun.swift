internal import Foundation
internal import MediaFiles
internal import MediaStore
internal import MediaSystem
internal import Synchronization

/// The making of one video: look at the originals, make the parts, join them.
struct RenderRun: Sendable {
    let tape: TapeRecord
    let clips: [ClipRecord]
    let format: RenderFormat
    let container: String
    let ffmpeg: FFmpeg
    let workplace: RenderWorkplace
    let progress: (@Sendable (Int64, Int64) -> Void)?

    /// Makes the draft of the whole.
    func make() async throws(TapesError) {
        var rendered: [RenderClip] = []
        for (index, clip) in clips.enumerated() { rendered.append(try await prepare(clip, number: index)) }
        let plan = RenderPlan(tape: tape, lengths: rendered.map(\.length), format: format)
        guard plan.frameCount > 0 else { throw TapesError(.nothingToExport, detail: "nothing is left of the clips") }
        let total = milliseconds(plan.frameCount)
        progress?(0, total)
        for (index, segment) in plan.segments.enumerated() {
            try await make(segment, index, of: rendered, total: total)
        }
        try await join(plan.segments.count)
        progress?(total, total)
    }

    private func milliseconds(_ frames: Int) -> Int64 { format.microseconds(ofFrame: frames) / 1000 }

    // MARK: Originals

    private func prepare(_ clip: ClipRecord, number: Int) async throws(TapesError) -> RenderClip {
        if clip.kind == .live, let video = clip.pairedSource, FileIdentity(ofRegularFile: video) != nil {
            return try await prepareVideo(clip, video, number, trim: (0, 0))
        }
        let source = clip.source ?? []
        if clip.kind == .video {
            let trim = (clip.trimStartMilliseconds, clip.trimEndMilliseconds)
            return try await prepareVideo(clip, source, number, trim: trim)
        }
        let input = try await link(source, number)
        return rendered(clip, source, input, isStill: true, hasSound: false, 0, start: 0, clip.imageMilliseconds)
    }

    private func prepareVideo(
        _ clip: ClipRecord,
        _ source: [UInt8],
        _ number: Int,
        trim: (start: Int64, end: Int64)
    ) async throws(TapesError) -> RenderClip {
        let input = try await link(source, number)
        do throws(TapesError) {
            guard let probe = MediaProbe(try await ffmpeg.probe(input)), probe.hasPicture else {
                throw TapesError(.renderFailed, detail: "it has no picture")
            }
            // What the file says now: it may be another than the one that was added.
            var length = probe.milliseconds ?? clip.durationMilliseconds
            if length == nil { length = try await measure(input) }
            guard let length else { throw TapesError(.renderFailed, detail: "its length cannot be told") }
            guard length - trim.start - trim.end > 0 else {
                throw TapesError(.trimTooLong, detail: "nothing is left of its \(length) ms")
            }
            return rendered(
                clip,
                source,
                input,
                isStill: false,
                hasSound: probe.hasSound,
                probe.pictureMilliseconds ?? length,
                start: trim.start,
                length - trim.start - trim.end
            )
        } catch {
            throw located(error, at: source, input)
        }
    }

    private func rendered(
        _ clip: ClipRecord,
        _ source: [UInt8],
        _ input: String,
        isStill: Bool,
        hasSound: Bool,
        _ pictureEnd: Int64,
        start: Int64,
        _ length: Int64
    ) -> RenderClip {
        RenderClip(
            source: source,
            input: input,
            isStill: isStill,
            hasSound: hasSound,
            pictureEnd: pictureEnd,
            start: start,
            length: length,
            quarterTurns: clip.rotateQuarterTurns,
            scaleMode: clip.scaleOverride ?? tape.scaleMode,
            volume: clip.volume ?? 1
        )
    }

    private func link(_ source: [UInt8], _ number: Int) async throws(TapesError) -> String {
        do {
            return try await BlockingWork.run { [workplace] () throws(FileWriteError) in
                try workplace.link(to: source, number: number)
            }
        } catch {
            throw TapesError(error)
        }
    }

    /// Reads a file that does not say how long it is, without decoding it.
    private func measure(_ input: String) async throws(TapesError) -> Int64? {
        let arguments = FFmpeg.input(input) + ["-map", "0:V:0", "-c", "copy", "-f", "null", "-"]
        return try await ffmpeg.run(arguments, in: workplace.directory).microseconds.map { $0 / 1000 }
    }

    // MARK: Parts

    private func make(
        _ segment: RenderPlan.Segment,
        _ index: Int,
        of rendered: [RenderClip],
        total: Int64
    ) async throws(TapesError) {
        let recipe = SegmentRecipe(segment: segment, clips: rendered, format: format)
        let arguments =
            recipe.inputs + ["-filter_complex", recipe.graph.text, "-map", "[v]", "-map", "[a]", "-map_metadata", "-1"]
            // One track may begin long before the other has its first packet.
            + ["-map_chapters", "-1", "-max_muxing_queue_size", "9999"] + Self.pictureCoding
            // Sound is encoded once the parts are joined: AAC begins with some silence.
            + ["-c:a", "pcm_s16le", "-f", "mov", "-y", "file:\(Self.name(ofPart: index))"]
        let clip = rendered[segment.part.clip]
        do throws(TapesError) {
            let figures = try await ffmpeg.run(arguments, in: workplace.directory) { [progress, self] frames in
                progress?(milliseconds(segment.begin + min(frames, segment.count)), total)
            }
            guard figures.frames == segment.count else {
                throw TapesError(.renderFailed, detail: "there are \(figures.frames) of \(segment.count) frames")
            }
        } catch {
            throw located(error, at: clip.source, clip.input)
        }
    }

    /// The same for all parts, or they could not be joined as they are.
    private static let pictureCoding = ["-c:v", "libx264", "-preset", "medium", "-crf", "20", "-profile:v", "high"]

    private static func name(ofPart index: Int) -> String { "\(index).mov" }

    /// ffmpeg knows an original by its link; the user does not.
    private func located(_ error: TapesError, at source: [UInt8], _ input: String) -> TapesError {
        guard error.code != .cancelled, error.code != .diskFull, error.code != .programMissing else { return error }
        let name = String(decoding: source.nameOfPath, as: UTF8.self)
        return TapesError(
            error.code,
            detail: error.detail.replacingOccurrences(of: "file:\(input)", with: name)
                .replacingOccurrences(of: input, with: name),
            path: source
        )
    }

    // MARK: The whole

    private func join(_ count: Int) async throws(TapesError) {
        let list = (0..<count).map { "file 'file:\(Self.name(ofPart: $0))'\n" }.joined()
        do {
            try await BlockingWork.run { [workplace] () throws(FileWriteError) in
                try workplace.write("ffconcat version 1.0\n" + list, as: "list")
            }
        } catch {
            throw TapesError(error)
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
