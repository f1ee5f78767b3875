import Foundation
import Glibc
import MediaFiles
import MediaStore
import TestSupport
import Testing

@testable import Tapes

/// Failures of a rendering: each is reported, and no files are left behind.
@Suite(.enabled(if: FilmKit.isInstalled, FilmKit.requirement))
struct RenderingEndsTests {
    /// A still that takes ffmpeg minutes to render.
    private func endless(_ kit: FilmKit) async throws -> ClipRecord {
        var clip = try await kit.still("a.png", "color=red:s=64x36")
        clip.imageMilliseconds = 3_600_000
        return clip
    }

    private static var temporaryNames: Set<String> {
        get throws {
            let names = try FileManager.default.contentsOfDirectory(atPath: NSTemporaryDirectory())
            return Set(names.filter { $0.contains("mediactl-render") })
        }
    }

    @Test func cancelingEndsFFmpegAtOnceAndLeavesNoFiles() async throws {
        let kit = try FilmKit()
        let before = try Self.temporaryNames
        let clip = try await endless(kit)
        let (works, isAtWork) = AsyncStream<Void>.makeStream()
        let task = Task {
            try await kit.render(clips: [clip]) { done, _ in if done > 0 { isAtWork.yield() } }
        }
        for await _ in works { break }
        #expect(try kit.names.count > 1)
        let begin = ContinuousClock.now
        task.cancel()
        let error = await #expect(throws: TapesError.self) { try await task.value }
        #expect(ContinuousClock.now - begin < .seconds(1))
        #expect(error?.code == .cancelled)
        #expect(try kit.names == ["a.png"])
        #expect(try Self.temporaryNames == before)
    }

    /// Another process may create the file during the rendering; it is kept.
    @Test func nothingIsReplacedWithoutARequest() async throws {
        let kit = try FilmKit()
        let clip = try await kit.still("a.png", "color=red:s=64x36")
        let error = await #expect(throws: TapesError.self) {
            try await kit.render(clips: [clip]) { _, _ in
                _ = FileManager.default.createFile(atPath: kit.home.file("film.mp4"), contents: Data("mine".utf8))
            }
        }
        #expect(error?.code == .targetExists)
        #expect(try String(contentsOfFile: kit.home.file("film.mp4"), encoding: .utf8) == "mine")
        #expect(try kit.names == ["a.png", "film.mp4"])
    }

    @Test func aFullDiskIsReportedAsFull() async throws {
        guard SmallDisk.isAvailable else { return }
        let kit = try FilmKit()
        let disk = try SmallDisk(kibibytes: 64)
        var clip = try await kit.still("a.png", "color=red:s=64x36")
        clip.imageMilliseconds = 2000
        let clips = [clip]
        let target = Array((disk.path + "/film.mp4").utf8)
        let error = await #expect(throws: TapesError.self) {
            try await TapeRendering(searchPath: FilmKit.searchPath)
                .render(FilmKit.tape(), clips: clips, to: target, options: .init(longSide: 64))
        }
        #expect(error?.code == .diskFull)
        #expect(try FileManager.default.contentsOfDirectory(atPath: disk.path) == [])
    }

    @Test func theLastMessageOfFFmpegIsReported() async throws {
        let kit = try FilmKit()
        let path = try kit.home.write("a.png", "no picture".utf8)
        let error = await #expect(throws: TapesError.self) { try await kit.render(clips: [kit.clip(path, .image)]) }
        #expect(error?.code == .clipUndecodable)
        #expect(error?.path == Array(path.utf8))
        #expect(error?.detail.isEmpty == false)
        #expect(error?.detail.contains("mediactl-render") == false)
        #expect(try kit.names == ["a.png"])
    }

    @Test func aVideoReplacedByAShorterOneIsAnError() async throws {
        let kit = try FilmKit()
        var clip = try await kit.video("a.mov", "color=red:s=64x36:r=30:d=0.3")
        clip.durationMilliseconds = 60_000
        clip.trimStartMilliseconds = 30_000
        let clips = [clip]
        let error = await #expect(throws: TapesError.self) { try await kit.render(clips: clips) }
        #expect(error?.code == .trimTooLong)
        #expect(error?.path == clips[0].source)
    }
}
