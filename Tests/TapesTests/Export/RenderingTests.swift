import Foundation
import MediaStore
import TestSupport
import Testing

@testable import Tapes

/// `tapes export --render`: what is to be seen and heard, read back with the installed ffmpeg.
@Suite(.enabled(if: FilmKit.isInstalled, FilmKit.requirement))
struct RenderingTests {
    private func tape(_ transition: TapeRecord.Transition = .none, _ milliseconds: Int = 200) -> TapeRecord {
        var tape = ExportFixtures.tape(transition: transition, milliseconds: milliseconds)
        tape.orientation = .landscape
        return tape
    }

    /// Mixed sizes, rates and kinds in one video of one codec; silence where there is no sound.
    @Test func clipsOfAllKindsBecomeOneVideo() async throws {
        let kit = try FilmKit()
        var loud = kit.clip(
            try await kit.make("a.mp4", "color=red:s=64x36:r=25:d=0.4", sound: "sine=440:d=0.4", ["-c:a", "aac"])
        )
        loud.durationMilliseconds = 400
        let clips = [
            loud, kit.clip(try await kit.make("b.jpg", "color=blue:s=50x50"), .image),
            kit.clip(try await kit.make("c.mkv", "color=lime:s=100x20:r=60:d=0.3")),
        ]
        let film = try await kit.render(tape(), clips)
        #expect(film.codecs == ["h264", "aac"])
        #expect((film.width, film.height) == (64, 36))
        #expect(film.middles == [.red, .blue, .green])
        #expect(film.frameCount == 27)
        #expect(abs(film.seconds - 0.9) < 0.034)
        #expect(film.loudness(0.05..<0.35) > 1000)
        #expect(film.loudness(0.45..<0.85) < 30)
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: kit.home.path).sorted() == [
                "a.mp4", "b.jpg", "c.mkv", "out.mp4",
            ]
        )
    }
}
