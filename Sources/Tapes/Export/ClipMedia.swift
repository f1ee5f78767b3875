internal import Foundation
internal import MediaCore
internal import MediaFiles
public import MediaStore
internal import MediaSystem

/// Properties of a clip's video, as read from its file.
public struct ClipMedia: Sendable, Equatable {
    /// Frames per second, as a fraction.
    public struct FrameRate: Sendable, Equatable {
        /// Number of frames.
        public var numerator: Int64
        /// Number of seconds in which these frames are shown.
        public var denominator: Int64

        /// Creates a rate; both numbers are above 0.
        public init(_ numerator: Int64, _ denominator: Int64 = 1) {
            self.numerator = numerator
            self.denominator = denominator
        }

        /// Parses `30000/1001`; nil for `0/0` and anything else.
        init?(_ text: String) {
            let parts = text.split(separator: "/", omittingEmptySubsequences: false).map { Int64($0) }
            guard parts.count == 2, let numerator = parts[0], let denominator = parts[1], numerator > 0, denominator > 0
            else { return nil }
            self.init(numerator, denominator)
        }

        var perSecond: Double { Double(numerator) / Double(denominator) }

        /// The frame whose start is nearest to a time.
        func frame(at milliseconds: Int64) -> Int64 { Int64((Double(milliseconds) * perSecond / 1000).rounded()) }
    }

    /// nil if unknown.
    public var frameRate: FrameRate?
    /// Duration of the video track in milliseconds; nil if unknown.
    public var milliseconds: Int64?
    public var hasSound: Bool

    public init(frameRate: FrameRate?, milliseconds: Int64?, hasSound: Bool) {
        self.frameRate = frameRate
        self.milliseconds = milliseconds
        self.hasSound = hasSound
    }

    /// Reads the headers of the clips' videos with ffprobe, several in parallel. Files that are missing or that ffprobe
    /// cannot read are omitted, as are stills; for a live photo, its video is read. `searchPath` is the `PATH` to
    /// search for ffprobe. `directory` contains a mark during the read, so `RenderLeftovers` finds the temporary files
    /// if the process is killed; nil for no mark.
    ///
    /// - Returns: Properties by clip ID.
    /// - Throws: `TapesError` `.programMissing`, `.targetUnusable` or `.diskFull` for the system's temporary directory,
    ///   `.cancelled`.
    public static func read(
        _ clips: [ClipRecord],
        searchPath: String,
        directory: DataDirectory? = nil
    ) async throws(TapesError) -> [String: ClipMedia] {
        let ffmpeg = FFmpeg(searchPath: searchPath)
        let videos = clips.compactMap { clip in clip.playedVideo.map { (id: clip.id, path: $0) } }
        guard !videos.isEmpty else { return [:] }
        try ffmpeg.require("ffprobe")
        let workplace = try await BlockingWork.run { () throws(TapesError) in
            try RenderWorkplace.temporary(marking: directory)
        }
        let results = await withBoundedTasks(
            videos.enumerated(),
            limit: ProcessInfo.processInfo.activeProcessorCount
        ) { index, video in
            await Result(awaiting: { () async throws(TapesError) in
                try await read(video.path, index, workplace, ffmpeg)
            })
        }
        await BlockingWork.run { workplace.remove() }
        var media: [String: ClipMedia] = [:]
        for (video, result) in zip(videos, results) { media[video.id] = try result.get() }
        return media
    }

    private static func read(
        _ path: [UInt8],
        _ number: Int,
        _ workplace: RenderWorkplace,
        _ ffmpeg: FFmpeg
    ) async throws(TapesError) -> ClipMedia? {
        let isPresent = try await OriginalReading.bounded { _ in FileIdentity(ofRegularFile: path) != nil }
        guard isPresent == true else { return nil }
        do throws(TapesError) {
            let input = try await BlockingWork.run { () throws(TapesError) in
                try TapesError.writing(workplace.link(to: path, number: number))
            }
            guard let probe = MediaProbe(try await ffmpeg.probe(input)), probe.hasVideo else { return nil }
            return ClipMedia(
                frameRate: probe.frameRate,
                milliseconds: probe.videoMilliseconds ?? probe.milliseconds,
                hasSound: probe.hasSound
            )
        } catch {
            guard error.code == .renderFailed else { throw error }
            return nil
        }
    }
}

extension ClipRecord {
    /// The video to play; nil for a still.
    var playedVideo: [UInt8]? { kind == .image ? nil : kind == .live ? pairedSource : source }
}
