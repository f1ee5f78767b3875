internal import MediaStore

/// The picture and the sound that every part of a video has, so that the parts can be joined as they are.
struct RenderFormat: Equatable {
    var width: Int
    var height: Int
    var frameRate: Int

    /// Of the sound.
    static let sampleRate = 48_000

    /// The format of a tape's video: 9:16 or 16:9, both sides even.
    ///
    /// - Throws: `TapesError` `.outOfRange` for sizes and rates that no video has.
    init(_ orientation: TapeRecord.Orientation, _ options: TapeRendering.Options) throws(TapesError) {
        guard (16...16_384).contains(options.longSide), options.longSide.isMultiple(of: 2) else {
            throw TapesError(.outOfRange, detail: "the longer side is even, 16 to 16384", value: "\(options.longSide)")
        }
        guard (1...240).contains(options.frameRate) else {
            throw TapesError(.outOfRange, detail: "the frame rate is 1 to 240", value: "\(options.frameRate)")
        }
        // 9/16, to the nearest even number.
        let shortSide = (options.longSide * 9 + 16) / 32 * 2
        (width, height) =
            orientation == .portrait ? (shortSide, options.longSide) : (options.longSide, shortSide)
        frameRate = options.frameRate
    }

    /// The frame that begins nearest to a time.
    func frame(at milliseconds: Int64) -> Int { Int((milliseconds * Int64(frameRate) + 500) / 1000) }

    /// The sample that a frame begins with.
    func sample(ofFrame frame: Int) -> Int { frame * Self.sampleRate / frameRate }

    /// When a frame begins, in microseconds.
    func microseconds(ofFrame frame: Int) -> Int64 { Int64(frame) * 1_000_000 / Int64(frameRate) }
}
