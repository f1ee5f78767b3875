import Foundation
import MediaFiles
import TestSupport
import Testing

@testable import HashCapture

/// Positions, times and models of photos.
@Suite struct PhotoFactsTests {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    private func facts(_ bytes: [UInt8]) throws -> CaptureFacts {
        let path = try directory.write("photo", bytes)
        return CaptureFacts.reading(try SourceFile(path: Array(path.utf8)))
    }

    private func date(_ seconds: Double) -> Date { Date(timeIntervalSince1970: seconds) }

    // Many cameras write their local time to this field, which is in UTC according to its specification.
    @Test func theTimeOfAMovieHeaderHasNoZone() async throws {
        let clip = Repository.path("fixtures/media/clip.mp4")
        let path = directory.file("clip.mp4")
        let made = try await ChildProcess.run(
            "exiftool",
            ["-q", "-CreateDate=2024:03:01 20:15:07", clip, "-o", path]
        )
        #expect(made.exitCode == 0, "\(made.errors)")
        // date -u -d 2024-03-01T20:15:07Z +%s
        let expected = CaptureFacts(localTime: date(1_709_324_107), timeSource: .localClock)
        #expect(CaptureFacts.reading(try SourceFile(path: Array(path.utf8))) == expected)
    }

    static let north = PhotoBytes.Entry.text(1, "N")
    static let west = PhotoBytes.Entry.text(3, "W")
    /// 48° 51′ 30.132″
    static let latitude = PhotoBytes.Entry.fractions(2, [(48, 1), (51, 1), (30_132, 1_000)])
    /// 2° 17.66886′
    static let longitude = PhotoBytes.Entry.fractions(4, [(2, 1), (1_766_886, 100_000), (0, 1)])
    static let position = [north, latitude, west, longitude]

    static let wrapped: [(name: String, wrap: @Sendable ([UInt8]) -> [UInt8])] = [
        ("a.jpg", { PhotoBytes.jpeg($0) }), ("a.png", { PhotoBytes.png($0) }), ("a.heic", { PhotoBytes.heic($0) }),
    ]

    private struct Reading: Decodable {
        var SourceFile: String
        var GPSLatitude: Double?
        var GPSLongitude: Double?
        var Model: String?
    }

    private func readings(_ paths: [String]) async throws -> [Reading] {
        let tags = ["-n", "-json", "-GPSLatitude", "-GPSLongitude", "-Model"]
        let read = try await ChildProcess.run("exiftool", tags + paths)
        return try JSONDecoder().decode([Reading].self, from: Data(read.output.utf8))
    }

    @Test func everyFormatAsReadByExiftool() async throws {
        let structure = PhotoBytes.structure(first: [.text(0x110, "Canon EOS R5")], gps: Self.position)
        var paths: [String] = []
        for (name, wrap) in Self.wrapped {
            paths.append(directory.file(name))
            try Data(wrap(structure)).write(to: URL(filePath: directory.file(name)))
        }
        let readings = try await readings(paths)
        #expect(readings.count == 3)
        for reading in readings {
            let facts = CaptureFacts.reading(try SourceFile(path: Array(reading.SourceFile.utf8)))
            let (latitude, longitude) = (try #require(facts.latitude), try #require(facts.longitude))
            #expect(abs(latitude - (try #require(reading.GPSLatitude))) < 1e-9)
            #expect(abs(longitude - (try #require(reading.GPSLongitude))) < 1e-9)
            // 48 + 51/60 + 30.132/3600, 2 + 17.66886/60: no further digits.
            #expect(latitude == 48.85837 && longitude == -2.294481)
            #expect(facts.deviceModel == "Canon EOS R5" && reading.Model == "Canon EOS R5")
            #expect(facts.capturedAt == nil && facts.localTime == nil, "a photo without a time has none")
        }
    }

    @Test func valuesWrittenByExiftool() async throws {
        try Data(PhotoBytes.jpeg(nil)).write(to: URL(filePath: directory.file("empty.jpg")))
        let made = try await ChildProcess.run(
            "exiftool",
            [
                "-q", "-GPSLatitude=33.8568", "-GPSLatitudeRef=S", "-GPSLongitude=151.2153", "-GPSLongitudeRef=E",
                "-Make=SONY", "-Model=ILCE-7M3", "-DateTimeOriginal=2024:03:01 20:15:07",
                "-OffsetTimeOriginal=+11:00",
                "-GPSDateStamp=2024:03:01", "-GPSTimeStamp=09:15:09", directory.file("empty.jpg"), "-o",
                directory.file("b.jpg"),
            ]
        )
        #expect(made.exitCode == 0, "\(made.errors)")
        let facts = CaptureFacts.reading(try SourceFile(path: Array(directory.file("b.jpg").utf8)))
        let reading = try #require(try await readings([directory.file("b.jpg")]).first)
        #expect(abs(try #require(facts.latitude) - (try #require(reading.GPSLatitude))) < 1e-9)
        #expect(abs(try #require(facts.longitude) - (try #require(reading.GPSLongitude))) < 1e-9)
        #expect(reading.GPSLatitude.map { abs($0 + 33.8568) < 1e-6 } == true)
        #expect(facts.deviceModel == reading.Model)
        // date -u -d 2024-03-01T20:15:07+11:00 +%s
        #expect(facts.capturedAt == date(1_709_284_507))
    }

    // MARK: Invalid positions

    static let noPositions: [(what: String, gps: [PhotoBytes.Entry])] = [
        ("no hemisphere", [latitude, west, longitude]),
        ("no longitude", [north, latitude, west]),
        ("an unknown hemisphere", [.text(1, "X"), latitude, west, longitude]),
        ("an empty hemisphere", [.text(1, ""), latitude, west, longitude]),
        ("a denominator of 0", [north, .fractions(2, [(48, 1), (51, 0), (30, 1)]), west, longitude]),
        ("0/0", [north, .fractions(2, [(0, 0), (0, 0), (0, 0)]), west, longitude]),
        ("0/0 seconds", [north, .fractions(2, [(48, 1), (51, 1), (0, 0)]), west, longitude]),
        ("91°", [north, .fractions(2, [(91, 1), (0, 1), (0, 1)]), west, longitude]),
        ("90° 1′", [north, .fractions(2, [(90, 1), (1, 1), (0, 1)]), west, longitude]),
        ("181°", [north, latitude, west, .fractions(4, [(181, 1), (0, 1), (0, 1)])]),
        ("61′", [north, .fractions(2, [(48, 1), (61, 1), (0, 1)]), west, longitude]),
        ("two parts", [north, .fractions(2, [(48, 1), (51, 1)]), west, longitude]),
        ("a text", [north, .text(2, "48.858370000000000000000"), west, longitude]),
        (
            "0, 0",
            [north, .fractions(2, [(0, 1), (0, 1), (0, 1)]), west, .fractions(4, [(0, 1), (0, 1), (0, 1)])]
        ),
        ("a void measurement", position + [.text(9, "V")]),
    ]

    @Test(arguments: noPositions)
    func noPosition(what: String, gps: [PhotoBytes.Entry]) throws {
        let found = try facts(PhotoBytes.jpeg(PhotoBytes.structure(first: [.text(0x110, "X")], gps: gps)))
        #expect(found == CaptureFacts(deviceModel: "X"), "\(what)")
    }

    @Test func aPositionOnTheEquatorIsValid() throws {
        let zero = [(0, 1), (0, 1), (0, 1)]
        let found = try facts(
            PhotoBytes.jpeg(
                PhotoBytes.structure(gps: [.text(1, "S"), .fractions(2, zero), Self.west, Self.longitude])
            )
        )
        #expect(found.latitude == 0 && found.latitude?.sign == .plus)
        #expect(found.longitude != nil)
    }

    // MARK: Times

    static let wallClock = PhotoBytes.Entry.text(0x9003, "2024:03:01 20:15:07")
    static let stamp = [
        PhotoBytes.Entry.text(0x1D, "2024:03:01"), .fractions(7, [(9, 1), (15, 1), (9, 1)]),
    ]
    /// A time in UTC, or a local time without a zone.
    enum Expected: Sendable {
        case utc(Double, CaptureTimeSource)
        case clock(Double)
        case unknown

        var facts: CaptureFacts {
            switch self {
            case .utc(let seconds, let source):
                CaptureFacts(capturedAt: Date(timeIntervalSince1970: seconds), timeSource: source)
            case .clock(let seconds):
                CaptureFacts(localTime: Date(timeIntervalSince1970: seconds), timeSource: .localClock)
            case .unknown: CaptureFacts()
            }
        }
    }

    /// `date -u -d … +%s` of 2024-03-01T20:15:07Z and of 09:15:09Z
    static let times: [(what: String, exif: [PhotoBytes.Entry], gps: [PhotoBytes.Entry], expected: Expected)] = [
        ("a local time without a zone is not UTC", [wallClock], [], .clock(1_709_324_107)),
        ("an offset that no zone has", [wallClock, .text(0x9011, "+15:00")], [], .clock(1_709_324_107)),
        ("a blank offset", [wallClock, .text(0x9011, "   :  ")], [], .clock(1_709_324_107)),
        ("GPS time is UTC", [wallClock], stamp, .utc(1_709_284_509, .satellites)),
        ("the offset takes precedence", [wallClock, .text(0x9011, "+11:00")], stamp, .utc(1_709_284_507, .fileOffset)),
        ("GPS time alone", [], stamp, .utc(1_709_284_509, .satellites)),
        ("a GPS fix of the previous day", [wallClock], [.text(0x1D, "2024:02:29"), stamp[1]], .clock(1_709_324_107)),
        ("a day that does not exist", [wallClock], [.text(0x1D, "2024:02:31"), stamp[1]], .clock(1_709_324_107)),
        ("hour 24", [], [stamp[0], .fractions(7, [(24, 1), (0, 1), (0, 1)])], .unknown),
        ("no denominator", [], [stamp[0], .fractions(7, [(9, 1), (0, 0), (0, 1)])], .unknown),
        ("a blank date", [], [.text(0x1D, "          "), stamp[1]], .unknown),
    ]

    @Test(arguments: times)
    func timeOfAPhoto(what: String, exif: [PhotoBytes.Entry], gps: [PhotoBytes.Entry], expected: Expected) throws {
        let found = try facts(PhotoBytes.jpeg(PhotoBytes.structure(exif: exif, gps: gps)))
        #expect(found == expected.facts, "\(what)")
    }

    /// The order of precedence in the hash-only contract, new rule 2.
    @Test func theOffsetOfTheUserAppliesToTimesWithoutOne() {
        let (clock, utc) = (date(1_709_324_107), date(1_709_284_507))
        let given = CaptureFacts(utcOffset: 11 * 3_600)
        let ofClock = given.completed(by: CaptureFacts(localTime: clock, timeSource: .localClock))
        #expect(ofClock.capturedAt == utc && ofClock.localTime == nil && ofClock.timeSource == .userOffset)
        let known = given.completed(by: CaptureFacts(capturedAt: clock, timeSource: .satellites))
        #expect(known.capturedAt == clock && known.timeSource == .satellites)
        let named = CaptureFacts(capturedAt: utc, utcOffset: 3_600)
            .completed(by: CaptureFacts(localTime: clock, timeSource: .localClock))
        #expect(named.capturedAt == utc && named.localTime == nil && named.timeSource == .given)
        #expect(given.completed(by: CaptureFacts()).capturedAt == nil)
    }

    // MARK: Models

    static let models: [([UInt8], String?)] = [
        (Array("  iPhone 15 Pro  \0".utf8), "iPhone 15 Pro"), (Array("      \0".utf8), nil),
        ([0, 0, 0, 0, 0], nil),
        (Array("A\u{1B}[2J\r\nB\0".utf8), "A [2J B"), ([0x50, 0xE9, 0x6C, 0x65, 0], nil),
        (Array("Übercam\0".utf8), "Übercam"),
        (Array(String(repeating: "m", count: 5_000).utf8) + [0], String(repeating: "m", count: 128)),
    ]

    @Test(arguments: models)
    func modelOfACamera(bytes: [UInt8], expected: String?) throws {
        let found = try facts(PhotoBytes.jpeg(PhotoBytes.structure(first: [.raw(0x110, bytes)])))
        #expect(found.deviceModel == expected)
    }

    // MARK: Damage

    /// Inverting any byte, or truncating at any length, does not cause a crash or an impossible position.
    @Test func damagedDataIsHarmless() throws {
        let whole = PhotoBytes.structure(
            first: [.text(0x10F, "Canon"), .text(0x110, "Canon EOS R5")],
            exif: [Self.wallClock, .raw(0x927C, Array("an invalid Canon maker note".utf8))],
            gps: Self.position + Self.stamp
        )
        for index in whole.indices {
            var damaged = whole
            damaged[index] ^= 0xFF
            try checkHarmless(damaged)
            try checkHarmless(Array(whole[..<index]))
        }
        try checkHarmless(whole + [UInt8](repeating: 0xA5, count: 1 << 20))
    }

    private func checkHarmless(_ structure: [UInt8]) throws {
        let facts = try facts(PhotoBytes.png(structure))
        if let latitude = facts.latitude, let longitude = facts.longitude {
            #expect((-90...90).contains(latitude) && (-180...180).contains(longitude))
        }
    }
}
