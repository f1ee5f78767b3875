internal import Foundation
internal import MediaCore
internal import MediaFiles
internal import MediaStore
internal import MediaSystem

/// A clip to render: properties of its file, and the section to show.
struct RenderClip: Equatable {
    /// The original, as bytes; for messages.
    var source: [UInt8]
    /// The input of ffmpeg: a link to the original, created by mediactl.
    var input: String
    var isStill: Bool
    var hasSound: Bool
    /// End of the video track in the file, in milliseconds; the audio may be longer.
    var videoEnd: Int64
    /// Start of the section in the file, in milliseconds.
    var start: Int64
    /// Shown duration, in milliseconds.
    var length: Int64
    /// Clockwise.
    var quarterTurns: Int
    var scaleMode: TapeRecord.ScaleMode
    /// 0 to 1.
    var volume: Double
}

extension RenderClip {
    /// Creates a clip from a still.
    init(_ clip: ClipRecord, of tape: TapeRecord, _ source: [UInt8], input: String) {
        self.init(
            source: source,
            input: input,
            isStill: true,
            hasSound: false,
            videoEnd: 0,
            start: 0,
            length: clip.imageMilliseconds,
            quarterTurns: clip.rotateQuarterTurns,
            scaleMode: clip.scaleOverride ?? tape.scaleMode,
            volume: clip.volume ?? 1
        )
    }
}

/// Clips that the installed ffmpeg cannot decode: the `underlying` error of `.clipUndecodable`.
public struct UndecodableClips: Error, Sendable, Equatable {
    /// One of these clips.
    public struct Clip: Sendable, Equatable {
        /// The clip's position in the tape, from 1.
        public var number: Int
        /// The original, as bytes.
        public var path: [UInt8]
        /// The reason, usually a message from ffmpeg. May contain control characters.
        public var detail: String
    }

    /// All undecodable clips, in the order of the tape.
    public var clips: [Clip]
    /// Number of clips that were checked.
    public var checkedCount: Int
}

/// Reads and checks the clips of a tape before rendering starts, so rendering does not fail after several minutes
/// because of a clip.
struct RenderClipReader: Sendable {
    let tape: TapeRecord
    let ffmpeg: FFmpeg
    let workplace: RenderWorkplace

    /// Reads the properties of all clips, several in parallel, and decodes the first video frame and audio of each.
    ///
    /// - Throws: `.clipUndecodable` with all clips that ffmpeg cannot decode; `.trimTooLong`, `.programMissing`,
    ///   `.diskFull`, `.targetUnusable`, `.cancelled`.
    func read(_ clips: [ClipRecord]) async throws(TapesError) -> [RenderClip] {
        let results = await withBoundedTasks(
            clips.enumerated(),
            limit: ProcessInfo.processInfo.activeProcessorCount
        ) { index, clip in
            await Result(awaiting: { () async throws(TapesError) in try await read(clip, number: index) })
        }
        var rendered: [RenderClip] = []
        var undecodable: [UndecodableClips.Clip] = []
        for (clip, result) in zip(clips, results) {
            switch result {
            case .success(let clip): rendered.append(clip)
            case .failure(let error) where error.code == .renderFailed:
                let path = error.path ?? clip.source ?? []
                undecodable.append(.init(number: clip.position + 1, path: path, detail: error.detail))
            case .failure(let error): throw error
            }
        }
        guard undecodable.isEmpty else {
            throw TapesError(
                .clipUndecodable,
                detail: undecodable.map(\.detail).first ?? "",
                path: undecodable.first?.path,
                value: tape.id,
                underlying: UndecodableClips(clips: undecodable, checkedCount: clips.count)
            )
        }
        return rendered
    }

    private func read(_ clip: ClipRecord, number: Int) async throws(TapesError) -> RenderClip {
        if clip.kind == .live, let video = clip.pairedSource, FileIdentity(ofRegularFile: video) != nil {
            return try await readVideo(clip, video, number)
        }
        let source = clip.source ?? []
        if clip.kind == .video { return try await readVideo(clip, source, number) }
        let still = RenderClip(clip, of: tape, source, input: try await link(source, number))
        do throws(TapesError) {
            let probe = MediaProbe(try await ffmpeg.probe(still.input))
            // An HEIC photo is a grid of images. ffmpeg before 7.1 cannot read it; later versions show only one tile of
            // it.
            if let probe, probe.videoStreamCount > 1, probe.isMovie {
                throw TapesError(.renderFailed, detail: "it is a grid of \(probe.videoStreamCount) images")
            }
            try await decode(still)
        } catch {
            throw error.located(at: source, still.input)
        }
        return still
    }

    private func readVideo(
        _ clip: ClipRecord,
        _ source: [UInt8],
        _ number: Int
    ) async throws(TapesError) -> RenderClip {
        let input = try await link(source, number)
        do throws(TapesError) {
            guard let probe = MediaProbe(try await ffmpeg.probe(input)), probe.hasVideo else {
                throw TapesError(.renderFailed, detail: "it has no video")
            }
            // Taken from the current file, which may have changed since the clip was added.
            var length = probe.milliseconds ?? clip.durationMilliseconds
            if length == nil { length = try await measure(input) }
            guard let length else { throw TapesError(.renderFailed, detail: "its length is unknown") }
            let shown = try clip.shownMilliseconds(ofFile: length)
            var video = RenderClip(clip, of: tape, source, input: input)
            video.isStill = false
            // Audio that is muted need not be decodable.
            video.hasSound = probe.hasSound && video.volume > 0
            video.videoEnd = probe.videoMilliseconds ?? length
            (video.start, video.length) = (clip.trimmedStart, shown)
            try await decode(video)
            return video
        } catch {
            throw error.located(at: source, input)
        }
    }

    private func link(_ source: [UInt8], _ number: Int) async throws(TapesError) -> String {
        try await BlockingWork.run { [workplace] () throws(TapesError) in
            try TapesError.writing(workplace.link(to: source, number: number))
        }
    }

    /// Measures the duration of a file that does not specify one, without decoding it.
    private func measure(_ input: String) async throws(TapesError) -> Int64? {
        let arguments = FFmpeg.input(input) + ["-map", "0:V:0", "-c", "copy", "-f", "null", "-"]
        return try await ffmpeg.run(arguments, in: workplace.directory).microseconds.map { $0 / 1000 }
    }

    /// Decodes the first video frame, and the first audio if any.
    private func decode(_ clip: RenderClip) async throws(TapesError) {
        let videoOptions = ["-map", clip.isStill ? "0:v:0" : "0:V:0", "-frames:v", "1", "-f", "null", "-"]
        let sound = clip.hasSound ? ["-map", "0:a:0", "-frames:a", "1", "-f", "null", "-"] : []
        let figures = try await ffmpeg.run(FFmpeg.input(clip.input) + videoOptions + sound, in: workplace.directory)
        guard figures.frames > 0 else { throw TapesError(.renderFailed, detail: "it has no video") }
    }
}

extension TapesError {
    /// Adds the path of the original, whose name replaces the link in ffmpeg's messages.
    func located(at source: [UInt8], _ input: String) -> TapesError {
        guard self.code != .cancelled, self.code != .diskFull, self.code != .programMissing else { return self }
        let name = String(decoding: source.nameOfPath, as: UTF8.self)
        return TapesError(
            self.code,
            detail: self.detail.replacingOccurrences(of: "file:\(input)", with: name)
                .replacingOccurrences(of: input, with: name),
            path: source
        )
    }
}

extension RenderWorkplace {
    /// Creates a workplace for reading originals without a target: everything is stored in the system's temporary
    /// directory, with a mark in `data`. Blocks.
    static func temporary(marking data: DataDirectory?) throws(TapesError) -> RenderWorkplace {
        let path = Array(NSTemporaryDirectory().utf8)
        let directory = try TapesError.writing(TargetDirectory.open(path, creating: false))
        guard let directory else {
            throw TapesError(.targetUnusable, detail: "no such directory", path: path)
        }
        return try TapesError.writing(RenderWorkplace(beside: directory, marking: data))
    }
}
