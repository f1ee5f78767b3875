import Foundation
import Testing

@testable import Tapes

/// Names of folders and links, to the byte (contract section 5).
@Suite struct AlbumNameTests {
    @Test(
        "trap 19: folders",
        arguments: [
            ("Tapes – Summer", "Tapes – Summer"), ("a/b\0c\u{1}d\u{7f}e\u{85}f\ng", "a_b_c_d_e_f_g"),
            ("end. . .", "end"), ("  both ", "  both"), (".hidden", "_hidden"), ("..", "_"), ("", "_"), (". .", "_"),
            ("a\u{202e}b", "a_b"),
            // e with an acute accent in two scalars becomes one.
            ("Cafe\u{301}", "Caf\u{e9}"),
        ]
    )
    func folders(title: String, expected: String) {
        #expect(AlbumName.folder(title) == Array(expected.utf8))
    }

    @Test("trap 19: the title's dash is U+2013, three bytes") func dash() {
        #expect(AlbumName.folder("Tapes – X") == Array("Tapes ".utf8) + [0xe2, 0x80, 0x93] + Array(" X".utf8))
    }

    @Test func numbersFollowTheName() {
        #expect(AlbumName.folder("Tapes – X", number: 2) == Array("Tapes – X (2)".utf8))
        #expect(AlbumName.folder("x. ", number: 12) == Array("x (12)".utf8))
    }

    @Test(arguments: [
        // 200 bytes fit.
        (String(repeating: "a", count: 200), 200), (String(repeating: "a", count: 201), 200),
        // A character of 2 bytes at the 200th byte is dropped whole; so is a family emoji of 25.
        ("a" + String(repeating: "é", count: 120), 199),
        (String(repeating: "a", count: 180) + "👨‍👩‍👧‍👦" + "b", 180),
        // Trailing characters are also trimmed after truncation.
        (String(repeating: "a", count: 198) + ". b", 198),
        // One character of 400 bytes is split between its scalars.
        ("a" + String(repeating: "\u{327}", count: 200), 199),
    ])
    func longFolders(title: String, byteCount: Int) throws {
        let name = AlbumName.folder(title)
        #expect(name.count == byteCount)
        #expect(String(validating: name, as: UTF8.self) != nil)
        #expect(title.precomposedStringWithCanonicalMapping.utf8.starts(with: name))
    }

    @Test(arguments: [
        (Int64(1), "/p/IMG_2041.jpg", "0001-IMG_2041.jpg"), (2, "/p/clip.mov", "0002-clip.mov"),
        (12345, "/p/x", "12345-x"), (3, "/p/.hidden.jpg", "0003-_hidden.jpg"), (4, "/p/a\nb\t.jpg", "0004-a_b_.jpg"),
        (5, "/p/name. ", "0005-name"), (6, "/p/...", "0006-_"), (7, "/p/Cafe\u{301}.jpg", "0007-Caf\u{e9}.jpg"),
        (8, "/p/dir/", "0008-dir"),
        // Characters that reorder or break a line are control characters; those that join characters are not.
        (9, "/p/a\u{202e}gpj\u{2066}\u{200f}\u{2028}.mov", "0009-a_gpj___.mov"),
        (10, "/p/👨‍👩‍👧.jpg", "0010-👨‍👩‍👧.jpg"),
    ])
    func links(sequence: Int64, source: String, expected: String) {
        #expect(AlbumName.link(sequence, source: Array(source.utf8)) == Array(expected.utf8))
    }

    @Test(
        "trap 17: each byte that is not UTF-8 becomes _",
        arguments: [
            ([0xff, 0xfe, 0x2e, 0x6a], "0001-__.j"),
            // A truncated sequence, then a letter; Latin-1 é; a lone surrogate; an overlong slash.
            ([0xe2, 0x80, 0x61], "0001-__a"), ([0x63, 0xe9], "0001-c_"), ([0xed, 0xa0, 0x80], "0001-___"),
            ([0xc0, 0xaf], "0001-__"),
            // U+FFFD itself is valid text.
            ([0xef, 0xbf, 0xbd], "0001-\u{fffd}"),
        ] as [([UInt8], String)]
    )
    func invalidBytes(last: [UInt8], expected: String) {
        #expect(AlbumName.link(1, source: Array("/p/".utf8) + last) == Array(expected.utf8))
    }

    @Test(arguments: [
        // Names of 255 bytes, and of 300 on a file system that supports them, with and without extension.
        (String(repeating: "a", count: 255), 255, ""), (String(repeating: "a", count: 251) + ".jpg", 255, ".jpg"),
        (String(repeating: "a", count: 300) + ".jpeg", 255, ".jpeg"),
        // 5 of the prefix, 246 of 123 letters, 4 of the extension; with one byte before them, one letter fewer fits.
        (String(repeating: "é", count: 125) + ".jpg", 255, ".jpg"),
        ("a" + String(repeating: "é", count: 125) + ".jpg", 254, ".jpg"),
    ])
    func longLinks(last: String, byteCount: Int, ending: String) throws {
        let name = AlbumName.link(1, source: Array("/p/\(last)".utf8))
        #expect(name.count == byteCount)
        let text = try #require(String(validating: name, as: UTF8.self))
        #expect(text.hasSuffix(ending) && text.hasPrefix("0001-"))
    }

    @Test(arguments: [
        ("0001-a", Int64(1)), ("12345-a", 12345), ("0001-", 1), ("001-a", nil), ("a0001-", nil), ("0001", nil),
        ("0000-a", nil), ("99999999999999999999-a", nil), ("9223372036854775807-a", nil),
    ])
    func sequences(name: String, expected: Int64?) {
        #expect(AlbumName.sequence(of: Array(name.utf8)) == expected)
    }
}

/// The targets of links, and the files they refer to (contract section 5; R6: no link in the path is resolved).
@Suite struct LinkTargetTests {
    private static let pictures = "/home/me/Pictures"

    @Test(arguments: [
        // Original and album in the pictures directory: relative.
        ("/home/me/Pictures/2024/a.jpg", "/home/me/Pictures/Tapes/X", "../../2024/a.jpg"),
        ("/home/me/Pictures/a.jpg", "/home/me/Pictures/Tapes/X", "../../a.jpg"),
        ("/home/me/Pictures/a.jpg", "/home/me/Pictures/sub/Tapes/X", "../../../a.jpg"),
        // Otherwise absolute.
        ("/mnt/a.jpg", "/home/me/Pictures/Tapes/X", "/mnt/a.jpg"),
        ("/home/me/Pictures/a.jpg", "/srv/Tapes/X", "/home/me/Pictures/a.jpg"),
        ("/home/me/Pictures2/a.jpg", "/home/me/Pictures/Tapes/X", "/home/me/Pictures2/a.jpg"),
        // Components that cannot be counted.
        ("/home/me/Pictures/../a.jpg", "/home/me/Pictures/Tapes/X", "/home/me/Pictures/../a.jpg"),
        ("/home/me/Pictures//a.jpg", "/home/me/Pictures/Tapes/X", "/home/me/Pictures//a.jpg"),
    ])
    func pathsAndTargetsRoundTrip(source: String, folder: String, target: String) {
        let targets = LinkTarget(folder: Array(folder.utf8), pictures: Array(Self.pictures.utf8))
        #expect(targets.target(of: Array(source.utf8)) == Array(target.utf8))
        #expect(targets.source(of: Array(target.utf8)) == Array(source.utf8))
    }

    @Test func withoutPicturesEverythingIsAbsolute() {
        let targets = LinkTarget(folder: Array("/home/me/Pictures/Tapes/X".utf8), pictures: nil)
        let source = Array("/home/me/Pictures/a.jpg".utf8)
        #expect(targets.target(of: source) == source)
        // Targets that an earlier setting made relative are still resolved.
        #expect(targets.source(of: Array("../../a.jpg".utf8)) == source)
    }

    @Test(arguments: ["", "../../../../../../a"]) func invalidTargets(target: String) {
        let targets = LinkTarget(folder: Array("/home/me/Tapes/X".utf8), pictures: nil)
        #expect(targets.source(of: Array(target.utf8)) == nil)
    }
}
