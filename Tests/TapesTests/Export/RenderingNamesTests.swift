import Foundation
import Glibc
import MediaStore
import TestSupport
import Testing

@testable import Tapes

/// A file is read as one file, regardless of its name and content.
@Suite(.enabled(if: FilmKit.isInstalled, FilmKit.requirement))
struct RenderingNamesTests {
    /// Trap 17, and names with a meaning for ffmpeg or a shell: options, patterns, protocols, lines.
    @Test func everyNameIsUsedAsAFileName() async throws {
        let kit = try FilmKit()
        try await kit.still("p.jpg", "color=red:s=64x36")
        try await kit.video("v.mov", "color=blue:s=64x36:r=30:d=0.1")
        let names: [(from: String, to: [UInt8])] = [
            ("p.jpg", Array("-i.jpg".utf8)), ("p.jpg", Array("a%03d.jpg".utf8)),
            ("p.jpg", Array("line\nbreak*?.jpg".utf8)),
            ("v.mov", Array("concat:v.mov|p.jpg".utf8)),
            ("v.mov", Array("'$(touch x)\\".utf8) + [0xFF]),
        ]
        let clips = try names.map { name in
            let path = Array(kit.home.path.utf8) + [UInt8(ascii: "/")] + name.to
            try FilmKit.link(Array(kit.home.file(name.from).utf8), path)
            return kit.clip(path, name.from == "p.jpg" ? .image : .video)
        }
        let directory = Array(kit.home.file("to:\n%d").utf8) + [0xFE]
        #expect(mkdir(directory.map(CChar.init(bitPattern:)) + [0], 0o700) == 0)
        let target = directory + Array("/-y %03d\n".utf8) + [0xFD] + Array(".MP4".utf8)
        var options = TapeRendering.Options(longSide: 64)
        let rendering = TapeRendering(searchPath: FilmKit.searchPath)
        try await rendering.render(FilmKit.tape(), clips: clips, to: target, options: options)
        #expect(try await kit.look(target).middles == [.red, .blue])
        // The film is rendered once more at the same path.
        options.isReplacing = true
        try await rendering.render(FilmKit.tape(), clips: [clips[0]], to: target, options: options)
        let film = try await kit.look(target)
        #expect(film.middles == [.red])
        #expect(film.frameCount == 6)
        // Two originals, their five names, and the directory of the target.
        #expect(try kit.names.count == 8)
    }

    /// The temporary directory also contains the directory of links to originals.
    @Test func theTargetMayBeInTheTemporaryDirectory() async throws {
        let kit = try FilmKit()
        let still = try await kit.still("a.png", "color=red:s=64x36")
        let target = NSTemporaryDirectory() + "/mediactl-test-\(UUID().uuidString).mp4"
        defer { try? FileManager.default.removeItem(atPath: target) }
        try await TapeRendering(searchPath: FilmKit.searchPath)
            .render(FilmKit.tape(), clips: [still], to: Array(target.utf8), options: .init(longSide: 64))
        #expect(try await kit.look(Array(target.utf8)).frameCount == 6)
    }

    /// A playlist with a video's extension is not followed.
    @Test(
        arguments: [
            "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nhttp://127.0.0.1:9/x.ts\n#EXT-X-ENDLIST\n",
            "ffconcat version 1.0\nfile /etc/passwd\n",
        ]
    )
    func noContentReferencesOtherFiles(_ text: String) async throws {
        let kit = try FilmKit()
        try Data(text.utf8).write(to: URL(filePath: kit.home.file("clip.mp4")))
        let error = await #expect(throws: TapesError.self) {
            try await kit.render(clips: [kit.clip(kit.home.file("clip.mp4"))])
        }
        #expect(error?.code == .clipUndecodable)
        #expect(error?.path == Array(kit.home.file("clip.mp4").utf8))
        #expect(error?.detail.contains("mediactl-render") == false)
        #expect(try kit.names == ["clip.mp4"])
    }
}
