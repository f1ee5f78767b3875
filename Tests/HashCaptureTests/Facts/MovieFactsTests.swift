import Foundation
import MediaFiles
import TestSupport
import Testing

@testable import HashCapture

/// Facts of movies and raw photos written by other programs; the expected values come from exiftool or are constants.
@Suite(.prompt) struct MovieFactsTests {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    /// `date -u -d 2024-03-01T20:15:07+11:00 +%s`
    static let moment = Date(timeIntervalSince1970: 1_709_284_507)
    /// `date -u -d 2024-03-01T20:15:07Z +%s`
    static let clock = Date(timeIntervalSince1970: 1_709_324_107)

    private static let picture = ["-f", "lavfi", "-i", "color=red:s=32x32:d=1:r=5"]
    private static let keys = ["-movflags", "use_metadata_tags"]
    private static let sydney = ["-metadata", "com.apple.quicktime.location.ISO6709=-33.8568+151.2153+022.100/"]
    private static let creation = ["-metadata", "com.apple.quicktime.creationdate=2024-03-01T20:15:07+1100"]
    private static let header = ["-metadata", "creation_time=2024-03-01T20:15:07Z"]

    struct Movie: Sendable, CustomTestStringConvertible {
        var name: String
        var options: [String]
        var expected: CaptureFacts

        var testDescription: String { name }

        init(_ name: String, _ options: [String], _ expected: CaptureFacts) {
            (self.name, self.options, self.expected) = (name, options, expected)
        }
    }

    static let movies: [Movie] = [
        Movie(
            "keys.mov",
            keys + sydney + creation + header + ["-metadata", "com.apple.quicktime.model=iPhone 15 Pro"],
            CaptureFacts(
                latitude: -33.8568,
                longitude: 151.2153,
                capturedAt: moment,
                deviceModel: "iPhone 15 Pro",
                timeSource: .fileOffset
            )
        ),
        Movie("keys.mp4", keys + creation, CaptureFacts(capturedAt: moment, timeSource: .fileOffset)),
        Movie(
            "userdata.mov",
            ["-metadata", "location=+48.8584+002.2945/", "-metadata", "date=2024-03-01T20:15:07+1100"],
            CaptureFacts(latitude: 48.8584, longitude: 2.2945, capturedAt: moment, timeSource: .fileOffset)
        ),
        Movie(
            "items.mp4",
            ["-metadata", "date=2024-03-01T20:15:07+1100"] + header,
            CaptureFacts(capturedAt: moment, timeSource: .fileOffset)
        ),
        // The key has the camera's time; the header has a different time.
        Movie(
            "no zone.mov",
            keys + ["-metadata", "com.apple.quicktime.creationdate=2024-03-01T20:15:07"] + [
                "-metadata", "creation_time=2024-03-01T09:15:07Z",
            ],
            CaptureFacts(localTime: clock, timeSource: .localClock)
        ),
        Movie("header.mov", header, CaptureFacts(localTime: clock, timeSource: .localClock)),
        Movie(
            "no zone of the earth.mov",
            keys + ["-metadata", "com.apple.quicktime.creationdate=2024-03-01T20:15:07+1900"],
            CaptureFacts(localTime: clock, timeSource: .localClock)
        ),
        Movie("a day.mp4", ["-metadata", "date=2024-03-01"], CaptureFacts()),
        // Matroska's DateUTC is UTC.
        Movie("utc.mkv", header, CaptureFacts(capturedAt: clock, timeSource: .container)),
        Movie("nothing.mov", [], CaptureFacts()),
        Movie("nowhere.mov", ["-metadata", "location=+00.0000+000.0000/"], CaptureFacts()),
    ]

    @Test(arguments: movies)
    func moviesWrittenByFFmpeg(movie: Movie) async throws {
        let path = directory.file(movie.name)
        let made = try await ChildProcess.run("ffmpeg", ["-loglevel", "error"] + Self.picture + movie.options + [path])
        try #require(made.exitCode == 0, "\(made.errors)")
        #expect(CaptureFacts.reading(try SourceFile(path: Array(path.utf8))) == movie.expected)
    }

    @Test func timeOfAudioIsNotUsed() async throws {
        let path = directory.file("a.wav")
        let sound = ["-f", "lavfi", "-i", "sine=d=0.1", "-write_bext", "1"]
        let time = ["-metadata", "origination_date=2024-03-01", "-metadata", "origination_time=23:30:00"]
        let made = try await ChildProcess.run("ffmpeg", ["-loglevel", "error"] + sound + time + [path])
        try #require(made.exitCode == 0, "\(made.errors)")
        let file = try SourceFile(path: Array(path.utf8))
        #expect(MediaCreationTime.seconds(of: file) != nil)
        #expect(CaptureFacts.reading(file) == CaptureFacts())
    }

    // 16.16: 48.8584 is 3201984/65536, and 2.2945 is 150372/65536.
    @Test func locationOf3GPP() async throws {
        let path = directory.file("a.mp4")
        let location = ["-metadata", "location=+48.8584+002.2945/"]
        let made = try await ChildProcess.run("ffmpeg", ["-loglevel", "error"] + Self.picture + location + [path])
        try #require(made.exitCode == 0, "\(made.errors)")
        let facts = CaptureFacts.reading(try SourceFile(path: Array(path.utf8)))
        #expect(facts.latitude == 48.8583984 && facts.longitude == 2.2944946)
    }

    // MARK: exiftool

    private struct Reading: Decodable {
        var GPSLatitude: Double?
        var GPSLongitude: Double?
        var Model: String?
        var CreationDate: String?
        var DateTimeOriginal: String?
    }

    private func exiftool(_ arguments: [String]) async throws -> String {
        let result = try await ChildProcess.run("exiftool", arguments)
        try #require(result.exitCode == 0, "\(result.errors)")
        return result.output
    }

    private func reading(_ path: String) async throws -> Reading {
        let tags = ["-GPSLatitude", "-GPSLongitude", "-Model", "-CreationDate", "-DateTimeOriginal"]
        let json = try await exiftool(["-n", "-json"] + tags + [path])
        return try #require(try JSONDecoder().decode([Reading].self, from: Data(json.utf8)).first)
    }

    @Test(arguments: ["Keys", "UserData"])
    func moviesWrittenByExiftool(group: String) async throws {
        let path = directory.file("a.mov")
        _ = try await exiftool([
            "-q", "-\(group):GPSCoordinates=-33.8568, 151.2153, 22", "-\(group):Model=iPhone 15 Pro",
            group == "Keys"
                ? "-Keys:CreationDate=2024:03:01 20:15:07+11:00"
                : "-UserData:ContentCreateDate=2024:03:01 20:15:07+11:00",
            Repository.path("fixtures/media/clip.mp4"), "-o", path,
        ])
        let facts = CaptureFacts.reading(try SourceFile(path: Array(path.utf8)))
        let reading = try await reading(path)
        #expect(facts.latitude == reading.GPSLatitude && facts.longitude == reading.GPSLongitude)
        #expect(facts.latitude == -33.8568 && facts.longitude == 151.2153)
        #expect(facts.deviceModel == "iPhone 15 Pro" && facts.deviceModel == reading.Model)
        #expect(facts.capturedAt == Self.moment && facts.timeSource == .fileOffset)
    }

    /// TIFF-based raw formats: DNG as accepted by exiftool, big-endian NEF, CR2 with its own header, ARW, and ORF
    /// with its own number.
    static let raws = ["a.dng", "a.nef", "a.cr2", "a.arw", "a.orf"]

    @Test(arguments: raws)
    func rawPhotosWrittenByExiftool(name: String) async throws {
        let image = directory.file("image.tiff")
        let made = try await ChildProcess.run(
            "ffmpeg",
            ["-loglevel", "error"] + Self.picture + ["-frames:v", "1", image]
        )
        try #require(made.exitCode == 0, "\(made.errors)")
        let tagged = directory.file("tagged.tiff")
        _ = try await exiftool([
            "-q", "-ExifByteOrder=\(name.hasSuffix("nef") ? "MM" : "II")",
            // 2° 17′ 40.2″
            "-GPSLatitude=33.8568", "-GPSLatitudeRef=S", "-GPSLongitude=2.2945", "-GPSLongitudeRef=E",
            "-Make=Maker", "-Model=Camera 1", "-DateTimeOriginal=2024:03:01 20:15:07", "-OffsetTimeOriginal=+11:00",
            image, "-o", tagged,
        ])
        var bytes = Array(try Data(contentsOf: URL(filePath: tagged)))
        if name.hasSuffix("orf") { bytes[2...3] = [0x52, 0x4F] }
        if name.hasSuffix("cr2") { bytes = Self.withHeaderOfCR2(bytes) }
        let path = try directory.write(name, bytes)

        let facts = CaptureFacts.reading(try SourceFile(path: Array(path.utf8)))
        #expect(facts.latitude == -33.8568 && facts.longitude == 2.2945)
        #expect(facts.deviceModel == "Camera 1")
        #expect(facts.capturedAt == Self.moment && facts.timeSource == .fileOffset)
        let reading = try await reading(path)
        #expect(reading.Model == "Camera 1" && reading.DateTimeOriginal == "2024:03:01 20:15:07")
        #expect(abs(try #require(reading.GPSLongitude) - 2.2945) < 1e-9)
    }

    /// CR2: eight additional bytes between the TIFF header and the first directory, which is moved to the end of the
    /// file here.
    private static func withHeaderOfCR2(_ tiff: [UInt8]) -> [UInt8] {
        func number(_ offset: Int, _ count: Int) -> Int {
            tiff[offset..<offset + count].reversed().reduce(0) { $0 << 8 | Int($1) }
        }
        let directory = number(4, 4)
        let length = 2 + number(directory, 2) * 12 + 4
        let marker: [UInt8] = [0x43, 0x52, 2, 0, 0, 0, 0, 0]
        var bytes =
            Array(tiff[..<4]) + (0..<4).map { UInt8(truncatingIfNeeded: (tiff.count + tiff.count % 2) >> (8 * $0)) }
        // The values of ffmpeg's first directory start at byte 16 or later.
        bytes += marker + tiff[16...] + [UInt8](repeating: 0, count: tiff.count % 2)
        return bytes + tiff[directory..<directory + length]
    }

    // MARK: Damage

    @Test func damagedMoviesAreHarmless() async throws {
        let path = directory.file("a.mov")
        let options = Self.keys + Self.sydney + Self.creation
        let made = try await ChildProcess.run("ffmpeg", ["-loglevel", "error"] + Self.picture + options + [path])
        try #require(made.exitCode == 0, "\(made.errors)")
        let whole = Array(try Data(contentsOf: URL(filePath: path)))
        let start = try #require(
            Array("moov".utf8).withUnsafeBufferPointer { name in
                whole.indices.first { whole[$0...].starts(with: name) }
            }
        )
        let damaged = directory.file("damaged.mov")
        for index in start..<whole.count {
            var bytes = whole
            bytes[index] ^= 0xFF
            try Data(bytes).write(to: URL(filePath: damaged))
            let facts = CaptureFacts.reading(try SourceFile(path: Array(damaged.utf8)))
            if let latitude = facts.latitude, let longitude = facts.longitude {
                #expect((-90...90).contains(latitude) && (-180...180).contains(longitude))
            }
        }
    }
}
