import Foundation

/// A decoded film.
struct Film {
    enum Color { case black, red, green, blue, white, other }

    var codecs: [String]
    var width: Int
    var height: Int
    var seconds: Double
    /// Three bytes per pixel.
    var pixels: Data
    /// 16 bits, one channel, 48,000 samples per second.
    var sound: Data

    var frameCount: Int { pixels.count / (width * height * 3) }

    /// The color of a pixel.
    func color(_ frame: Int, _ x: Int, _ y: Int) -> Color {
        let offset = ((frame * height + y) * width + x) * 3
        let values = Array(pixels[offset..<offset + 3])
        guard values.allSatisfy({ $0 > 160 || $0 < 96 }) else { return .other }
        return switch values.map({ $0 > 128 }) {
        case [false, false, false]: .black
        case [true, false, false]: .red
        case [false, true, false]: .green
        case [false, false, true]: .blue
        case [true, true, true]: .white
        default: .other
        }
    }

    /// The colors of some pixels of a frame.
    func colors(_ frame: Int, _ points: [(Int, Int)]) -> [Color] { points.map { color(frame, $0.0, $0.1) } }

    /// The color of the center of each frame, without repetitions.
    var middles: [Color] {
        (0..<frameCount).map { color($0, width / 2, height / 2) }
            .reduce(into: []) { colors, color in if colors.last != color { colors.append(color) } }
    }

    /// The loudest sample within a span of seconds, 0 to 32768.
    func loudness(_ span: Range<Double>) -> Int {
        let samples = Int(span.lowerBound * 48_000)..<min(sound.count / 2, Int(span.upperBound * 48_000))
        return samples.map { index in
            abs(Int(Int16(bitPattern: UInt16(sound[index * 2]) | UInt16(sound[index * 2 + 1]) << 8)))
        }.max() ?? 0
    }
}
