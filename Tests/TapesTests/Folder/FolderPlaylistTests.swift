import Foundation
import Glibc
import MediaStore
import TestSupport
import Testing

@testable import Tapes

@Suite struct FolderPlaylistTests {
    private func playlist(_ fixture: FolderFixture) throws -> String {
        try String(contentsOfFile: fixture.path("tape.m3u8"), encoding: .utf8)
    }

    @Test("trap 11: the playlist and the links are in the order of the tape") func order() async throws {
        let (fixture, album) = try await FolderFixture.withAlbum()
        let video = try fixture.original("clip.mov")
        let still = try fixture.original("a.jpg")
        let unknown = try fixture.original("b.mov")
        _ = try await fixture.add([video, still, unknown], to: album)
        var image = fixture.clip(still)
        image.imageMilliseconds = 4000
        var live = fixture.clip(still, kind: .live, milliseconds: 2900)
        live.pairedSource = video
        let clips = [
            fixture.clip(unknown, kind: .video), image, fixture.clip(video, kind: .video, milliseconds: 61_500),
            // Not in the album yet; the same original twice.
            fixture.clip(Array("/not/there".utf8)), live,
        ]
        try await fixture.library.arrange(album.id, hint: album.hint, tape: fixture.tape("Sümmer"), clips: clips)
        #expect(
            try playlist(fixture) == """
                #EXTM3U
                #PLAYLIST:Sümmer
                #EXTINF:-1,0001-b.mov
                ./0001-b.mov
                #EXTINF:4,0002-a.jpg
                ./0002-a.jpg
                #EXTINF:62,0003-clip.mov
                ./0003-clip.mov
                #EXTINF:4,there
                /not/there
                #EXTINF:4,0002-a.jpg
                ./0002-a.jpg

                """
        )
    }

    @Test("a line break in a name or a title cannot break the playlist") func lineBreaks() async throws {
        let (fixture, album) = try await FolderFixture.withAlbum()
        let path = try fixture.original("a\n/etc/passwd\r\n#EXTINF.jpg".replacingOccurrences(of: "/", with: ":"))
        _ = try await fixture.add([path], to: album)
        let tape = fixture.tape("Sum\nmer\r/etc")
        try await fixture.library.arrange(album.id, hint: album.hint, tape: tape, clips: [fixture.clip(path)])
        let lines = try playlist(fixture).split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.count == 5 && lines[4].isEmpty)
        #expect(
            lines[1].hasPrefix("#PLAYLIST:Sum") && lines[3].hasPrefix("./0001-a_") && lines[2].hasPrefix("#EXTINF:4,")
        )
        #expect(!(try playlist(fixture)).contains("\r"))
    }

    @Test func itIsWrittenOnlyWhenItChanges() async throws {
        let (fixture, album) = try await FolderFixture.withAlbum()
        let paths = try ["a.jpg", "b.jpg"].map { try fixture.original($0) }
        _ = try await fixture.add(paths, to: album)
        func arrange(_ paths: [[UInt8]]) async throws -> ino_t {
            let clips = paths.map { fixture.clip($0) }
            try await fixture.library.arrange(album.id, hint: album.hint, tape: fixture.tape(), clips: clips)
            var status = stat()
            try #require(lstat(fixture.path("tape.m3u8"), &status) == 0)
            return status.st_ino
        }
        let first = try await arrange(paths)
        #expect(try await arrange(paths) == first)
        #expect(try await arrange(paths.reversed()) != first)
    }

    @Test(
        "a file with the playlist's name that mediactl did not create is kept",
        arguments: ["text", "link", "directory"]
    )
    func foreign(kind: String) async throws {
        let fixture = try await FolderFixture.ready()
        let path = try fixture.original("a.jpg")
        let witness = try fixture.witness()
        let album = try await fixture.album()
        _ = try await fixture.add([path], to: album)
        let file = fixture.path("tape.m3u8")
        switch kind {
        case "text": try fixture.write("mine", to: file)
        case "link": try makeLink(file, to: "../../2024/a.jpg")
        default: try FileManager.default.createDirectory(atPath: file, withIntermediateDirectories: false)
        }
        let folder = try OriginalsWitness(fixture.root)
        try await fixture.library.arrange(album.id, hint: album.hint, tape: fixture.tape(), clips: [fixture.clip(path)])
        try folder.check()
        try witness.check()
    }
}
