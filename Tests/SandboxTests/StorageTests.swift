import Foundation
import GRDB
import TestSupport
import Testing

@testable import Sandbox

@Suite struct StorageTests {
    /// A box of ISO/IEC 14496-12: size, type, contents.
    private func box(_ type: String, _ contents: [UInt8]) -> [UInt8] {
        number(contents.count + 8, bytes: 4) + Array(type.utf8) + contents
    }

    private func number(_ value: Int, bytes: Int) -> [UInt8] {
        (0..<bytes).reversed().map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
    }

    private func duration(of movie: [UInt8]) throws -> Int? {
        let folder = try TemporaryDirectory()
        try Data(movie).write(to: URL(fileURLWithPath: folder.file("movie")))
        return MovieDuration.seconds(ofFileAt: folder.file("movie"))
    }

    @Test func readsTheDurationOfAMovie() throws {
        let start = box("ftyp", Array("isom".utf8)) + box("mdat", [UInt8](repeating: 7, count: 1000))
        // Version 0: flags, two times, time scale, duration; version 1 has 64-bit times and duration.
        let version0 = number(0, bytes: 12) + number(600, bytes: 4) + number(1260, bytes: 4)
        let version1 = [1] + number(0, bytes: 19) + number(1000, bytes: 4) + number(3_600_400, bytes: 8)
        #expect(try duration(of: start + box("moov", box("mvhd", version0))) == 2)
        #expect(try duration(of: start + box("moov", box("trak", []) + box("mvhd", version1))) == 3600)
    }

    @Test(arguments: [[], Array("just text, long enough".utf8), [0, 0, 0, 4, 0x6D, 0x6F, 0x6F, 0x76]])
    func aFileWithoutAMovieHeaderHasNoDuration(bytes: [UInt8]) throws {
        #expect(try duration(of: bytes) == nil)
    }

    @Test func fieldsAreNormalizedAsInTheDialect() throws {
        let form = ["label": " tus one ", "org_name": "Cafe\u{301}  del \t Mar"]
        let d3 = try UploadFields(form, dialect: .d3)
        #expect(d3.label == "tus one")
        #expect(Array(d3.orgName.unicodeScalars) == Array("Caf\u{E9} del Mar".unicodeScalars))
        #expect(d3.eventDate == UploadFields.today())
        #expect(d3.eventType == "band")
        #expect(try UploadFields(form, dialect: .d1).label == "tus one")
    }

    @Test(arguments: [
        ("bytes=0-9", 0..<10), ("bytes=90-", 90..<100), ("bytes=-5", 95..<100), ("bytes=50-500", 50..<100),
        ("bytes=-500", 0..<100), ("bytes=100-", nil),
    ])
    func readsRanges(header: String, bytes: Range<Int>?) throws {
        #expect(try #require(ByteRange(header, size: 100)).bytes == bytes)
    }

    @Test(arguments: ["bytes=-", "bytes=5-4", "bytes=0-1,3-4", "items=0-1"])
    func ignoresOtherRanges(header: String) {
        #expect(ByteRange(header, size: 100) == nil)
    }

    /// Paging starts at 750 rows (gighive contract 7).
    @Test(arguments: [
        (749, 1, "enabled: false, page: 1, pageCount: 1, start: 1, end: 749"),
        (750, 1, "enabled: true, page: 1, pageCount: 1, start: 1, end: 750"),
        (751, 1, "enabled: true, page: 1, pageCount: 2, start: 1, end: 750"),
        (751, 2, "enabled: true, page: 2, pageCount: 2, start: 751, end: 751"),
    ])
    func theListingIsPaginated(rows: Int, page: Int, expected: String) throws {
        let folder = try TemporaryDirectory()
        let catalog = try Catalog(folder: try DataFolder(path: folder.path), dialect: .d3)
        try catalog.queue.write { db in
            try db.execute(
                sql: """
                    INSERT INTO event VALUES (1, '2026-01-01', 'Band', 'band', '', '', '', '');
                    INSERT INTO asset VALUES (1, 'c', 'mp4', 'video', 'video/mp4', 1, NULL, '', NULL, '');
                    """
            )
            for position in 1...rows {
                try db.execute(
                    sql: "INSERT INTO event_item VALUES (NULL, 1, 1, ?, 'x', '')",
                    arguments: [position]
                )
            }
        }
        let reply = try ListingEndpoint(catalog: catalog).reply(query: QueryParameters("format=json&page=\(page)"))
        guard case .json(let object) = reply.body, let pagination = object["pagination"],
            case .array(let entries) = object["entries"], let last = entries.last
        else {
            Issue.record("not a listing")
            return
        }
        let shown = ["enabled", "page", "pageCount", "start", "end"].map { key in
            "\(key): \((pagination[key] ?? .null).text)"
        }
        #expect(shown.joined(separator: ", ") == expected)
        #expect(pagination["end"] == last["index"])
    }
}
