import Foundation
import MediaTransport
import TestSupport
import Testing

/// Our multipart bodies, read by third-party parsers, and compared with what these read from `curl -F`.
@Suite("Multipart conformance", .foreignParsers)
struct MultipartConformanceTests {
    /// A file name, and how each parser reads it. `"`, CR and LF are sent as `%22`, `%0D`, `%0A` (WHATWG HTML,
    /// multipart/form-data encoding); only werkzeug decodes `%22`. A backslash is sent unchanged; PHP treats what
    /// precedes it as a directory, werkzeug as an escape.
    struct NamedFile: Sendable, CustomTestStringConvertible {
        let name: String
        var php: String?
        var werkzeug: String?
        var pythonMultipart: String?

        func expected(by parser: Parser) -> String {
            switch parser {
            case .php: php ?? name
            case .werkzeug: werkzeug ?? name
            case .pythonMultipart: pythonMultipart ?? name
            }
        }

        var testDescription: String { String(name.prefix(40)).debugDescription }
    }

    static let names = [
        NamedFile(name: "clip.mp4"),
        NamedFile(
            name: "a \"quoted\" name.mp4",
            php: "a %22quoted%22 name.mp4",
            pythonMultipart: "a %22quoted%22 name.mp4"
        ),
        NamedFile(
            name: "two\r\nlines.mp4",
            php: "two%0D%0Alines.mp4",
            werkzeug: "two%0D%0Alines.mp4",
            pythonMultipart: "two%0D%0Alines.mp4"
        ),
        NamedFile(
            name: "x\r\nContent-Type: text/html\r\n\r\n<b>.mp4",
            php: "html%0D%0A%0D%0A<b>.mp4",
            werkzeug: "x%0D%0AContent-Type: text/html%0D%0A%0D%0A<b>.mp4",
            pythonMultipart: "x%0D%0AContent-Type: text/html%0D%0A%0D%0A<b>.mp4"
        ),
        NamedFile(name: "back\\slash.mp4", php: "slash.mp4", werkzeug: "backslash.mp4"),
        NamedFile(name: "été 😀 日本.mp4"),
        NamedFile(name: "e\u{301}te\u{301}.mp4"),
        NamedFile(name: "a;filename=b;c.mp4"),
        NamedFile(name: "--boundary--.mp4"),
        NamedFile(name: "100%.mp4"),
        NamedFile(name: String(repeating: "n", count: 4092) + ".mp4"),
        NamedFile(name: String(repeating: "😀", count: 1023) + ".mp4"),
    ]

    @Test("a file name is received as curl sends it", arguments: names, Parser.allCases)
    func fileName(_ file: NamedFile, _ parser: Parser) async throws {
        let servers = try #require(ForeignParsers.current)
        let form = SampleForm(fileName: file.name)

        let ours = try await servers.parse(form, with: parser)
        let curls = try await servers.parseFromCurl(form, with: parser)

        #expect(ours.files.map(\.name) == [file.expected(by: parser)])
        #expect(ours.files == curls.files)
        #expect(ours.fields == curls.fields)
    }

    /// Contents with their SHA-256: that of empty input from the example values of FIPS 180-4, others computed by
    /// OpenSSL.
    static let contents: [(name: String, bytes: [UInt8])] = [
        ("empty", []),
        ("one byte", [0]),
        ("ends with CR LF", Array("text\r\n".utf8)),
        ("all byte values", Array(0...255)),
        ("a truncated delimiter at the end", Array("text\r\n--mediactl-test-boundar".utf8)),
        (
            "a delimiter with another ending",
            Array("\r\n--mediactl-test-boundarx\r\n\r\n--mediactl-test-bound--\r\n".utf8)
        ),
        (
            "another form",
            Array("\r\n--other\r\nContent-Disposition: form-data; name=\"label\"\r\n\r\nx\r\n--other--\r\n".utf8)
        ),
        ("larger than every buffer", (0..<3_000_001).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }),
    ]

    @Test("content arrives byte for byte", arguments: contents.indices, Parser.allCases)
    func content(_ index: Int, _ parser: Parser) async throws {
        let servers = try #require(ForeignParsers.current)
        let form = SampleForm(content: Self.contents[index].bytes, boundary: "mediactl-test-boundary")

        let parsed = try await servers.parse(form, with: parser)

        let file = try #require(parsed.files.first)
        #expect(parsed.files.count == 1)
        #expect(file.size == form.content.count)
        #expect(try await file.sha256 == Self.digest(of: form.content))
        #expect(file.contentType == "video/mp4")
        #expect(file.field == "file")
        #expect(parsed.fields == [["label", "First dance"]])
    }

    static let values = [
        "plain",
        "",
        "été 😀",
        "two\r\nlines",
        "\r\n--mediactl-test-boundar\r\n",
        "Content-Disposition: form-data; name=\"file\"",
        "a=b&c=%41;d\\\"e",
        String(repeating: "v", count: 4096),
    ]

    @Test("a field's value arrives unchanged", arguments: values, Parser.allCases)
    func fieldValue(_ value: String, _ parser: Parser) async throws {
        let servers = try #require(ForeignParsers.current)
        let form = SampleForm(
            fields: [(name: "event_date", value: "2026-06-13"), (name: "label", value: value)],
            boundary: "mediactl-test-boundary"
        )

        let parsed = try await servers.parse(form, with: parser)

        #expect(parsed.fields == [["event_date", "2026-06-13"], ["label", value]])
        #expect(parsed.files.map(\.name) == ["clip.mp4"])
    }

    @Test(
        "a field's name is received as curl sends it",
        arguments: ["label", "a\"b", "a\r\nb", "a;b", "é😀", String(repeating: "n", count: 4096)],
        Parser.allCases
    )
    func fieldName(_ name: String, _ parser: Parser) async throws {
        let servers = try #require(ForeignParsers.current)
        let form = SampleForm(fields: [(name: name, value: "value")], fileField: "file")

        let ours = try await servers.parse(form, with: parser)
        let curls = try await servers.parseFromCurl(form, with: parser)

        #expect(ours.fields.map(\.last) == ["value"])
        #expect(ours.fields == curls.fields)
        #expect(ours.files == curls.files)
    }

    /// The digest as computed by `openssl dgst`.
    private static func digest(of bytes: [UInt8]) async throws -> String {
        let directory = try TemporaryDirectory()
        try Data(bytes).write(to: URL(filePath: directory.file("content")))
        let openssl = try await ForeignProgram.run(
            try ForeignProgram.path(of: "openssl"),
            ["dgst", "-sha256", "-r", directory.file("content")]
        )
        return String(openssl.output.prefix(64))
    }
}
