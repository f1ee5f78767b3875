import Foundation
import Testing

@testable import MediaStore

@Suite("Token export")
struct TokenExportTests {
    let fixture: StoreFixture

    init() throws { fixture = try StoreFixture() }

    /// A line written by hand.
    private static let line = """
        {"base_url":"https://gighive.app","checksum_sha256":"\(String(repeating: "c", count: 64))",\
        "created_at":"2026-05-28T20:26:40.123Z","delete_token":"\(String(repeating: "a", count: 64))",\
        "event_date":"2026-05-01","event_type":"wedding","file_id":18,"file_name":"a b.mp4","file_type":"video",\
        "host":"gighive.app","label":"First/dance","org_name":"Ørg","schema":"mediactl.token-export/1",\
        "size_bytes":6442450944,"superseded":false}
        """

    private func entries(_ text: String) throws -> [TokenEntry] { try entries(Array(text.utf8)) }

    private func entries(_ bytes: [UInt8]) throws -> [TokenEntry] {
        try bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).enumerated().compactMap {
            let line = $1.last == UInt8(ascii: "\r") ? $1.dropLast() : $1
            guard !line.isEmpty else { return nil }
            return try TokenExport.entry(in: line, number: $0 + 1) { url in
                url.hasPrefix("https://") ? String(url.dropFirst(8)) : nil
            }
        }
    }

    @Test("an entry is written as a line with stable keys, and read back from it")
    func fixedLine() throws {
        var entry = try sampleEntry(at: 1_780_000_000.123)
        entry.label = "First/dance"
        entry.baseURL = "https://gighive.app"
        #expect(String(decoding: TokenExport.line(entry), as: UTF8.self) == Self.line)
        #expect(try entries(Self.line) == [entry])
    }

    @Test("every field is read back, regardless of its content")
    func roundTrip() throws {
        let times = [0, 0.001, 0.999, 1_780_000_000, 1_780_000_000.123, 1_780_000_000.999, -0.001, 4_102_444_799.5]
        let samples = try times.map { seconds in
            var entry = try sampleEntry(fileID: .max, at: seconds, checksum: "")
            entry.label = seconds == 0 ? nil : "\\ \" \u{2028} \u{1F3B8} \n \0"
            entry.isSuperseded = seconds == 0
            entry.orgName = ""
            entry.sizeBytes = 0
            entry.baseURL = "https://gighive.app"
            return entry
        }
        let bytes = samples.flatMap { (entry: TokenEntry) -> [UInt8] in TokenExport.line(entry) + [0x0a] }
        #expect(bytes.count { $0 == 0x0a } == samples.count)
        #expect(try entries(String(decoding: bytes, as: UTF8.self)) == samples)
    }

    @Test("terminal control characters are escaped")
    func safeForTerminals() throws {
        var entry = try sampleEntry()
        entry.label = "\u{1b}[2J\u{9b}\u{7f}\u{202e}é"
        let line = String(decoding: TokenExport.line(entry), as: UTF8.self)
        #expect(line.contains("\\u001b[2J\\u009b\\u007f\\u202eé"), "\(line.debugDescription)")
    }

    @Test("CR LF and empty lines are accepted, and so is a missing line feed at the end")
    func lineEnds() throws {
        #expect(try entries("").isEmpty)
        #expect(try entries("\n\r\n").isEmpty)
        #expect(try entries("\(Self.line)\r\n\r\n\(Self.line)").count == 2)
    }

    @Test(
        "an invalid entry is reported with its line, and without its token",
        arguments: [
            ("\"schema\":\"mediactl.token-export/1\"", "\"schema\":\"mediactl.token-export/2\"", "schema"),
            ("\"schema\":\"mediactl.token-export/1\",", "", "schema"),
            ("\"file_id\":18", "\"file_id\":0", "file_id"),
            ("\"file_id\":18", "\"file_id\":\"18\"", "file_id"),
            ("\"file_id\":18", "\"file_id\":18.5", "not a whole number"),
            ("\"file_id\":18", "\"file_id\":9223372036854775808", "not a whole number"),
            ("\"size_bytes\":6442450944", "\"size_bytes\":-1", "size_bytes"),
            ("\"event_date\":\"2026-05-01\"", "\"event_date\":null", "event_date"),
            ("2026-05-28T20:26:40.123Z", "2026-05-28T20:26:40.123+02:00", "created_at"),
            ("2026-05-28T20:26:40.123Z", "2026-13-28T20:26:40Z", "created_at"),
            ("2026-05-28T20:26:40.123Z", "2026-05-28T20:26:40.Z", "created_at"),
            ("\"delete_token\":\"", "\"delete_token\":\" ", "delete_token"),
            ("\"checksum_sha256\":\"c", "\"checksum_sha256\":\"C", "checksum_sha256"),
            ("\"host\":\"gighive.app\"", "\"host\":\"gighive.app:8443\"", "base_url"),
            ("\"host\":\"gighive.app\"", "\"host\":\"\"", "base_url"),
            ("https://gighive.app", "https://elsewhere.example", "base_url"),
            ("https://gighive.app", "ftp://gighive.app", "base_url"),
            ("{", "[{", "JSON"),
            ("}", "", "JSON"),
        ]
    )
    func refused(text: String, replacement: String, word: String) throws {
        let broken = Self.line.replacing(text, with: replacement)
        #expect(broken != Self.line)
        do {
            _ = try entries("\(Self.line)\n\n\(broken)\n")
            Issue.record("accepted")
        } catch let error as TokenExportError {
            #expect(error.line == 3)
            #expect(error.reason.contains(word), "\(error.reason)")
            #expect(!"\(error)".contains("aaaaaaaa"))
        }
    }

    @Test("a line longer than any entry, and bytes that are not text, are refused")
    func garbage() throws {
        let long = Self.line.replacing("First/dance", with: String(repeating: "x", count: 70_000))
        #expect(throws: TokenExportError(line: 1, reason: "longer than 65536 bytes")) { try entries(long) }
        #expect(throws: TokenExportError.self) { try entries([0xff, 0xfe, 0x00]) }
        #expect(throws: TokenExportError.self) { try entries("null") }
        #expect(throws: TokenExportError.self) { try entries("{}") }
    }

    // MARK: Import

    @Test("each entry is added, known, deleted or conflicting; a dry run changes nothing")
    func outcomes() throws {
        let store = try fixture.store()
        let known = try sampleEntry(fileID: 1)
        let buried = try sampleEntry(fileID: 2)
        let mine = try sampleEntry(fileID: 3)
        #expect(try store.add(known) && store.add(buried) && store.add(mine))
        try store.remove(buried)
        let new = try sampleEntry(fileID: 4)
        let imported = [known, buried, try sampleEntry(fileID: 3, digit: "b", at: 1_790_000_000), new, new]
        let expected: [AddOutcome] = [.known, .buried, .conflicting, .added, .known]
        #expect(try store.add(imported, isDryRun: true) == expected)
        #expect(try Set(store.tokens(host: nil, includeSuperseded: true).map(\.fileID)) == [1, 3])
        #expect(try store.add(imported) == expected)
        #expect(try store.tokens(host: nil).map(\.fileID).sorted() == [1, 3, 4])
        // Both are kept, and the newer one is used.
        #expect(try store.tokens(host: "gighive.app", fileID: 3).map(\.token) == [sampleToken("b"), sampleToken("a")])
        #expect(try store.tokens(host: "gighive.app", fileID: 3).map(\.isSuperseded) == [false, true])
        #expect(try store.add(imported) == [.known, .buried, .known, .known, .known])
    }

    @Test("the export of one store is imported by another, including superseded rows")
    func betweenStores() throws {
        let first = try fixture.store()
        for (id, digit, seconds) in [(1, "a", 1.0), (1, "b", 1.0), (2, "a", 3.125)] as [(Int64, Character, Double)] {
            var entry = try sampleEntry(fileID: id, digit: digit, at: seconds)
            entry.baseURL = "https://gighive.app"
            #expect(try first.add(entry))
        }
        let all = try first.tokens(host: nil, includeSuperseded: true)
        let text = all.reversed().map { String(decoding: TokenExport.line($0), as: UTF8.self) }.joined(separator: "\n")
        let other = try StoreFixture()
        let second = try other.store()
        #expect(try second.add(entries(text)) == [.added, .conflicting, .added])
        let copies = try second.tokens(host: nil, includeSuperseded: true)
        #expect(copies.map { TokenExport.line($0) } == all.map { TokenExport.line($0) })
    }
}
