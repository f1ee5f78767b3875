import Foundation
import MediaStore
import Synchronization
import TestSupport
import Testing

@testable import Tapes

/// `tapes export --render`: what is to be seen and heard, read back with the installed ffmpeg.
@Suite(.enabled(if: FilmKit.isInstalled, FilmKit.requirement))
struct RenderingTests {
    /// Mixed sizes, rates and kinds in one video of one codec, with silence where there is no sound. R6: not one original
    /// is touched.
    @Test func clipsOfAllKindsBecomeOneVideo() async throws {
        let kit = try FilmKit()
        var loud = try await kit.video("a.mov", "color=red:s=64x36:r=25:d=0.4", sound: "sine=440:d=0.4")
        loud.durationMilliseconds = 400
        let clips = [
            loud, try await kit.still("b.jpg", "color=blue:s=50x50"),
            // Does not say how long it is.
            try await kit.video("c.mkv", "color=lime:s=100x20:r=60:d=0.3", ["-f", "matroska", "-live", "1"]),
        ]
        let paths = clips.compactMap { $0.source.map { String(decoding: $0, as: UTF8.self) } }
        let before = try paths.map(Facts.init)
        let told = Mutex<[[Int64]]>([])
        try await kit.render(clips: clips) { done, total in told.withLock { $0.append([done, total]) } }
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
        let steps = told.withLock { $0 }
        #expect(steps.first == [0, 900])
        #expect(steps.last == [900, 900])
        #expect(steps.map { $0[0] } == steps.map { $0[0] }.sorted())
    }

    /// Four quarters: red and green above, blue and white below.
    private static let quarters =
        "color=black:s=64x36,drawbox=0:0:32:18:red:fill,drawbox=32:0:32:18:lime:fill,"
        + "drawbox=0:18:32:18:blue:fill,drawbox=32:18:32:18:white:fill"

    /// Quarter turns are clockwise; the whole picture is fitted in, or fills the frame and loses its edges.
    @Test func turnsAndShapes() async throws {
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
        let film = try await kit.film(FilmKit.tape(), clips)
        try #require(film.frameCount == 36)
        // The quarters of the frame, and of the part of it that a picture on end takes (20 by 36).
        let wide = [(16, 9), (48, 9), (16, 27), (48, 27)]
        let narrow = [(26, 9), (38, 9), (26, 27), (38, 27)]
        let edges = [(2, 18), (61, 18)]
        #expect(film.colors(0, wide) == [.red, .green, .blue, .white])
        #expect(film.colors(6, narrow) == [.blue, .red, .white, .green])
        #expect(film.colors(6, edges) == [.black, .black])
        #expect(film.colors(12, wide) == [.white, .blue, .green, .red])
        // On end and filling: all of the width is covered.
        #expect(film.colors(18, wide) == [.green, .white, .red, .blue])
        #expect(film.colors(18, edges) == [.other, .other] || film.color(18, 2, 9) == .green)
        #expect(film.colors(24, [(15, 18), (32, 18), (48, 18)]) == [.red, .blue, .green])
        #expect(film.colors(24, edges) == [.black, .black])
        // 64 by 64, of which 36 rows are seen; the edges are 7 wide.
        #expect(film.colors(30, edges + [(12, 1)]) == [.red, .green, .blue])
    }

    /// A camera that was held on end says so in its pictures (Exif orientation 6: a quarter clockwise).
    @Test func picturesStandAsTheirCameraWasHeld() async throws {
        let kit = try FilmKit()
        let picture = try await kit.still("a.jpg", Self.quarters)
        let exif: [UInt8] =
            [0xFF, 0xE1, 0, 34] + Array("Exif\0\0II".utf8) + [42, 0, 8, 0, 0, 0, 1, 0]
            + [0x12, 0x01, 3, 0, 1, 0, 0, 0, 6, 0, 0, 0] + [0, 0, 0, 0]
        var bytes = Array(try Data(contentsOf: URL(filePath: kit.home.file("a.jpg"))))
        bytes.insert(contentsOf: exif, at: 2)
        try Data(bytes).write(to: URL(filePath: kit.home.file("a.jpg")))
        let film = try await kit.film(FilmKit.tape(), [picture])
        #expect(film.colors(0, [(26, 9), (38, 9), (26, 27), (38, 27)]) == [.blue, .red, .white, .green])
    }

    /// Trap 20: the length is that of the clips less the overlap; and a slide goes where its name says.
    @Test(
        arguments: [
            (.crossfade, [.other, .other, .other]),
            // From the left comes the new picture: blue stands left of red.
            (.slideLeftToRight, [.blue, .other, .red]),
            (.slideRightToLeft, [.red, .other, .blue]),
        ] as [(TapeRecord.Transition, [Film.Color])]
    )
    func transitions(_ kind: TapeRecord.Transition, _ halfWay: [Film.Color]) async throws {
        let kit = try FilmKit()
        let tape = FilmKit.tape(kind, 400)
        var clips = [
            try await kit.video("a.mov", "color=red:s=64x36:r=30:d=1", sound: "sine=440:d=1"),
            try await kit.still("b.png", "color=blue:s=64x36"),
        ]
        clips[0].durationMilliseconds = 1000
        clips[1].imageMilliseconds = 800
        let film = try await kit.film(tape, clips)
        #expect(TapeRendering.milliseconds(of: tape, clips: clips) == 1400)
        #expect(film.frameCount == 42)
        #expect(abs(film.seconds - 1.4) < 0.034)
        #expect(film.color(18, 32, 18) == .red)
        let middle = film.colors(24, [(4, 18), (32, 18), (60, 18)])
        #expect([middle[0], middle[2]] == [halfWay[0], halfWay[2]])
        #expect(film.color(30, 32, 18) == .blue)
        // The sound goes out with the picture.
        let (before, half) = (film.loudness(0.3..<0.5), film.loudness(0.79..<0.81))
        #expect(before > 1000)
        #expect((before / 4..<before * 3 / 4).contains(half))
        #expect(film.loudness(1.05..<1.35) < 30)
    }

    /// Trims, the volume, and what a live picture shows.
    @Test func whatIsSeenAndHeardOfAClip() async throws {
        let kit = try FilmKit()
        let colors = ["red", "lime", "blue"].enumerated()
            .map { "color=\($1):s=64x36:r=30:d=0.3[\($0)]" }.joined(separator: ";")
        var trimmed = try await kit.video(
            "a.mov",
            colors + ";[0][1][2]concat=n=3",
            sound: "aevalsrc='if(between(t,0.3,0.6),0.5*sin(2764*t),0.01*sin(2764*t))':s=48000:d=0.9"
        )
        (trimmed.trimStartMilliseconds, trimmed.trimEndMilliseconds) = (300, 300)
        var quiet = trimmed
        quiet.volume = 0.25
        // Longer than its picture by more than reading ever begins before it.
        let late = try await kit.video("b.mov", "color=white:s=64x36:r=30:d=0.2", sound: "sine=440:d=2.8")
        var live = kit.clip(kit.home.file("c.jpg"), .live)
        live.pairedSource = late.source
        var still = try await kit.still("c.jpg", "color=red:s=64x36")
        still.kind = .live
        still.pairedSource = Array(kit.home.file("gone.mov").utf8)
        let film = try await kit.film(FilmKit.tape(.crossfade, 100), [trimmed, quiet, live, still])
        // 0.3 + 0.3 + 2.8 + 0.2 - 3 × 0.1
        #expect(film.frameCount == 99)
        #expect((0..<12).allSatisfy { film.color($0, 32, 18) == .green })
        #expect((15..<90).allSatisfy { film.color($0, 32, 18) == .white })
        #expect(film.color(97, 32, 18) == .red)
        let (loud, soft) = (film.loudness(0.05..<0.18), film.loudness(0.32..<0.38))
        // Half of 32768, 3 dB less in each of two channels; and a quarter of that.
        #expect((10_500..<12_500).contains(loud))
        #expect((2600..<3200).contains(soft))
        #expect(film.loudness(2.0..<2.9) > 1000)
    }
}

/// What must never change of an original.
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
