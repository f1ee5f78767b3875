internal import Foundation

/// A recording made for one smoke test: a second of silence as WAV, unlike any other by the run's name in its comment.
///
/// RIFF/WAVE with `fmt `, `LIST`/`INFO` (`ICMT`) and `data` chunks; 8,000 samples of 8 bits, one channel.
enum SmokeClip {
    private static let sampleRate = 8_000

    /// The file's bytes.
    ///
    /// - Parameter run: The run's name, in ASCII.
    /// - Returns: A little more than 8,000 bytes.
    static func bytes(run: String) -> [UInt8] {
        let comment = chunk("INFO", nested: chunk("ICMT", content: Array(run.utf8) + [0]))
        let format =
            word(1) + word(1) + long(sampleRate) + long(sampleRate)  // PCM, one channel, samples, bytes a second
            + word(1) + word(8)  // bytes a frame, bits a sample
        let samples = [UInt8](repeating: 0x80, count: sampleRate)
        let content =
            Array("WAVE".utf8) + chunk("fmt ", content: format) + chunk("LIST", content: comment)
            + chunk("data", content: samples)
        return chunk("RIFF", content: content)
    }

    private static func chunk(_ name: String, content: [UInt8]) -> [UInt8] {
        let padding: [UInt8] = content.count % 2 == 0 ? [] : [0]
        return Array(name.utf8) + long(content.count) + content + padding
    }

    private static func chunk(_ name: String, nested: [UInt8]) -> [UInt8] {
        Array(name.utf8) + nested
    }

    private static func word(_ value: Int) -> [UInt8] {
        [UInt8(truncatingIfNeeded: value), UInt8(truncatingIfNeeded: value >> 8)]
    }

    private static func long(_ value: Int) -> [UInt8] {
        word(value) + word(value >> 16)
    }
}
