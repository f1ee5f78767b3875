import Foundation
import Testing

@testable import MediaFiles

/// PhotoSync contract trap 15: file names from the server are untrusted and not unique.
@Suite struct SafeFileNameTests {
    private static let id = "3f2504e0-4f89-41d3-9a0c-0305e82c3301"

    @Test(arguments: [
        ("IMG_0001.jpg", "IMG_0001.jpg"),
        ("Urlaub 2024 – Küste.jpeg", "Urlaub 2024 – Küste.jpeg"),
        ("../../etc/passwd", "passwd"),
        ("/etc/passwd", "passwd"),
        ("..\\..\\boot.ini", "_.._.._boot.ini"),
        ("a/b/", "b"),
        ("C:\\x?.jpg", "C__x_.jpg"),
        ("a:b*c?d\"e<f>g|h.png", "a_b_c_d_e_f_g_h.png"),
        ("line\nfeed\r\u{1b}[31m.jpg", "line_feed__[31m.jpg"),
        ("zero\u{0}byte.jpg", "zero_byte.jpg"),
        ("c1\u{9b}.jpg", "c1_.jpg"),
        // U+202E shows "gpj.exe" as "exe.jpg".
        ("photo\u{202e}gpj.exe", "photo_gpj.exe"),
        ("zero\u{200b}width.jpg", "zero_width.jpg"),
        ("bom\u{feff}.jpg", "bom_.jpg"),
        ("line\u{2028}.jpg", "line_.jpg"),
        ("  blanks .jpg  ", "blanks .jpg"),
        ("dots.jpg...", "dots.jpg"),
        ("dots.jpg. . ", "dots.jpg"),
        (".gif", "_.gif"),
        (".hidden.jpg", "_.hidden.jpg"),
        ("CON", "_CON"),
        ("nul.jpg", "_nul.jpg"),
        ("Com1.tar.gz", "_Com1.tar.gz"),
        ("com¹.jpg", "_com¹.jpg"),
        ("LPT9 .jpg", "_LPT9 .jpg"),
        ("CONTACT.jpg", "CONTACT.jpg"),
        ("COM10.jpg", "COM10.jpg"),
        // Decomposed, as HFS+ sends it: U+0065 U+0301.
        ("Cafe\u{301}.jpg", "Caf\u{e9}.jpg"),
    ])
    func namesAreSanitized(_ name: String, _ expected: String) {
        // Scalars are compared, since `==` on strings ignores composition.
        #expect(Array(SafeFileName(name, id: Self.id).text.unicodeScalars) == Array(expected.unicodeScalars))
    }

    @Test(arguments: ["", ".", "..", "...", "/", "a/..", " . . ", "\u{2003}"])
    func anEmptyNameIsReplacedByTheID(_ name: String) {
        #expect(SafeFileName(name, id: Self.id).text == "photo-\(Self.id).jpg")
    }

    @Test func theIDIsNotTrustedEither() {
        #expect(SafeFileName("", id: "../../x\u{0}y").text == "photo-xy.jpg")
        #expect(SafeFileName("", id: "/").text == "photo-unnamed.jpg")
    }

    @Test(arguments: [
        String(repeating: "a", count: 300) + ".jpg",
        String(repeating: "ü", count: 300) + ".jpeg",
        String(repeating: "👩‍👩‍👧", count: 60) + ".heic",
        String(repeating: "x", count: 300),
        "a." + String(repeating: "x", count: 300),
        "a" + String(repeating: "\u{301}", count: 300) + ".jpg",
        String(repeating: ".", count: 300) + "jpg",
        "a" + String(repeating: " ", count: 300) + ".jpg",
    ])
    func longNamesAreTruncatedForNumberAndTemporaryName(_ name: String) throws {
        let safe = SafeFileName(name, id: Self.id)
        let numbered = safe.numbered(12_345_678)
        for text in [safe.text, numbered.text, safe.temporary, numbered.temporary] {
            #expect(text.utf8.count <= 255)
            #expect(text.precomposedStringWithCanonicalMapping.utf8.elementsEqual(text.utf8))
            // No scalar was truncated.
            #expect(!text.unicodeScalars.contains("\u{fffd}"))
        }
        #expect(safe.text.utf8.count > 0)
        if let dot = name.lastIndex(of: "."), name[dot...].utf8.count < 10, !name.hasPrefix(".") {
            #expect(safe.text.hasSuffix(name[dot...]))
            #expect(numbered.text.hasSuffix(" (12345678)" + name[dot...]))
        }
    }

    @Test(arguments: [
        ("IMG_1.JPG", "img_1.jpg", true),
        ("É.jpg", "é.jpg", true),
        ("Straße.jpg", "STRASSE.JPG", true),
        ("ΟΔΟΣ.jpg", "οδος.jpg", true),
        ("Caf\u{e9}.jpg", "cafe\u{301}.jpg", true),
        ("a.jpg", "b.jpg", false),
        ("a.jpg", "a.jpeg", false),
    ])
    func namesThatDifferOnlyInCaseHaveTheSameKey(_ one: String, _ other: String, _ isOne: Bool) {
        #expect((SafeFileName.key(of: one) == SafeFileName.key(of: other)) == isOne)
    }

    @Test func temporaryNamesAreHiddenAndRecognizable() {
        #expect(SafeFileName("a.jpg", id: "1").temporary == ".a.jpg.mediactl-part")
        #expect(SafeFileName("a.jpg", id: "1").numbered(2).temporary == ".a (2).jpg.mediactl-part")
    }

    /// For any input, the result is one visible name that is valid on any file system.
    @Test func anyInputBecomesAValidName() {
        var generator = SystemRandomNumberGenerator()
        let pieces = ["..", "/", "\\", "\0", " ", ".", "CON", "a", "ü", "👩‍👩‍👧", "\u{202e}", "\n", ".jpg", "\u{301}", ":"]
        for _ in 0..<2000 {
            let name = (0..<Int.random(in: 0...40, using: &generator)).map { _ in pieces.randomElement() ?? "" }
                .joined()
            let text = SafeFileName(name, id: "1").text
            let isSafe =
                !text.isEmpty && text.utf8.count <= 240 && !text.contains("/") && !text.utf8.contains { $0 < 0x20 }
                && !text.hasPrefix(".") && !text.hasSuffix(".") && !text.hasSuffix(" ")
            #expect(isSafe, "\(name.debugDescription) became \(text.debugDescription)")
            // A safe name is unchanged.
            #expect(SafeFileName(text, id: "1").text == text)
        }
    }
}
