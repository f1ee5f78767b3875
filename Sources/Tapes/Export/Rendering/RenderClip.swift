internal import MediaStore

/// A clip as it is rendered: what its file has, and what is to be seen of it.
struct RenderClip: Equatable {
    /// The original, as bytes; for messages.
    var source: [UInt8]
    /// What ffmpeg is given for it: a name of ours that leads to the original.
    var input: String
    /// One picture, shown as long as wanted.
    var isStill: Bool
    /// Whether it has a sound track; it is silent otherwise.
    var hasSound: Bool
    /// Where the moving picture of its file ends, in milliseconds; sound may go on.
    var pictureEnd: Int64
    /// Where it begins in its file, in milliseconds.
    var start: Int64
    /// How long it is seen, in milliseconds.
    var length: Int64
    /// Clockwise.
    var quarterTurns: Int
    var scaleMode: TapeRecord.ScaleMode
    /// 0 to 1.
    var volume: Double
}
