import Foundation
import Testing

@testable import Tapes

@Suite struct AlbumManifestTests {
    private static let head = """
        {"format":"mediactl.album","version":1,"id":"A2F0C5AE-1111-4222-8333-444455556666","libraryId":"L","tapeId":"T",
        """

    private func read(_ rest: String) -> AlbumManifest? { AlbumManifest(Array((Self.head + rest).utf8)) }

    /// Content written by other programs is preserved byte by byte: numbers of any size, keys of any kind, elements
    /// that are not links.
    @Test func unknownKeysArePreserved() throws {
        let rest = """
            "title":"x","createdAt":"2026-01-01T00:00:00Z","nextSequence":2,
            "big":123456789012345678901234567890.50,"tricky\\u00e9": { "a" : [1, 2,{}] },
            "entries":[{"seq":1,"link":"0001-a.jpg","target":"/p/a.jpg","kind":"image","addedAt":"t","note":1e2},
              {"newKind":true}, 7]}
            """
        var manifest = try #require(read(rest))
        #expect(manifest.entries.map(\.link) == [Array("0001-a.jpg".utf8)])
        manifest.nextSequence = 3
        let text = String(decoding: manifest.text, as: UTF8.self)
        for kept in [
            "\"big\": 123456789012345678901234567890.50", "{ \"a\" : [1, 2,{}] }", "\"note\": 1e2",
            "{\"newKind\":true}",
        ] {
            #expect(text.contains(kept))
        }
        let parsed = try JSONSerialization.jsonObject(with: Data(manifest.text)) as? [String: Any]
        #expect(parsed?["trickyé"] != nil && parsed?["nextSequence"] as? Int == 3)
        #expect((parsed?["entries"] as? [Any])?.count == 3)
        // Parsing and writing it again changes nothing.
        #expect(AlbumManifest(manifest.text)?.text == manifest.text)
    }

    /// Trap 17.
    @Test(
        arguments: [
            (Array("/p/é".utf8), "target", "/p/é"), (Array("/p/e\u{301}".utf8), "target", "/p/e\u{301}"),
            (Array("/p/a\nb\"\\".utf8), "target", "/p/a\nb\"\\"), ([0x2f, 0xff], "targetBase64", "L/8="),
        ] as [([UInt8], String, String)]
    )
    func targetsAreBytes(target: [UInt8], key: String, value: String) throws {
        var manifest = AlbumManifest(id: "i", libraryID: "l", tapeID: "t", title: "x", createdAt: "c")
        manifest.elements = [
            .entry(.init(sequence: 1, link: Array("0001-x".utf8), target: target, kind: "video", addedAt: "d"))
        ]
        let parsed = try JSONSerialization.jsonObject(with: Data(manifest.text)) as? [String: Any]
        let entry = try #require((parsed?["entries"] as? [[String: Any]])?.first)
        #expect((entry[key] as? String).map { Array($0.utf8) } == Array(value.utf8))
        #expect(entry["seq"] as? Int == 1 && entry["kind"] as? String == "video" && entry["addedAt"] as? String == "d")
        #expect(AlbumManifest(manifest.text)?.entries.map(\.target) == [target])
    }

    @Test(arguments: [
        "", "{", "[]", "{}", #"{"format":"other","version":1,"id":"a","libraryId":"l","tapeId":"t"}"#,
        #"{"format":"mediactl.album","id":"a","libraryId":"l","tapeId":"t"}"#,
        #"{"format":"mediactl.album","version":0,"id":"a","libraryId":"l","tapeId":"t"}"#,
        #"{"format":"mediactl.album","version":1,"libraryId":"l","tapeId":"t"}"#,
        #"{"format":"mediactl.album","version":1,"id":"a","libraryId":"l","tapeId":"t"} x"#,
    ])
    func invalidManifests(text: String) { #expect(AlbumManifest(Array(text.utf8)) == nil) }

    /// A damaged or malicious manifest: no name refers outside the folder, and no sequence number is repeated.
    @Test(arguments: ["../x", "a/b", "..", ".", "", ".mediactl-album.json", "tape.m3u8"])
    func namesThatAreNotLinks(name: String) throws {
        let manifest = try #require(
            read(#""entries":[{"seq":1,"link":"\#(name)","target":"/p/a"}]}"#)
        )
        #expect(manifest.entries.isEmpty && manifest.elements.count == 1)
    }

    @Test(arguments: [
        (#""nextSequence":9,"entries":[{"seq":4,"link":"0004-a","target":"/p/a"}]}"#, Int64(9)),
        (#""nextSequence":2,"entries":[{"seq":4,"link":"0004-a","target":"/p/a"}]}"#, 5),
        (#""nextSequence":9223372036854775807}"#, 1), (#""nextSequence":-3}"#, 1), (#""x":1}"#, 1),
    ])
    func sequencesAreNeverReused(rest: String, expected: Int64) throws {
        #expect(try #require(read(rest)).nextSequence == expected)
    }

    @Test func idsAreComparedInLowerCase() throws {
        #expect(try #require(read(#""x":1}"#)).id == "a2f0c5ae-1111-4222-8333-444455556666")
    }
}
