import Foundation
import MediaStore
import TestSupport
import Testing

@testable import Tapes

/// Little films, made and looked at with the installed ffmpeg.
struct FilmKit {
    static let searchPath = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
    static let isInstalled = (try? FFmpeg(searchPath: searchPath).requirePrograms()) != nil
    static let requirement: Comment = "ffmpeg and ffprobe are not installed"

    let home: TemporaryDirectory

    init() throws { home = try TemporaryDirectory() }

    /// Makes a file. `source` is of lavfi: `color=red:s=64x36:r=30:d=0.5`.
    @discardableResult
    func make(_ name: String, _ source: String, sound: String? = nil, _ options: [String] = []) async throws -> String {
        let sounds = sound.map { ["-f", "lavfi", "-i", $0] } ?? []
        let pictures =
            name.hasSuffix("g") ? ["-frames:v", "1"] : ["-c:v", "libx264", "-preset", "ultrafast", "-qp", "0"]
        let arguments = ["-v", "error", "-f", "lavfi", "-i", source] + sounds + pictures + options
        let result = try await ChildProcess.run("/usr/bin/env", ["ffmpeg"] + arguments + ["file:" + home.file(name)])
        try #require(result.status == 0, "\(result.errors)")
        return home.file(name)
    }

    func clip(_ path: String, _ kind: ClipRecord.Kind = .video) -> ClipRecord {
        var clip = ClipRecord(id: UUID().uuidString.lowercased(), tapeID: "t", kind: kind, source: Array(path.utf8))
        clip.imageMilliseconds = 200
        return clip
    }

    /// Landscape, 64 by 36, 30 frames a second.
    @discardableResult
    func render(_ tape: TapeRecord, _ clips: [ClipRecord], to name: String = "out.mp4") async throws -> Film {
        try await TapeRendering(searchPath: Self.searchPath)
            .render(
                tape,
                clips: clips,
                to: Array(home.file(name).utf8),
                options: .init(longSide: 64, isReplacing: true)
            )
        return try await look(name)
    }

    /// Everything that is to be seen and heard.
    func look(_ name: String = "out.mp4") async throws -> Film {
        let path = home.file(name)
        let ask = ["-v", "error", "-show_entries", "stream=codec_name,width,height:format=duration", "-of", "csv=p=0"]
        let facts = try await ChildProcess.run("/usr/bin/env", ["ffprobe"] + ask + ["file:" + path]).lines
        for (options, end) in [
            (["-pix_fmt", "rgb24", "-f", "rawvideo"], "rgb"), (["-f", "s16le", "-ac", "1"], "pcm"),
        ] {
            let arguments = ["ffmpeg", "-v", "error", "-y", "-i", "file:" + path] + options + ["file:\(path).\(end)"]
            let result = try await ChildProcess.run("/usr/bin/env", arguments)
            try #require(result.status == 0, "\(result.errors)")
        }
        let pixels = try Data(contentsOf: URL(filePath: path + ".rgb"))
        let sound = try Data(contentsOf: URL(filePath: path + ".pcm"))
        for end in ["rgb", "pcm"] { try FileManager.default.removeItem(atPath: "\(path).\(end)") }
        let size = facts.first?.split(separator: ",").dropFirst().compactMap { Int($0) } ?? []
        try #require(size.count == 2, "\(facts)")
        return Film(
            codecs: facts.dropLast().compactMap { $0.split(separator: ",").first.map(String.init) },
            width: size[0],
            height: size[1],
            seconds: Double(facts.last ?? "") ?? 0,
            pixels: pixels,
            sound: sound
        )
    }
}

/// A film, decoded.
struct Film {
    enum Color { case black, red, green, blue, white, other }

    var codecs: [String]
    var width: Int
    var height: Int
    var seconds: Double
    var pixels: Data
    var sound: Data

    var frameCount: Int { pixels.count / (width * height * 3) }

    /// The colour of a pixel.
    func color(_ frame: Int, _ x: Int, _ y: Int) -> Color {
        let offset = ((frame * height + y) * width + x) * 3
        let values = pixels[offset..<offset + 3].map { Int($0) }
        let isHigh = values.map { $0 > 170 }
        guard values.allSatisfy({ $0 > 170 || $0 < 85 }) else { return .other }
        switch isHigh {
        case [false, false, false]: return .black
        case [true, false, false]: return .red
        case [false, true, false]: return .green
        case [false, false, true]: return .blue
        case [true, true, true]: return .white
        default: return .other
        }
    }

    /// The colour of the middle of each frame, repetitions left out.
    var middles: [Color] {
        (0..<frameCount).map { color($0, width / 2, height / 2) }
            .reduce(into: []) { colors, color in if colors.last != color { colors.append(color) } }
    }

    /// The loudest sample within a span of seconds, 0 to 32768.
    func loudness(_ span: Range<Double>, rate: Double = 48_000) -> Int {
        let samples = Int(span.lowerBound * rate)..<min(sound.count / 2, Int(span.upperBound * rate))
        return samples.map { index in
            abs(Int(Int16(bitPattern: UInt16(sound[index * 2]) | UInt16(sound[index * 2 + 1]) << 8)))
        }.max() ?? 0
    }
}
