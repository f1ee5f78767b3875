import Foundation
import Glibc
import MediaStore
import TestSupport
import Testing

@testable import PhotoSync

/// The metadata of a photo: its date (traps 4 and 5) and its name (trap 16).
@Suite struct PushDateAndNameTests {
    /// Date and offset in the file, and the date on the server.
    static let exifDates: [(date: String, offset: String?, expected: String, folder: String)] = [
        ("2024:03:01 00:30:00", nil, "2024-03-01T00:30:00Z", "2024/03"),
        // Trap 4: the server ignores offsets, so `+02:00` must become UTC here.
        ("2024:03:01 00:30:00", "+02:00", "2024-02-29T22:30:00Z", "2024/02"),
        ("2023:12:31 23:30:00", "-01:00", "2024-01-01T00:30:00Z", "2024/01"),
        ("1965:07:01 12:00:00", nil, "1965-07-01T12:00:00Z", "1965/07"),
        ("2107:01:01 00:00:00", nil, "2107-01-01T00:00:00Z", "2107/01"),
    ]

    @Test(arguments: exifDates)
    func theExifDateIsSentInUTC(date: String, offset: String?, expected: String, folder: String) async throws {
        let bench = try await PushBench()
        let path = try bench.write("a.jpg", Data(jpeg(date: date, offset: offset)))
        let outcome = await bench.push([path])
        #expect(outcome.items.first?.takenAt?.text == expected)
        let stored = try #require(try await bench.sandbox.photos().first)
        #expect(stored.dateTaken == expected)
        #expect(stored.storedPath.hasPrefix(folder))
    }

    /// Seconds since 1970 (`date -u -d … +%s`) of the last change, and the date on the server.
    static let changes: [(seconds: Int, nanoseconds: Int, expected: String)] = [
        (1_709_324_107, 0, "2024-03-01T20:15:07Z"),
        (1_709_324_107, 250_000_000, "2024-03-01T20:15:07.25Z"),
        (1_709_324_107, 1_999, "2024-03-01T20:15:07.000001Z"),
        (-142_084_800, 0, "1965-07-01T12:00:00Z"),
        (4_323_283_200, 0, "2107-01-01T00:00:00Z"),
    ]

    /// Trap 5: a photo without a date gets the date of its last change, never "now".
    @Test(arguments: changes, ["no picture", "0000:00:00 00:00:00", "2024:13:01 00:00:00"])
    func withoutAnExifDateTheModificationTimeIsSent(
        change: (seconds: Int, nanoseconds: Int, expected: String),
        date: String
    ) throws {
        let directory = try TemporaryDirectory()
        let path = try directory.write("a.jpg", jpeg(date: date, offset: nil))
        let time = timespec(tv_sec: change.seconds, tv_nsec: change.nanoseconds)
        try #require(utimensat(AT_FDCWD, path, [time, time], 0) == 0)
        #expect(try PhotoDate.of(path: Array(path.utf8)).text == change.expected)
    }

    /// Trap 5: the server would use the current date. Only some file systems store such times; one in memory does.
    @Test(.enabled(if: SmallDisk.isAvailable), arguments: [false, true], [0, 1])
    func aPhotoWithoutAnyDateIsNotSent(isDryRun: Bool, index: Int) async throws {
        let disk = try SmallDisk(kibibytes: 64)
        let path = disk.path + "/a.jpg"
        try Data("no picture".utf8).write(to: URL(fileURLWithPath: path))
        // date -u -d 10000-01-01 +%s; and above Int64.max microseconds.
        let time = [
            timespec(tv_sec: 253_402_300_800, tv_nsec: 0),
            timespec(tv_sec: 9_223_372_036_854, tv_nsec: 900_000_000),
        ][index]
        try #require(utimensat(AT_FDCWD, path, [time, time], 0) == 0)
        let bench = try await PushBench()
        let outcome = await bench.push([Array(path.utf8)], dryRun: isDryRun)
        #expect(outcome.items.map(\.state) == [.failed])
        #expect(outcome.items.first?.error?.code == .invalidDate)
        #expect(outcome.items.first?.error?.path == Array(path.utf8))
        #expect(try await bench.sandbox.photos().isEmpty)
    }

    @Test func theModificationTimeReachesTheServer() async throws {
        let bench = try await PushBench()
        let path = try bench.write("a.jpg", "no picture")
        let time = timespec(tv_sec: 1_709_324_107, tv_nsec: 250_000_000)
        try #require(utimensat(AT_FDCWD, bench.photos.file("a.jpg"), [time, time], 0) == 0)
        _ = await bench.push([path])
        #expect(try await bench.sandbox.photos().first?.dateTaken == "2024-03-01T20:15:07.25Z")
    }

    /// File names as bytes, and the name that the server shows: base name, with unsupported characters as `_`.
    static let names: [(bytes: [UInt8], shown: String)] = [
        (Array("plain.jpg".utf8), "plain.jpg"),
        (Array("été ☃.JPEG".utf8), "été ☃.JPEG"),
        (Array("it's \"quoted\".jpg".utf8), "it's _quoted_.jpg"),
        (Array("semi;colon, name=\"x\".jpg".utf8), "semi;colon, name=_x_.jpg"),
        (Array("perc%22ent.jpg".utf8), "perc%22ent.jpg"),
        ([0xE9, 0x74, 0xE9] + Array(".jpg".utf8), "\u{FFFD}t\u{FFFD}.jpg"),
    ]

    @Test(arguments: names) func theOriginalNameIsSent(bytes: [UInt8], shown: String) async throws {
        let bench = try await PushBench()
        let path = Array(bench.photos.path.utf8) + Array("/".utf8) + bytes
        try #require(create(path, "photo"))
        let outcome = await bench.push([path])
        #expect(outcome.items.map(\.state) == [.uploaded])
        #expect(outcome.items.first?.path == path)
        #expect(try await bench.sandbox.photos().map(\.originalFilename) == [shown])
        #expect(try bench.copies.map(\.path) == [path])
    }

    /// Trap 16: line breaks in a name are not header fields, and the upload succeeds.
    @Test func lineBreaksInANameAreHarmless() async throws {
        let bench = try await PushBench()
        let path = Array(bench.photos.path.utf8) + Array("/a\r\nContent-Type: text\r\n\r\nb.jpg".utf8)
        try #require(create(path, "photo"))
        let outcome = await bench.push()
        #expect(outcome.items.map(\.state) == [.uploaded])
        let stored = try #require(try await bench.sandbox.photos().first)
        #expect(stored.fileSize == 5)
        #expect(stored.originalFilename.hasSuffix("b.jpg"))
    }

    private func create(_ path: [UInt8], _ text: String) -> Bool {
        guard let file = fopen(path.map(CChar.init(bitPattern:)) + [0], "w") else { return false }
        fputs(text, file)
        return fclose(file) == 0
    }
}

/// The head of a JPEG file with `DateTimeOriginal` and, unless nil, `OffsetTimeOriginal`, byte by byte (Exif 2.32).
private func jpeg(date: String, offset: String?) -> [UInt8] {
    func little(_ value: Int, _ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
    }
    let texts = [(0x9003, date)] + (offset.map { [(0x9011, $0)] } ?? [])
    // Header (8), first directory of one entry (18), Exif directory.
    let valuesStart = 26 + 2 + 12 * texts.count + 4
    var entries: [UInt8] = []
    var values: [UInt8] = []
    for (tag, text) in texts {
        let bytes = Array(text.utf8) + [0]
        entries += little(tag, 2) + little(2, 2) + little(bytes.count, 4) + little(valuesStart + values.count, 4)
        values += bytes
    }
    let tiff: [UInt8] =
        [0x49, 0x49, 0x2A, 0, 8, 0, 0, 0] + little(1, 2) + little(0x8769, 2) + little(4, 2) + little(1, 4)
        + little(26, 4) + little(0, 4) + little(texts.count, 2) + entries + little(0, 4) + values
    let content = Array("Exif\0\0".utf8) + tiff
    return [0xFF, 0xD8, 0xFF, 0xE1, UInt8((content.count + 2) >> 8), UInt8((content.count + 2) & 255)] + content
        + [0xFF, 0xD9]
}
