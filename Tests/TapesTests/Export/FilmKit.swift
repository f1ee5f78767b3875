import Foundation
import Glibc
import MediaStore
import TestSupport
import Testing

@testable import Tapes

/// Short films, created and inspected with the installed ffmpeg.
struct FilmKit {
    static let searchPath = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
    static let isInstalled = (try? FFmpeg(searchPath: searchPath).require("ffmpeg", "ffprobe")) != nil
    static let requirement: Comment = "requires ffmpeg and ffprobe: scripts/setup.sh test"

    let home: TemporaryDirectory

    init() throws { home = try TemporaryDirectory() }

    /// Names in the directory, including hidden ones.
    var names: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: home.path).sorted() }
    }

    /// Runs one of the programs.
    @discardableResult
    static func run(_ arguments: [String]) async throws -> ChildResult {
        let result = try await ChildProcess.run("/usr/bin/env", arguments)
        try #require(result.status == 0, "\(result.errors)")
        return result
    }

    /// Gives a file an additional name; names are bytes.
    static func link(_ path: [UInt8], _ other: [UInt8]) throws {
        let names = [path, other].map { $0.map(CChar.init(bitPattern:)) + [0] }
        try #require(Glibc.link(names[0], names[1]) == 0, "\(String(cString: strerror(errno)))")
    }

    // MARK: Originals

    /// Creates a video with images and audio from lavfi: `color=red:s=64x36:r=30:d=0.5`, `sine=440:d=0.5`.
    @discardableResult
    func video(
        _ name: String,
        _ picture: String,
        sound: String? = nil,
        _ options: [String] = []
    ) async throws -> ClipRecord {
        let inputs = ["-f", "lavfi", "-i", picture] + (sound.map { ["-f", "lavfi", "-i", $0] } ?? [])
        let coding = [
            "-c:v", "libx264", "-preset", "ultrafast", "-qp", "0", "-pix_fmt", "yuv420p", "-c:a", "pcm_s16le",
        ]
        try await Self.run(["ffmpeg", "-v", "error"] + inputs + coding + options + ["file:" + home.file(name)])
        return clip(home.file(name))
    }

    /// Creates an image; it is shown for 0.2 s.
    @discardableResult
    func still(_ name: String, _ picture: String) async throws -> ClipRecord {
        let arguments = ["-v", "error", "-f", "lavfi", "-i", picture, "-frames:v", "1", "-q:v", "1"]
        try await Self.run(["ffmpeg"] + arguments + ["file:" + home.file(name)])
        return clip(home.file(name), .image)
    }

    func clip(_ path: String, _ kind: ClipRecord.Kind = .video) -> ClipRecord { clip(Array(path.utf8), kind) }

    func clip(_ path: [UInt8], _ kind: ClipRecord.Kind) -> ClipRecord {
        var clip = ClipRecord(path, of: "t", kind: kind)
        clip.imageMilliseconds = 200
        return clip
    }

    /// A 16:9 tape.
    static func tape(_ transition: TapeRecord.Transition = .none, _ milliseconds: Int = 200) -> TapeRecord {
        var tape = ExportFixtures.tape(transition: transition, milliseconds: milliseconds)
        tape.orientation = .landscape
        return tape
    }

    // MARK: Videos

    /// Renders at 64 by 36 pixels and 30 frames per second, and decodes the result.
    @discardableResult
    func film(_ tape: TapeRecord, _ clips: [ClipRecord]) async throws -> Film {
        try await render(tape, clips: clips)
        return try await look(Array(home.file("film.mp4").utf8))
    }

    func render(
        _ tape: TapeRecord = tape(),
        clips: [ClipRecord],
        to name: String = "film.mp4",
        replacing isReplacing: Bool = false,
        progress: (@Sendable (Int64, Int64) -> Void)? = nil
    ) async throws(TapesError) {
        let options = TapeRendering.Options(longSide: 64, isReplacing: isReplacing)
        try await TapeRendering(searchPath: Self.searchPath)
            .render(tape, clips: clips, to: Array(home.file(name).utf8), options: options, progress: progress)
    }

    /// All decoded images and audio.
    func look(_ path: [UInt8]) async throws -> Film {
        // A name that is valid for any program.
        let copy = home.file("copy")
        try Self.link(path, Array(copy.utf8))
        let pixels = home.file("pixels")
        let samples = home.file("samples")
        defer { for file in [copy, pixels, samples] { try? FileManager.default.removeItem(atPath: file) } }
        let questions = ["-show_entries", "stream=codec_name,width,height:format=duration", "-of", "csv=p=0"]
        let facts = try await Self.run(["ffprobe", "-v", "error"] + questions + [copy]).lines
        let outputs = [
            "-map", "0:v", "-pix_fmt", "rgb24", "-f", "rawvideo", pixels, "-map", "0:a", "-f", "s16le", "-ac", "1",
            samples,
        ]
        try await Self.run(["ffmpeg", "-v", "error", "-i", copy] + outputs)
        let size = facts.first?.split(separator: ",").dropFirst().compactMap { Int($0) } ?? []
        try #require(size.count == 2, "\(facts)")
        return Film(
            codecs: facts.dropLast().compactMap { $0.split(separator: ",").first.map(String.init) },
            width: size[0],
            height: size[1],
            seconds: Double(facts.last ?? "") ?? 0,
            pixels: try Data(contentsOf: URL(filePath: pixels)),
            sound: try Data(contentsOf: URL(filePath: samples))
        )
    }
}
