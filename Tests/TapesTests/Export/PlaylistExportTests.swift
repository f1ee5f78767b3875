import Foundation
import MediaStore
import Testing

@testable import Tapes

/// `tapes export --format m3u8` (contract 5 and 8).
@Suite struct PlaylistExportTests {
    private func lines(_ tape: TapeRecord = ExportFixtures.tape(), _ clips: ClipRecord...) throws -> [String] {
        let text = String(decoding: try TapeExport.m3u8.bytes(of: tape, clips: clips), as: UTF8.self)
        // Not `split`: CR LF would be one character.
        return text.components(separatedBy: "\n")
    }

    @Test func everyClipIsANameAndAPathInTheOrderOfTheTape() throws {
        let found = try lines(
            ExportFixtures.tape("Été"),
            ExportFixtures.video("/media/b clip.mov", 61_499),
            ExportFixtures.still("/media/a.jpg"),
            ExportFixtures.video("/media/c.mp4", nil),
            ExportFixtures.live("/media/l.heic", video: "/media/l.mov", 2500)
        )
        #expect(
            found == [
                "#EXTM3U", "#PLAYLIST:Été",
                "#EXTINF:61,b clip.mov", "/media/b clip.mov",
                "#EXTINF:4,a.jpg", "/media/a.jpg",
                "#EXTINF:-1,c.mp4", "/media/c.mp4",
                "#EXTINF:4,l.heic", "/media/l.heic",
                "",
            ]
        )
    }

    @Test(
        arguments: [(nil, "-1"), (0, "1"), (499, "1"), (1499, "1"), (1500, "2"), (3_600_000, "3600")]
            as [(Int64?, String)]
    )
    func secondsAreWholeNumbers(_ milliseconds: Int64?, _ expected: String) throws {
        let found = try lines(ExportFixtures.tape(), ExportFixtures.video("/a.mov", milliseconds))
        #expect(found[2] == "#EXTINF:\(expected),a.mov")
    }

    /// Neither a title nor a name starts a new line, and no path is lost.
    @Test(
        arguments: [
            ("/m/a\n/etc/passwd", "#EXTINF:1,passwd", "file:///m/a%0A/etc/passwd"),
            ("/m/x\r\n#EXT:9,y.mov", "#EXTINF:1,x\\u{d}\\u{a}#EXT:9,y.mov", "file:///m/x%0D%0A%23EXT%3A9%2Cy.mov"),
            ("/m/ends in a blank ", "#EXTINF:1,ends in a blank ", "file:///m/ends%20in%20a%20blank%20"),
            ("/m/\u{1b}[31m.mov", "#EXTINF:1,\\u{1b}[31m.mov", "file:///m/%1B%5B31m.mov"),
            ("/m/a\tb.mov", "#EXTINF:1,a\\u{9}b.mov", "file:///m/a%09b.mov"),
            ("/m/\u{7f}.mov", "#EXTINF:1,\\u{7f}.mov", "file:///m/%7F.mov"),
            ("/m/\u{9b}.mov", "#EXTINF:1,\\u{9b}.mov", "file:///m/%C2%9B.mov"),
            ("/m/vom\u{202e}.mov", "#EXTINF:1,vom\\u{202e}.mov", "file:///m/vom%E2%80%AE.mov"),
            ("/m/\u{2028}.mov", "#EXTINF:1,\\u{2028}.mov", "file:///m/%E2%80%A8.mov"),
            ("/m/\u{200b}.mov", "#EXTINF:1,\u{200b}.mov", "file:///m/%E2%80%8B.mov"),
            ("/m/50%,#1:é.mov", "#EXTINF:1,50%,#1:é.mov", "/m/50%,#1:é.mov"),
        ]
    )
    func noNameBreaksTheFile(_ path: String, _ name: String, _ location: String) throws {
        let found = try lines(ExportFixtures.tape("a\nb\u{202e}"), ExportFixtures.video(path, 1000))
        #expect(found == ["#EXTM3U", "#PLAYLIST:a\\u{a}b\\u{202e}", name, location, ""])
    }

    /// Trap 17: a path is bytes.
    @Test func bytesThatAreNotTextAreUnchanged() throws {
        let path = Array("/m/caf".utf8) + [0xE9] + Array(".mov".utf8)
        let bytes = try TapeExport.m3u8.bytes(of: ExportFixtures.tape(), clips: [ExportFixtures.video(path, nil)])
        let expected = Array("#EXTM3U\n#PLAYLIST:Summer\n#EXTINF:-1,caf\\xe9.mov\n".utf8) + path + [0x0A]
        #expect(bytes == expected)
    }

    @Test(arguments: TapeExport.allCases)
    func aTapeWithoutFilesIsNotExported(_ format: TapeExport) {
        let clip = ClipRecord(id: "x", tapeID: "t", kind: .video, source: nil)
        for clips in [[], [clip]] {
            let error = #expect(throws: TapesError.self) { try format.bytes(of: ExportFixtures.tape(), clips: clips) }
            #expect(error?.code == .nothingToExport)
        }
    }

    @Test(
        arguments: [
            ("/a-b._~/Z9", "file:///a-b._~/Z9"), ("/é %?#[", "file:///%C3%A9%20%25%3F%23%5B"),
        ]
    )
    func urlsOfFiles(_ path: String, _ expected: String) {
        #expect(FileURL.text(of: Array(path.utf8)) == expected)
        #expect(URL(string: expected)?.path == path)
    }
}
