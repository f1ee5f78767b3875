import Foundation
import MediaStore
import Synchronization
import TestSupport
import Testing

@testable import Tapes

/// `tapes export --render`: images and audio, decoded with the installed ffmpeg.
@Suite(.enabled(if: FilmKit.isInstalled, FilmKit.requirement))
struct RenderingTests {
    /// Mixed sizes, rates and kinds in one video of one codec, with silence where there is no audio. R6: no original
    /// is changed.
    @Test func clipsOfAllKindsBecomeOneVideo() async throws {
        let kit = try FilmKit()
        var loud = try await kit.video("a.mov", "color=red:s=64x36:r=25:d=0.4", sound: "sine=440:d=0.4")
        loud.durationMilliseconds = 400
        let clips = [
            loud, try await kit.still("b.jpg", "color=blue:s=50x50"),
            // This file does not contain its duration.
            try await kit.video("c.mkv", "color=lime:s=100x20:r=60:d=0.3", ["-f", "matroska", "-live", "1"]),
        ]
        let paths = clips.compactMap { $0.source.map { String(decoding: $0, as: UTF8.self) } }
        let before = try paths.map(Facts.init)
        let scripted = Mutex<[[Int64]]>([])
        try await kit.render(clips: clips) { done, total in scripted.withLock { $0.append([done, total]) } }
        #expect(try paths.map(Facts.init) == before)
        #expect(try kit.names == ["a.mov", "b.jpg", "c.mkv", "film.mp4"])
        let film = try await kit.look(Array(kit.home.file("film.mp4").utf8))
        #expect(film.codecs == ["h264", "aac"])
        #expect((film.width, film.height) == (64, 36))
        #expect(film.middles == [.red, .blue, .green])
        #expect(film.frameCount == 27)
        #expect(abs(film.seconds - 0.9) < 0.034)
        #expect(film.loudness(0.05..<0.35) > 1000)
        #expect(film.loudness(0.45..<0.85) < 30)
        let steps = scripted.withLock { $0 }
        #expect(steps.first == [0, 900])
        #expect(steps.last == [900, 900])
        #expect(steps.map { $0[0] } == steps.map { $0[0] }.sorted())
    }

    /// A still, and a video that ends in the middle of a frame, have the right length at every rate.
    @Test(arguments: [1, 5, 10, 24]) func everyRate(_ rate: Int) async throws {
        let kit = try FilmKit()
        var clips = [try await kit.still("a.png", "color=red:s=64x36")]
        clips.append(try await kit.video("b.mov", "color=blue:s=64x36:r=30:d=0.1", sound: "sine=440:d=1"))
        clips[0].imageMilliseconds = 2000
        let target = Array(kit.home.file("film.mp4").utf8)
        let options = TapeRendering.Options(longSide: 64, frameRate: rate)
        try await TapeRendering(searchPath: FilmKit.searchPath)
            .render(FilmKit.tape(), clips: clips, to: target, options: options)
        let film = try await kit.look(target)
        #expect(film.frameCount == 3 * rate)
        #expect(film.middles == [.red, .blue])
    }

    /// Four quarters: red and green above, blue and white below.
    private static let quarters =
        "color=black:s=64x36,drawbox=0:0:32:18:red:fill,drawbox=32:0:32:18:lime:fill,"
        + "drawbox=0:18:32:18:blue:fill,drawbox=32:18:32:18:white:fill"

    /// Rotations are clockwise; the image is fitted into the frame as a whole, or fills the frame and loses its edges.
    @Test func rotationsAndAspectRatios() async throws {
        let kit = try FilmKit()
        let picture = try await kit.still("a.png", Self.quarters)
        var clips = [ClipRecord](repeating: picture, count: 6)
        for turns in 0..<4 { clips[turns].rotateQuarterTurns = turns }
        clips[3].scaleOverride = .fill
        // Square, with a red left and a green right edge.
        let square = try await kit.still(
            "b.png",
            "color=blue:s=36x36,drawbox=0:0:4:36:red:fill,drawbox=32:0:4:36:lime:fill"
        )
        (clips[4], clips[5]) = (square, square)
        clips[5].scaleOverride = .fill
        clips.append(try await heldOnEnd(kit))
        let film = try await kit.film(FilmKit.tape(), clips)
        try #require(film.frameCount == 42)
        // The quarters of the frame, and of the part of it that a portrait image occupies (20 by 36).
        let wide = [(16, 9), (48, 9), (16, 27), (48, 27)]
        let narrow = [(26, 9), (38, 9), (26, 27), (38, 27)]
        let edges = [(2, 18), (61, 18)]
        #expect(film.colors(0, wide) == [.red, .green, .blue, .white])
        #expect(film.colors(6, narrow) == [.blue, .red, .white, .green])
        #expect(film.colors(6, edges) == [.black, .black])
        #expect(film.colors(12, wide) == [.white, .blue, .green, .red])
        // Portrait and filling: the full width is covered.
        #expect(film.colors(18, wide) == [.green, .white, .red, .blue])
        #expect(film.color(18, 2, 9) == .green)
        #expect(film.colors(24, [(15, 18), (32, 18), (48, 18)]) == [.red, .blue, .green])
        #expect(film.colors(24, edges) == [.black, .black])
        // 64 by 64, of which 36 rows are visible; the edges are 7 wide.
        #expect(film.colors(30, edges + [(12, 1)]) == [.red, .green, .blue])
        #expect(film.colors(36, narrow) == [.blue, .red, .white, .green])
    }

    /// The four quarters from a camera held upright, with the orientation in its metadata (Exif orientation 6: 90°
    /// clockwise).
    private func heldOnEnd(_ kit: FilmKit) async throws -> ClipRecord {
        let clip = try await kit.still("c.jpg", Self.quarters)
        let exif: [UInt8] =
            [0xFF, 0xE1, 0, 34] + Array("Exif\0\0II".utf8) + [42, 0, 8, 0, 0, 0, 1, 0]
            + [0x12, 0x01, 3, 0, 1, 0, 0, 0, 6, 0, 0, 0] + [0, 0, 0, 0]
        var bytes = Array(try Data(contentsOf: URL(filePath: kit.home.file("c.jpg"))))
        bytes.insert(contentsOf: exif, at: 2)
        try Data(bytes).write(to: URL(filePath: kit.home.file("c.jpg")))
        return clip
    }

    /// Trap 20: the length is the sum of the clips' lengths minus the overlaps, and a slide moves in the direction of
    /// its name. The random choices for this tape include each transition once: see `TapeTimingTests`.
    @Test func transitions() async throws {
        let kit = try FilmKit()
        let tape = FilmKit.tape(.randomise, 400)
        #expect((0..<3).map(tape.transition(after:)) == [.slideRightToLeft, .crossfade, .slideLeftToRight])
        var clips = [try await kit.still("a.png", "color=red:s=64x36")]
        clips.append(try await kit.video("b.mov", "color=blue:s=64x36:r=30:d=1", sound: "sine=440:d=1"))
        clips[1].durationMilliseconds = 1000
        clips.append(try await kit.still("c.png", "color=lime:s=64x36"))
        clips.append(clips[0])
        for index in [0, 2, 3] { clips[index].imageMilliseconds = 800 }
        let film = try await kit.film(tape, clips)
        // 0.8 + 1 + 0.8 + 0.8 - 3 × 0.4
        #expect(TapeRendering.milliseconds(of: tape, clips: clips) == 2200)
        #expect(film.frameCount == 66)
        #expect(abs(film.seconds - 2.2) < 0.034)
        #expect(film.middles.filter { $0 != .other } == [.red, .blue, .green, .red])
        // Halfway through each: at 0.6, 1.2 and 1.6 s. Blue enters from the right, red from the left.
        let edges = [(4, 18), (60, 18)]
        #expect(film.colors(18, edges) == [.red, .blue])
        #expect(film.colors(36, edges) == [.other, .other])
        #expect(film.colors(48, edges) == [.red, .green])
        // The audio fades with its image.
        let (half, whole, gone) = (film.loudness(1.19..<1.21), film.loudness(0.85..<0.95), film.loudness(1.45..<2.15))
        #expect(whole > 1000)
        #expect((whole / 4..<whole * 3 / 4).contains(half))
        #expect(gone < 30)
    }

    /// Trims, the volume, and the visible part of a live photo.
    @Test func videoAndSoundOfAClip() async throws {
        let kit = try FilmKit()
        let colors = ["red", "lime", "blue"].enumerated()
            .map { "color=\($1):s=64x36:r=30:d=0.3[\($0)]" }.joined(separator: ";")
        var trimmed = try await kit.video(
            "a.mov",
            colors + ";[0][1][2]concat=n=3",
            sound: "aevalsrc='if(between(t,0.3,0.6),0.5*sin(2764*t),0.01*sin(2764*t))':s=48000:d=0.9"
        )
        (trimmed.trimStartMilliseconds, trimmed.trimEndMilliseconds) = (300, 300)
        trimmed.volume = 0.25
        // The audio is longer than the video by more than the time by which reading starts early.
        let late = try await kit.video("b.mov", "color=white:s=64x36:r=30:d=0.2", sound: "sine=440:d=2.8")
        var live = kit.clip(kit.home.file("c.jpg"), .live)
        live.pairedSource = late.source
        var still = try await kit.still("c.jpg", "color=red:s=64x36")
        still.kind = .live
        still.pairedSource = Array(kit.home.file("gone.mov").utf8)
        let film = try await kit.film(FilmKit.tape(.crossfade, 100), [trimmed, live, still])
        // 0.3 + 2.8 + 0.2 - 2 × 0.1
        #expect(film.frameCount == 93)
        #expect((0..<6).allSatisfy { film.color($0, 32, 18) == .green })
        #expect((9..<87).allSatisfy { film.color($0, 32, 18) == .white })
        #expect(film.color(91, 32, 18) == .red)
        // A quarter of half of 32768, 3 dB less in each of two channels.
        #expect((2600..<3200).contains(film.loudness(0.05..<0.18)))
        #expect(film.loudness(2.0..<2.8) > 1000)
    }
}

/// The properties of an original that must never change.
private struct Facts: Equatable {
    var inode: UInt64
    var modified: Date
    var bytes: Data

    init(_ path: String) throws {
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        inode = try #require(attributes[.systemFileNumber] as? UInt64)
        modified = try #require(attributes[.modificationDate] as? Date)
        bytes = try Data(contentsOf: URL(filePath: path))
    }
}
