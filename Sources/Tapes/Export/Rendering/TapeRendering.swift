public import MediaStore

/// Makes one video of a tape with an installed ffmpeg (tapes contract section 8).
public struct TapeRendering: Sendable {
    /// What the video is to be.
    public struct Options: Sendable, Equatable {
        /// Length of the longer side in pixels; even.
        public var longSide: Int
        /// Frames a second.
        public var frameRate: Int
        /// Whether a file that has the name is replaced.
        public var isReplacing: Bool

        /// Makes options; by default 1920 pixels, 30 frames a second, nothing is replaced.
        public init(longSide: Int = 1920, frameRate: Int = 30, isReplacing: Bool = false) {
            self.longSide = longSide
            self.frameRate = frameRate
            self.isReplacing = isReplacing
        }
    }

    /// `PATH`: where ffmpeg and ffprobe are looked for.
    public let searchPath: String

    /// Makes a rendering.
    ///
    /// - Parameter searchPath: `PATH`: where ffmpeg and ffprobe are looked for.
    public init(searchPath: String) {
        self.searchPath = searchPath
    }

    /// The length of the video in milliseconds: durations less trims, less the overlap of transitions (trap 20).
    ///
    /// - Returns: nil when a duration is unknown.
    public static func milliseconds(of tape: TapeRecord, clips: [ClipRecord]) -> Int64? {
        TapeTiming(tape: tape, clips: clips).total
    }

    /// Renders. The video gets its name only when it is whole.
    ///
    /// Cancelling ends ffmpeg, removes what it wrote, and throws `.cancelled`.
    ///
    /// - Parameters:
    ///   - tape: The tape.
    ///   - clips: Its clips in order.
    ///   - target: Path of the video, as bytes; its extension chooses the container (`.mp4`, `.mov`, `.mkv`).
    ///   - options: What it is to be.
    ///   - progress: Gets the milliseconds that are done and their total, on another thread.
    /// - Throws: `TapesError` `.programMissing`, `.nothingToExport`, `.fileNotFound`, `.targetExists`, `.targetUnusable`,
    ///   `.diskFull`, `.renderFailed` with the last line of ffmpeg, `.cancelled`.
    public func render(
        _ tape: TapeRecord,
        clips: [ClipRecord],
        to target: [UInt8],
        options: Options,
        progress: (@Sendable (_ done: Int64, _ total: Int64) -> Void)? = nil
    ) async throws(TapesError) {
        throw TapesError(.programMissing, detail: "not there yet")
    }
}
