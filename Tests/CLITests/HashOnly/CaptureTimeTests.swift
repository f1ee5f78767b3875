import Foundation
import TestSupport
import Testing

@testable import MediaCLI

/// Times of files, as `hash-only` submits them. The files are written by exiftool.
@Suite(.prompt) struct CaptureTimeTests {
    private func photo(_ fixture: HashOnlyFixture, _ tags: [String]) async throws -> String {
        let path = fixture.runner.home.file("tagged.jpg")
        // ffmpeg writes a JPEG that exiftool accepts.
        let made = try await ChildProcess.run(
            "ffmpeg",
            ["-loglevel", "error", "-f", "lavfi", "-i", "color=red:s=32x32:d=1", "-frames:v", "1", path]
        )
        try #require(made.exitCode == 0, "\(made.errors)")
        let tagged = try await ChildProcess.run("exiftool", ["-q", "-overwrite_original"] + tags + [path])
        try #require(tagged.exitCode == 0, "\(tagged.errors)")
        return path
    }

    private static let clock = "-DateTimeOriginal=2024:03:01 20:15:07"
    private static let gps = ["-GPSDateStamp=2024:03:01", "-GPSTimeStamp=09:15:07"]

    struct Case: Sendable, CustomTestStringConvertible {
        let tags: [String]
        let options: [String]
        let capturedAt: String
        let source: String
        let level: String
        /// Whether a notice reports that the zone is unknown.
        let isReported: Bool

        var testDescription: String { "\(source) \(options)" }

        init(
            _ tags: [String],
            _ options: [String],
            _ capturedAt: String,
            from source: String,
            level: String = "exact",
            isReported: Bool = false
        ) {
            (self.tags, self.options, self.capturedAt) = (tags, options, capturedAt)
            (self.source, self.level, self.isReported) = (source, level, isReported)
        }
    }

    private static let exact = ["--timestamp-level", "exact"]
    private static let dayOnly = ["--timestamp-level", "day-only"]

    static let cases: [Case] = [
        Case([clock], [], "2024-03-01T00:00:00Z", from: "local_clock", level: "day_only", isReported: true),
        Case([clock], dayOnly, "2024-03-01T00:00:00Z", from: "local_clock", level: "day_only"),
        Case([clock], ["--utc-offset", "+11:00"] + exact, "2024-03-01T09:15:07Z", from: "utc_offset"),
        Case([clock], ["--utc-offset", "-05:00"], "2024-03-02T01:15:07Z", from: "utc_offset"),
        Case(
            [clock, "-OffsetTimeOriginal=+11:00"],
            ["--utc-offset", "Z"],
            "2024-03-01T09:15:07Z",
            from: "file_offset"
        ),
        Case([clock] + gps, [], "2024-03-01T09:15:07Z", from: "gps"),
        Case([clock], ["--captured-at", "2024-03-01T20:15:07+11:00"], "2024-03-01T09:15:07Z", from: "captured_at"),
    ]

    @Test(arguments: cases)
    func isSubmittedWithItsKnownPrecision(example: Case) async throws {
        let fixture = try await HashOnlyFixture()
        let path = try await photo(fixture, example.tags)
        let report = try await fixture.json(["send", path, "--no-depth", "--dry-run"] + example.options)
        #expect(report.result.exitCode == 0, "\(report.result.errors)")
        let item = try #require(report.items.first)
        let body = try #require(item["body"] as? [String: Any])
        #expect(body["captured_at"] as? String == example.capturedAt)
        let flags = try #require(body["metadata_flags"] as? [String: Any])
        #expect(flags["timestamp_level"] as? String == example.level)
        #expect(flags["timestamp_included"] as? Bool == true)
        let metadata = try #require(body["metadata"] as? [String: Any])
        let expected = example.level == "exact" ? example.capturedAt : String(example.capturedAt.prefix(10))
        #expect(metadata["timestamp"] as? String == expected)
        #expect(item["time_source"] as? String == example.source)
        let notices = (item["notices"] as? [[String: Any]] ?? []).compactMap { $0["code"] as? String }
        #expect(notices.contains("time_without_zone") == example.isReported)
    }

    @Test func exactTimeIsRefusedWithoutAZone() async throws {
        let fixture = try await HashOnlyFixture.registered()
        let path = try await photo(fixture, [Self.clock])
        for more in [[], ["--dry-run"]] {
            let report = try await fixture.json(["send", path, "--no-depth", "--timestamp-level", "exact"] + more)
            #expect(report.result.exitCode == 2)
            let error = try #require(report.items.first?["error"] as? [String: Any])
            #expect(error["code"] as? String == "time_zone_unknown")
        }
        #expect(try await fixture.bodies().isEmpty)
        #expect(try await fixture.json(["list"]).items.isEmpty)
    }

    // 2° 17′ 40.2″: binary arithmetic results in 2.2944999999999998.
    @Test func coordinatesAreDecimals() async throws {
        let fixture = try await HashOnlyFixture()
        let path = try await photo(
            fixture,
            [
                "-GPSLatitude=48.85837", "-GPSLatitudeRef=N", "-GPSLongitude=2.2945", "-GPSLongitudeRef=E",
            ]
        )
        let result = try await fixture.run(["send", path, "--location-level", "precise", "--dry-run"])
        #expect(result.output.contains(#""location":{"latitude":48.85837,"longitude":2.2945}"#), "\(result.output)")
    }

    @Test(arguments: [
        "0000-01-01T00:00:00Z", "0024-05-01T12:00:00Z", "1825-12-31T23:59:59Z", "9999-12-31T23:59:59-01:00",
        "2026-05-01T18:30:00+14:01", "2026-05-01T18:30:00-12:30", "2026-05-01T18:30:00+23:00",
        "2026-05-01T24:00:00Z", "2026-05-01T18:60:00Z", "2026-13-01T00:00:00Z",
    ])
    func timesOutOfRangeAreRefused(text: String) {
        #expect(throws: InvalidValue.self) { try CaptureValue.time(text) }
    }

    @Test(arguments: [
        ("1826-01-01T00:00:00Z", -4_544_208_000), ("2026-05-01T18:30:00+14:00", 1_777_609_800),
        ("9999-12-31T23:59:59Z", 253_402_300_799),
    ])
    func timesAtTheLimits(text: String, seconds: Double) throws {
        #expect(try CaptureValue.time(text).timeIntervalSince1970 == seconds)
    }

    @Test(arguments: [("+02:00", 7_200), ("-03:30", -12_600), ("Z", 0), ("+14:00", 50_400), ("-12:00", -43_200)])
    func offsets(text: String, seconds: Int) throws {
        #expect(try CaptureValue.utcOffset(text) == seconds)
    }

    @Test(arguments: ["", "2", "+2", "+0200", "02:00", "+14:01", "-12:01", "+02:60", "z", "+02:00 "])
    func otherOffsetsAreRefused(text: String) {
        #expect(throws: InvalidValue.self) { try CaptureValue.utcOffset(text) }
    }
}
