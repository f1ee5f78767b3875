import Foundation
import MediaStore
import Synchronization
import TestSupport
import Testing

@testable import Tapes

/// All clips that this ffmpeg cannot decode are found before a rendering starts.
@Suite(.enabled(if: FilmKit.isInstalled, FilmKit.requirement))
struct UndecodableClipTests {
    /// An HEIC photo written by libheif's heif-enc: 64 by 36 pixels.
    private static let photo = Repository.path("fixtures/media/still.heic")

    /// ffmpeg before 6.1 does not support HEIC; later versions decode this photo, which is not divided into tiles.
    private static let readsPhotos = {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["ffprobe", "-v", "quiet", photo]
        try? process.run()
        process.waitUntilExit()
        return process.terminationStatus == 0
    }()

    private let kit: FilmKit

    init() throws { kit = try FilmKit() }

    /// By position: #1 an image, #2 an HEIC photo, #3 a video, #4 only audio, #5 not a media file.
    private func clips() async throws -> [ClipRecord] {
        try FileManager.default.copyItem(atPath: Self.photo, toPath: kit.home.file("b.heic"))
        try await FilmKit.run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "sine=d=1", kit.home.file("d.wav")])
        try Data("none".utf8).write(to: URL(filePath: kit.home.file("e.mp4")))
        var clips = [
            try await kit.still("a.png", "color=red:s=64x36"), kit.clip(kit.home.file("b.heic"), .image),
            try await kit.video("c.mov", "color=red:s=64x36:r=30:d=0.3"), kit.clip(kit.home.file("d.wav")),
            kit.clip(kit.home.file("e.mp4")),
        ]
        for index in clips.indices { clips[index].position = index }
        return clips
    }

    @Test func allAreListedBeforeAnythingIsRendered() async throws {
        let clips = try await clips()
        let before = try kit.names
        let hasBegun = Mutex(false)
        let error = await #expect(throws: TapesError.self) {
            try await kit.render(clips: clips) { _, _ in hasBegun.withLock { $0 = true } }
        }
        let expected = Self.readsPhotos ? [4, 5] : [2, 4, 5]
        #expect(error?.code == .clipUndecodable && error?.path == clips[expected[0] - 1].source)
        let found = try #require(error?.underlying as? UndecodableClips)
        #expect(found.checkedCount == 5)
        #expect(found.clips.map(\.number) == expected)
        #expect(found.clips.map(\.path) == expected.map { clips[$0 - 1].source ?? [] })
        #expect(found.clips.allSatisfy { !$0.detail.isEmpty && !$0.detail.contains("mediactl-render") })
        #expect(!hasBegun.withLock { $0 })
        #expect(try kit.names == before)
        // The dry run reports the same error.
        let checked = await #expect(throws: TapesError.self) {
            try await TapeRendering(searchPath: FilmKit.searchPath).check(FilmKit.tape(), clips: clips)
        }
        #expect((checked?.underlying as? UndecodableClips)?.clips.map(\.number) == expected)
        #expect(try kit.names == before)
        // Without these clips, the film is rendered.
        let good = [clips[0], clips[2]]
        try await TapeRendering(searchPath: FilmKit.searchPath).check(FilmKit.tape(), clips: good)
        try await kit.render(clips: good)
    }

    /// The video of a live photo is played, so its still need not be decoded.
    @Test func theStillOfALivePhotoIsNotNeeded() async throws {
        let clips = try await clips()
        var live = clips[1]
        (live.kind, live.pairedSource) = (.live, clips[2].source)
        #expect(try await kit.film(FilmKit.tape(), [live]).frameCount == 9)
    }

    /// Audio in a format that ffmpeg does not support, as some phones record in addition to the common one.
    @Test func soundThatCannotBeDecoded() async throws {
        var clip = try await kit.video("a.mov", "color=red:s=64x36:r=30:d=0.3", sound: "sine=440:d=0.3")
        let url = URL(filePath: kit.home.file("a.mov"))
        var bytes = try Data(contentsOf: url)
        let name = try #require(bytes.range(of: Data("sowt".utf8)))
        bytes.replaceSubrange(name, with: Data("zzzz".utf8))
        try bytes.write(to: url)
        let clips = [clip]
        let error = await #expect(throws: TapesError.self) { try await kit.render(clips: clips) }
        #expect((error?.underlying as? UndecodableClips)?.clips.map(\.number) == [1])
        // Audio that is muted is not decoded.
        clip.volume = 0
        #expect(try await kit.film(FilmKit.tape(), [clip]).frameCount == 9)
    }
}
