import Foundation
import TestSupport
import Testing

@testable import MediaFiles

/// Files built byte by byte, from the specifications.
@Suite struct MediaDurationTests {
    private typealias Build = MediaCreationTimeTests

    /// ISO/IEC 14496-12 section 8.2.2: version and flags, two times, time scale, duration, and the rest.
    static func mvhd(_ scale: UInt64, _ duration: UInt64, version: UInt8 = 0) -> [UInt8] {
        let size = version == 0 ? 4 : 8
        let fields = [UInt8](repeating: 0, count: 2 * size) + Build.number(scale, 4) + Build.number(duration, size)
        return Build.box("mvhd", [version, 0, 0, 0] + fields + Build.zeros(80))
    }

    static func movie(_ content: [UInt8]) -> [UInt8] { Build.ftyp + Build.box("moov", content) }

    /// Section 8.8.2.
    static func extends(_ duration: UInt64, version: UInt8 = 0) -> [UInt8] {
        let fields = Build.number(duration, version == 0 ? 4 : 8)
        return Build.box("mvex", Build.box("mehd", [version, 0, 0, 0] + fields))
    }

    static let movies: [(what: String, bytes: [UInt8], expected: Int64?)] = [
        ("version 0", movie(mvhd(600, 1500)), 2500),
        ("version 1", movie(mvhd(1000, 5_000_000_000, version: 1)), 5_000_000_000),
        ("after the media data", Build.ftyp + Build.box("mdat", Build.zeros(5000)) + movie(mvhd(1000, 7)), 7),
        ("rounded down", movie(mvhd(30_000, 1001)), 33),
        ("rounded up", movie(mvhd(3, 2)), 667),
        ("no information", movie(mvhd(1000, 0)), nil),
        ("not known", movie(mvhd(1000, 0xFFFF_FFFF)), nil),
        ("not known, version 1", movie(mvhd(1000, .max, version: 1)), nil),
        ("the whole of 32 bits in version 1", movie(mvhd(1_000_000, 0xFFFF_FFFF, version: 1)), 4_294_967),
        ("no time scale", movie(mvhd(0, 1000)), nil),
        ("more than a century", movie(mvhd(1, 3_153_600_001, version: 1)), nil),
        ("more than any number", movie(mvhd(1, .max - 1, version: 1)), nil),
        ("in fragments", movie(mvhd(1000, 0) + extends(4321)), 4321),
        ("in fragments, long", movie(mvhd(1000, 0) + extends(4321, version: 1)), 4321),
        ("in fragments of no known length", movie(mvhd(1000, 0) + Build.box("mvex", [])), nil),
        ("a short header", Build.ftyp + Build.box("moov", Build.box("mvhd", [0, 0, 0, 0])) + Build.zeros(40), nil),
        ("no header", movie(Build.box("trak", Build.zeros(100))), nil),
    ]

    /// RFC 9559 section 5.1.2: `Info` with `TimestampScale` and `Duration`.
    static func matroska(scale: [UInt8]?, _ duration: [UInt8]?) -> [UInt8] {
        let scale = scale.map { Build.element([0x2A, 0xD7, 0xB1], $0) } ?? []
        let duration = duration.map { Build.element([0x44, 0x89], $0) } ?? []
        let info = Build.element([0x15, 0x49, 0xA9, 0x66], scale + duration)
        return Build.ebml + Build.element([0x18, 0x53, 0x80, 0x67], info)
    }

    static func double(_ value: Double) -> [UInt8] { Build.number(value.bitPattern, 8) }
    static func float(_ value: Float) -> [UInt8] { Build.number(UInt64(value.bitPattern), 4) }

    static let matroskas: [(what: String, bytes: [UInt8], expected: Int64?)] = [
        ("the usual scale", matroska(scale: Build.number(1_000_000, 3), double(2500)), 2500),
        ("no scale", matroska(scale: nil, double(2500.4)), 2500),
        ("four bytes", matroska(scale: nil, float(2500.6)), 2501),
        ("nanoseconds", matroska(scale: [1], double(2_500_000_000)), 2500),
        ("no information", matroska(scale: nil, nil), nil),
        ("nothing", matroska(scale: nil, double(0)), nil),
        ("negative", matroska(scale: nil, double(-5)), nil),
        ("not a number", matroska(scale: nil, double(.nan)), nil),
        ("endless", matroska(scale: nil, double(.infinity)), nil),
        ("too large", matroska(scale: nil, double(1e300)), nil),
        ("three bytes", matroska(scale: nil, [1, 2, 3]), nil),
    ]

    /// `avih`: time of a frame, three irrelevant numbers, number of frames.
    static func avi(_ microseconds: UInt64, _ frames: UInt64, extended: UInt64? = nil) -> [UInt8] {
        let fields = Build.little(microseconds, 4) + Build.zeros(12) + Build.little(frames, 4) + Build.zeros(36)
        let odml = extended.map {
            Build.chunk("LIST", Array("odml".utf8) + Build.chunk("dmlh", Build.little($0, 4) + Build.zeros(244)))
        }
        let headers = Array("hdrl".utf8) + Build.chunk("avih", fields) + Build.chunk("JUNK", [1, 2, 3]) + (odml ?? [])
        let content = Build.chunk("LIST", Array("INFO".utf8) + [1]) + Build.chunk("LIST", headers)
        return Build.chunk("RIFF", Array("AVI ".utf8) + content)
    }

    static let avis: [(what: String, bytes: [UInt8], expected: Int64?)] = [
        ("25 frames of 40 ms", avi(40_000, 25), 1000),
        ("of a whole number of ms", avi(33_367, 100), 3337),
        ("more in the extended header", avi(40_000, 25, extended: 100), 4000),
        ("no frames", avi(40_000, 0), nil),
        ("no time", avi(0, 25), nil),
        ("cut off", Array(avi(40_000, 25).prefix(70)), nil),
        ("a wave file", Build.chunk("RIFF", Array("WAVE".utf8) + Build.zeros(40)), nil),
    ]

    @Test(arguments: movies + matroskas + avis)
    func durationsAreRead(row: (what: String, bytes: [UInt8], expected: Int64?)) {
        #expect(milliseconds(row.bytes) == row.expected, "\(row.what)")
    }

    @Test(arguments: ["x", "twelve bytes", "fLaC\0\0\0\0\0\0\0\0", "ID3\u{4}\0\0\0\0\0\0\0\0"])
    func otherContentHasNoDuration(text: String) {
        #expect(milliseconds(Array(text.utf8)) == nil)
    }

    /// Any truncation results in a duration or none, never in a trap.
    @Test(arguments: [movies[1].bytes, movies[12].bytes, matroskas[0].bytes, avis[2].bytes])
    func brokenFilesAreSafe(bytes: [UInt8]) {
        for count in 0..<bytes.count { _ = milliseconds(Array(bytes[..<count])) }
        for index in bytes.indices {
            for byte: UInt8 in [0, 1, 0x7F, 0x80, 0xFF] {
                var changed = bytes
                changed[index] = byte
                _ = milliseconds(changed)
            }
        }
    }

    private func milliseconds(_ bytes: [UInt8]) -> Int64? {
        let content = BoundedContent(bytes)
        return MediaDuration.milliseconds(in: content)
    }
}

/// Real files, created by ffmpeg, and the durations reported by ffprobe.
@Suite(.enabled(if: FFmpeg.isInstalled, "requires ffmpeg: scripts/setup.sh test")) struct DurationOfRealFilesTests {
    static let files: [(name: String, arguments: [String])] = [
        ("a.mp4", []), ("fast.mp4", ["-movflags", "faststart"]), ("a.mov", []), ("a.m4v", []), ("a.mkv", []),
        ("a.webm", ["-c:v", "libvpx"]), ("a.avi", []), ("a.3gp", ["-s", "176x144", "-c:v", "h263"]),
    ]

    @Test(arguments: files) func durationsMatchThoseOfFFprobe(file: (name: String, arguments: [String])) throws {
        let directory = try TemporaryDirectory()
        let path = directory.file(file.name)
        let picture = ["-f", "lavfi", "-i", "testsrc=duration=1.24:size=64x64:rate=25"]
        try FFmpeg.run(picture + file.arguments + [path])
        let probe = ["-v", "error", "-show_entries", "format=duration", "-of", "csv=p=0", path]
        let response = try ChildProcess.run("ffprobe", probe).output
        let seconds = try #require(Double(response.trimmingCharacters(in: .whitespacesAndNewlines)))
        let milliseconds = MediaDuration.milliseconds(of: try SourceFile(path: Array(path.utf8)))
        #expect(milliseconds == Int64((seconds * 1000).rounded()))
        #expect(seconds > 1.1 && seconds < 1.4)
    }

    @Test(arguments: [("live.mkv", ["-live", "1"]), ("parts.mp4", ["-movflags", "frag_keyframe+empty_moov"])])
    func filesWithoutADurationHaveNone(name: String, arguments: [String]) throws {
        let directory = try TemporaryDirectory()
        try FFmpeg.run(FFmpeg.picture + arguments + [directory.file(name)])
        #expect(MediaDuration.milliseconds(of: try SourceFile(path: Array(directory.file(name).utf8))) == nil)
    }
}
