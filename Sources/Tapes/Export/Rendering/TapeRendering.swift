internal import MediaCore
internal import MediaFiles
public import MediaStore
internal import MediaSystem

/// Renders a tape to one video with an installed ffmpeg (tapes contract section 8).
public struct TapeRendering: Sendable {
    /// Options of a rendering.
    public struct Options: Sendable, Equatable {
        /// Length of the longer side in pixels; even.
        public var longSide: Int
        /// Frames per second.
        public var frameRate: Int
        /// Whether to replace an existing file.
        public var isReplacing: Bool

        /// Creates options; by default 1920 pixels, 30 frames per second, and existing files are not replaced.
        public init(longSide: Int = 1920, frameRate: Int = 30, isReplacing: Bool = false) {
            self.longSide = longSide
            self.frameRate = frameRate
            self.isReplacing = isReplacing
        }
    }

    /// `PATH` to search for ffmpeg and ffprobe.
    public let searchPath: String

    /// Contains marks of renderings in progress, so `RenderLeftovers` finds the files of a killed rendering; nil for no
    /// marks.
    public let directory: DataDirectory?

    public init(searchPath: String, directory: DataDirectory? = nil) {
        self.searchPath = searchPath
        self.directory = directory
    }

    /// The length of the video in milliseconds: durations minus trims, minus the overlap of transitions (trap 20); nil
    /// if a duration is unknown.
    public static func milliseconds(of tape: TapeRecord, clips: [ClipRecord]) -> Int64? {
        TapeTiming(tape: tape, clips: clips).total
    }

    /// Renders a video. The file gets its final name only when it is complete.
    ///
    /// Cancellation kills ffmpeg, removes its output, and throws `.cancelled`.
    ///
    /// The extension of the target, a path as bytes, selects the container (`.mp4`, `.mov`, `.mkv`). `originals`
    /// contains the originals of other tapes, which are never replaced either. `progress` is called with the finished
    /// milliseconds and their total, on another thread.
    ///
    /// - Throws: `TapesError` `.programMissing` with the program; `.nothingToExport`; `.fileNotFound`,
    ///   `.fileUnreadable`, `.notRegularFile`, `.emptyFile` with the original; `.trimTooLong` if a clip's file is
    ///   shorter than before; `.clipUndecodable` with `UndecodableClips`; `.outOfRange` for options; `.targetExists`,
    ///   `.targetUnusable`, `.diskFull`; `.renderFailed` with ffmpeg's last line, and the original concerned, if any;
    ///   `.cancelled`.
    public func render(
        _ tape: TapeRecord,
        clips: [ClipRecord],
        to target: [UInt8],
        options: Options,
        protecting originals: [[UInt8]] = [],
        progress: (@Sendable (_ done: Int64, _ total: Int64) -> Void)? = nil
    ) async throws(TapesError) {
        let format = try RenderFormat(tape.orientation, options)
        let shown = try Self.clipsWithFiles(clips, of: tape)
        let ffmpeg = FFmpeg(searchPath: searchPath)
        let protected = originals + clips.flatMap(\.originals)
        let (place, workplace) = try await BlockingWork.run { () throws(TapesError) in
            try ffmpeg.require("ffmpeg", "ffprobe")
            let place = try RenderTarget(target, replacing: options.isReplacing, originals: protected)
            for clip in shown { try Self.requireOriginal(clip) }
            return (place, try TapesError.writing(RenderWorkplace(beside: place.directory, marking: directory)))
        }
        let run = RenderRun(
            tape: tape,
            clips: shown,
            format: format,
            container: place.container,
            ffmpeg: ffmpeg,
            workplace: workplace,
            progress: progress
        )
        let result = await Result(awaiting: run.make)
        try await BlockingWork.run { () throws(TapesError) in
            defer { workplace.remove() }
            try result.get()
            // Checked again, since a different file may have this name by now.
            try ExportTarget.check(place.path, replacing: options.isReplacing, originals: protected)
            try TapesError.writing(workplace.publish(as: place.name, replacing: options.isReplacing))
        }
    }

    /// Runs the checks that `render` runs before it starts: originals that are missing, trimmed away, or undecodable.
    /// Writes nothing outside the system's temporary directory except a mark in the data directory.
    ///
    /// - Throws: As for `render`, for clips and programs.
    public func check(_ tape: TapeRecord, clips: [ClipRecord]) async throws(TapesError) {
        let shown = try Self.clipsWithFiles(clips, of: tape)
        let ffmpeg = FFmpeg(searchPath: searchPath)
        let workplace = try await BlockingWork.run { () throws(TapesError) in
            try ffmpeg.require("ffmpeg", "ffprobe")
            for clip in shown { try Self.requireOriginal(clip) }
            return try RenderWorkplace.temporary(marking: directory)
        }
        let reader = RenderClipReader(tape: tape, ffmpeg: ffmpeg, workplace: workplace)
        let result = await Result(awaiting: { () async throws(TapesError) in try await reader.read(shown) })
        await BlockingWork.run { workplace.remove() }
        _ = try result.get()
    }

    private static func clipsWithFiles(
        _ clips: [ClipRecord],
        of tape: TapeRecord
    ) throws(TapesError) -> [ClipRecord] {
        let shown = clips.filter { $0.source != nil }
        guard !shown.isEmpty else { throw TapesError(.nothingToExport, detail: "no clip has a file", value: tape.id) }
        return shown
    }

    private static func requireOriginal(_ clip: ClipRecord) throws(TapesError) {
        let hasVideo = clip.kind == .live && clip.pairedSource.map { FileIdentity(ofRegularFile: $0) != nil } == true
        guard !hasVideo, let path = clip.source else { return }
        do {
            _ = try SourceFile(path: path)
        } catch {
            var error = TapesError(error, path: path)
            // The missing file belongs to the tape; it was not specified by the user.
            error.value = clip.id
            throw error
        }
    }
}
