import Testing

@testable import GigHive

/// The names under which servers serve files (gighive contract 2.2 and trap T16).
@Suite("Served names")
struct ServedNameTests {
    private static let digest = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"

    @Test(
        "the extension of a digest's name or path",
        arguments: [
            ("\(digest).mp4", "mp4"), ("/video/\(digest).mov", "mov"),
            ("https://example.org/audio/\(digest).flac", "flac"),
            ("\(digest.uppercased()).MP4", "MP4"), ("video/\(digest).mp4//", "mp4"), ("\(digest).12345678", "12345678"),
            ("\(digest).123456789", nil), ("\(digest).", nil), (digest, nil), ("\(digest).tar.gz", nil),
            ("\(digest.dropLast()).mp4", nil), ("\(digest)0.mp4", nil), ("g\(digest.dropFirst()).mp4", nil),
            ("2026-11-27_band_3.mp4", nil), ("", nil), ("/", nil), (".", nil), ("\(digest).m p4", nil),
            ("\(digest).mp4/clip", nil),
        ]
    )
    func pathExtension(name: String, expected: String?) {
        #expect(ServedName(kind: "video", names: [nil, name]).pathExtension == expected)
    }
}
