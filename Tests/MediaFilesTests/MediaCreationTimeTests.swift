import Foundation
import MediaFiles
import TestSupport
import Testing

/// Files built byte by byte, from the specifications.
@Suite struct MediaCreationTimeTests {
    /// `date -u -d 2024-03-01T20:15:00Z +%s`
    static let moment: Int64 = 1_709_324_100
    /// This time in `mvhd`: 2,082,844,800 seconds from 1904 to 1970.
    static let since1904 = UInt64(moment + 2_082_844_800)

    static let movies: [(what: String, bytes: [UInt8], expected: Int64?)] = [
        ("version 0", ftyp + box("moov", mvhd(since1904)), moment),
        ("version 1", ftyp + box("moov", mvhd(since1904, version: 1)), moment),
        ("after the media data", ftyp + box("mdat", zeros(5_000)) + box("moov", mvhd(since1904)), moment),
        ("after a 64-bit size", ftyp + longBox("mdat", zeros(5_000)) + box("moov", mvhd(since1904)), moment),
        ("in a movie with a 64-bit size", ftyp + longBox("moov", mvhd(since1904)), moment),
        ("in a last box without a size", ftyp + openBox("moov", mvhd(since1904)), moment),
        ("after other boxes", ftyp + box("free", []) + box("moov", box("udta", zeros(9)) + mvhd(since1904)), moment),
        ("QuickTime without ftyp", box("wide", []) + box("mdat", []) + box("moov", mvhd(since1904)), moment),
        ("the movie first", box("moov", mvhd(since1904)), moment),
        ("no information", ftyp + box("moov", mvhd(0)), nil),
        // A camera that counts from 1970 although the format counts from 1904.
        ("wrong epoch", ftyp + box("moov", mvhd(UInt64(moment))), nil),
        ("1989-12-31T23:59:59Z", ftyp + box("moov", mvhd(2_082_844_800 + 631_151_999)), nil),
        ("1990-01-01T00:00:00Z", ftyp + box("moov", mvhd(2_082_844_800 + 631_152_000)), 631_152_000),
        // 2099-01-01T00:00:00Z
        ("the future", ftyp + box("moov", mvhd(2_082_844_800 + 4_070_908_800, version: 1)), nil),
        ("the largest time", ftyp + box("moov", mvhd(.max, version: 1)), nil),
        ("no movie", ftyp + box("mdat", zeros(100)), nil),
        ("no header", ftyp + box("moov", box("trak", zeros(100))), nil),
        ("a header elsewhere", ftyp + mvhd(since1904) + box("moov", []), nil),
        ("a short header", ftyp + box("moov", box("mvhd", [0, 0, 0, 0])) + zeros(20), nil),
        ("a box larger than the file", ftyp + number(1_000, 4) + Array("mdat".utf8), nil),
        ("a box smaller than its header", ftyp + number(7, 4) + Array("free".utf8) + box("moov", mvhd(since1904)), nil),
        ("a size beyond the file", ftyp + number(1, 4) + Array("mdat".utf8) + number(.max, 8), nil),
        ("a header larger than its movie", ftyp + box("moov", number(500, 4) + Array("mvhd".utf8)) + zeros(600), nil),
    ]

    static let matroskas: [(what: String, bytes: [UInt8], expected: Int64?)] = [
        ("a date", ebml + element([0x18, 0x53, 0x80, 0x67], info(nanoseconds(moment))), moment),
        ("fractions", ebml + element([0x18, 0x53, 0x80, 0x67], info(nanoseconds(moment) + 999_999_999)), moment),
        // Before 2001 the number is negative: 1999-12-31T23:59:59.5Z.
        (
            "before 2001", ebml + element([0x18, 0x53, 0x80, 0x67], info(nanoseconds(946_684_799) + 500_000_000)),
            946_684_799
        ),
        ("live", ebml + [0x18, 0x53, 0x80, 0x67, 0xFF] + info(nanoseconds(moment)), moment),
        (
            "live, 8 bytes of size",
            ebml + [0x18, 0x53, 0x80, 0x67, 0x01] + [UInt8](repeating: 0xFF, count: 7) + info(nanoseconds(moment)),
            moment
        ),
        (
            "after other elements",
            ebml
                + element(
                    [0x18, 0x53, 0x80, 0x67],
                    element([0xEC], zeros(300)) + element([0x11, 0x4D, 0x9B, 0x74], zeros(5))
                        + info(nanoseconds(moment))
                ), moment
        ),
        ("no date", ebml + element([0x18, 0x53, 0x80, 0x67], element([0x15, 0x49, 0xA9, 0x66], zeros(0))), nil),
        ("the smallest number", ebml + element([0x18, 0x53, 0x80, 0x67], info(.min)), nil),
        ("the largest number", ebml + element([0x18, 0x53, 0x80, 0x67], info(.max)), nil),
        (
            "a cluster of unknown size comes first",
            ebml + [0x18, 0x53, 0x80, 0x67, 0xFF] + [0x1F, 0x43, 0xB6, 0x75, 0xFF] + info(nanoseconds(moment)), nil
        ),
        ("an impossible identifier", ebml + zeros(40), nil),
    ]

    /// 2024-03-01 20:15:00 in the time zone of this machine.
    static let local = localTime(hour: 20, minute: 15)
    static let localNoon = localTime(hour: 12, minute: 0)

    static let waves: [(what: String, bytes: [UInt8], expected: Int64?)] = [
        ("a date", wave("RIFF", bext("2024-03-01", "20:15:00")), local),
        ("other separators", wave("RIFF", bext("2024_03.01", "20-15 00")), local),
        ("after a chunk of odd length", wave("RIFF", chunk("junk", zeros(3)) + bext("2024-03-01", "20:15:00")), local),
        ("after the data", wave("RIFF", chunk("data", zeros(999)) + bext("2024-03-01", "20:15:00")), local),
        (
            "after data with a 64-bit size",
            wave(
                "RF64",
                chunk("ds64", little(0, 8) + little(6, 8) + little(0, 12)) + Array("data".utf8)
                    + little(0xFFFF_FFFF, 4) + zeros(6) + bext("2024-03-01", "20:15:00")
            ), local
        ),
        ("BW64", wave("BW64", bext("2024-03-01", "20:15:00")), local),
        ("no such day", wave("RIFF", bext("2023-02-29", "20:15:00")), nil),
        ("no such time", wave("RIFF", bext("2024-03-01", "24:00:00")), nil),
        ("blank", wave("RIFF", bext("\0\0\0\0\0\0\0\0\0\0", "\0\0\0\0\0\0\0\0")), nil),
        ("a short chunk", wave("RIFF", chunk("bext", zeros(300)) + zeros(100)), nil),
        ("none", wave("RIFF", chunk("data", zeros(10))), nil),
        ("an unknown 64-bit size", wave("RF64", Array("data".utf8) + little(0xFFFF_FFFF, 4) + zeros(50)), nil),
        ("AVI", Array("RIFF\0\0\0\0AVI ".utf8) + bext("2024-03-01", "20:15:00"), nil),
    ]

    static let tags: [(what: String, bytes: [UInt8], expected: Int64?)] = [
        ("TDRC", tag(4, text4("TDRC", "2024-03-01T20:15:00")), moment),
        ("TDRL", tag(4, text4("TDRL", "2024-03-01T20:15:00")), moment),
        ("TDRC before the others", tag(4, text4("TDRL", "2020-01-01") + text4("TDRC", "2024-03-01T20:15:00")), moment),
        ("ffmpeg's TDEN", tag(4, text4("TDEN", "2024-03-01T20:15:00.000000Z")), moment),
        ("minutes", tag(4, text4("TDRC", "2024-03-01T20:15")), moment),
        ("hours", tag(4, text4("TDRC", "2024-03-01T20")), moment - 15 * 60),
        ("a day", tag(4, text4("TDRC", "2024-03-01")), localNoon),
        ("a month", tag(4, text4("TDRC", "2024-03")), nil),
        ("a year", tag(4, text4("TDRC", "2024")), nil),
        ("another time zone", tag(4, text4("TDRC", "2024-03-01T20:15:00+01:00")), nil),
        ("UTF-8", tag(4, frame4("TDRC", [3] + Array("2024-03-01T20:15:00\0".utf8))), moment),
        ("two values", tag(4, frame4("TDRC", [3] + Array("2024-03-01T20:15:00\0002020".utf8))), moment),
        ("UTF-16", tag(4, frame4("TDRC", [1, 0xFF, 0xFE] + utf16("2024-03-01T20:15:00\0", isLittle: true))), moment),
        (
            "UTF-16, other order",
            tag(4, frame4("TDRC", [1, 0xFE, 0xFF] + utf16("2024-03-01T20:15:00", isLittle: false))), moment
        ),
        ("UTF-16 without a mark", tag(4, frame4("TDRC", [2] + utf16("2024-03-01T20:15:00", isLittle: false))), moment),
        (
            "escaped, with its length",
            tag(
                4,
                frame4(
                    "TDRC",
                    number(40, 4) + [1, 0xFF, 0x00, 0xFE] + utf16("2024-03-01T20:15:00", isLittle: true),
                    flags: 0x03
                )
            ), moment
        ),
        ("compressed", tag(4, frame4("TDRC", [3] + Array("2024-03-01T20:15:00".utf8), flags: 0x08)), nil),
        ("after an image", tag(4, frame4("APIC", zeros(100_000)) + text4("TDRC", "2024-03-01T20:15:00")), moment),
        ("an extended header", tag(4, [0, 0, 0, 6, 1, 0] + text4("TDRC", "2024-03-01T20:15:00"), flags: 0x40), moment),
        ("after the padding", tag(4, zeros(20) + text4("TDRC", "2024-03-01T20:15:00")), nil),
        ("version 3", tag(3, text3("TYER", "2024") + text3("TDAT", "0103") + text3("TIME", "2015")), local),
        ("version 3, a day", tag(3, text3("TYER", "2024") + text3("TDAT", "0103")), localNoon),
        ("version 3, a year", tag(3, text3("TYER", "2024")), nil),
        ("version 3, no such day", tag(3, text3("TYER", "2024") + text3("TDAT", "3102")), nil),
        (
            "version 3, after an image",
            tag(3, frame3("APIC", zeros(100_000)) + text3("TYER", "2024") + text3("TDAT", "0103")), localNoon
        ),
        (
            "version 3, an extended header",
            tag(3, number(6, 4) + zeros(6) + text3("TYER", "2024") + text3("TDAT", "0103"), flags: 0x40), localNoon
        ),
        (
            "version 3, escaped",
            tag(
                3,
                escaped(frame3("TYER", [1, 0xFF, 0xFE] + utf16("2024", isLittle: true)) + text3("TDAT", "0103")),
                flags: 0x80
            ),
            localNoon
        ),
        (
            "version 3, grouped",
            tag(3, frame3("TYER", [7, 0] + Array("2024".utf8), flags: 0x20) + text3("TDAT", "0103")), localNoon
        ),
        ("version 2", tag(2, text3("TYER", "2024") + text3("TDAT", "0103")), nil),
        ("a broken size", Array("ID3\u{4}\0\0".utf8) + [0x80, 0, 0, 0] + text4("TDRC", "2024-03-01T20:15:00"), nil),
    ]

    @Test(arguments: movies + matroskas + waves + tags)
    func timesAreRead(row: (what: String, bytes: [UInt8], expected: Int64?)) throws {
        #expect(try seconds(row.bytes) == row.expected, "\(row.what)")
    }

    @Test(arguments: [
        "x", "FORM\0\0\0\0AIFF", "fLaC\0\0\0\0\0\0\0\0", "OggS\0\0\0\0\0\0\0\0", "twelve bytes", "RIFF\0\0\0\0WAVE",
    ])
    func otherContentHasNoTime(text: String) throws {
        #expect(try seconds(Array(text.utf8)) == nil)
    }

    /// A file that consists of boxes must not be read to its end: this one has a million, and takes milliseconds.
    @Test(.timeLimit(.minutes(4))) func aFileOfAMillionBoxesIsAbandoned() throws {
        let boxes = [UInt8](([[UInt8]](repeating: Self.box("free", []), count: 1_000_000)).joined())
        #expect(try seconds(Self.ftyp + boxes + Self.box("moov", Self.mvhd(Self.since1904))) == nil)
        let few = [UInt8](([[UInt8]](repeating: Self.box("free", []), count: 1_000)).joined())
        #expect(try seconds(Self.ftyp + few + Self.box("moov", Self.mvhd(Self.since1904))) == Self.moment)
    }

    /// 5 GiB of media data (a hole in the file) before the movie.
    @Test func mediaDataIsSkipped() throws {
        let directory = try TemporaryDirectory()
        let path = directory.file("sparse.mp4")
        let file = try #require(fopen(path, "w"))
        let hole: UInt64 = 5 << 30
        let start = Self.ftyp + Self.number(1, 4) + Array("mdat".utf8) + Self.number(hole, 8)
        #expect(fwrite(start, 1, start.count, file) == start.count)
        #expect(fseeko(file, off_t(Self.ftyp.count) + off_t(hole), SEEK_SET) == 0)
        let movie = Self.box("moov", Self.mvhd(Self.since1904))
        #expect(fwrite(movie, 1, movie.count, file) == movie.count)
        fclose(file)
        #expect(MediaCreationTime.seconds(of: try SourceFile(path: Array(path.utf8))) == Self.moment)
    }

    /// Any truncation and any changed byte results in a time or none, never in a trap.
    @Test(arguments: [
        movies[1].bytes, movies[4].bytes, matroskas[0].bytes, matroskas[4].bytes, waves[4].bytes, tags[0].bytes,
        tags[15].bytes, tags[23].bytes,
    ])
    func brokenFilesAreSafe(bytes: [UInt8]) throws {
        let directory = try TemporaryDirectory()
        for count in 1...bytes.count { _ = try seconds(Array(bytes[..<count]), in: directory) }
        var random = Linear(state: 7)
        for index in bytes.indices {
            for byte in [0, 1, 0x7F, 0x80, 0xFF, UInt8.random(in: 0...255, using: &random)] {
                var changed = bytes
                changed[index] = byte
                if index + 1 < changed.count { changed[index + 1] = UInt8.random(in: 0...255, using: &random) }
                _ = try seconds(changed, in: directory)
            }
        }
    }

    private func seconds(_ bytes: [UInt8]) throws -> Int64? {
        try seconds(bytes, in: try TemporaryDirectory())
    }

    private func seconds(_ bytes: [UInt8], in directory: TemporaryDirectory) throws -> Int64? {
        // The file is not truncated to zero first: ext4 would then flush the file thousands of times.
        let descriptor = open(directory.file("media"), O_CREAT | O_WRONLY, 0o600)
        defer { close(descriptor) }
        try #require(pwrite(descriptor, bytes, bytes.count, 0) == bytes.count)
        try #require(ftruncate(descriptor, off_t(bytes.count)) == 0)
        return MediaCreationTime.seconds(of: try SourceFile(path: Array(directory.file("media").utf8)))
    }
}

/// The parts of the files.
extension MediaCreationTimeTests {
    static let ftyp = box("ftyp", Array("isom\0\0\u{2}\0".utf8))
    static let ebml = element([0x1A, 0x45, 0xDF, 0xA3], element([0x42, 0x82], Array("matroska".utf8)))

    static func zeros(_ count: Int) -> [UInt8] { [UInt8](repeating: 0, count: count) }

    static func number(_ value: UInt64, _ count: Int) -> [UInt8] {
        (0..<count).reversed().map { UInt8(truncatingIfNeeded: value >> UInt64(8 * $0)) }
    }

    static func little(_ value: UInt64, _ count: Int) -> [UInt8] { number(value, count).reversed() }

    static func box(_ type: String, _ content: [UInt8]) -> [UInt8] {
        number(UInt64(content.count + 8), 4) + Array(type.utf8) + content
    }

    static func longBox(_ type: String, _ content: [UInt8]) -> [UInt8] {
        number(1, 4) + Array(type.utf8) + number(UInt64(content.count + 16), 8) + content
    }

    static func openBox(_ type: String, _ content: [UInt8]) -> [UInt8] { number(0, 4) + Array(type.utf8) + content }

    static func mvhd(_ time: UInt64, version: UInt8 = 0) -> [UInt8] {
        box("mvhd", [version, 0, 0, 0] + number(time, version == 0 ? 4 : 8) + zeros(88))
    }

    /// RFC 8794: a size of eight bytes.
    static func element(_ identifier: [UInt8], _ content: [UInt8]) -> [UInt8] {
        identifier + [0x01] + number(UInt64(content.count), 7) + content
    }

    static func info(_ nanoseconds: Int64) -> [UInt8] {
        element(
            [0x15, 0x49, 0xA9, 0x66],
            element([0x4D, 0x80], Array("app".utf8))
                + [0x44, 0x61, 0x88] + number(UInt64(bitPattern: nanoseconds), 8)
        )
    }

    /// Nanoseconds since 2001-01-01, which is 978,307,200 seconds after 1970-01-01.
    static func nanoseconds(_ seconds: Int64) -> Int64 { (seconds - 978_307_200) * 1_000_000_000 }

    static func chunk(_ name: String, _ content: [UInt8]) -> [UInt8] {
        Array(name.utf8) + little(UInt64(content.count), 4) + content + zeros(content.count % 2)
    }

    static func wave(_ form: String, _ chunks: [UInt8]) -> [UInt8] {
        Array(form.utf8) + little(UInt64(chunks.count + 4), 4) + Array("WAVE".utf8) + chunks
    }

    static func bext(_ date: String, _ time: String) -> [UInt8] {
        chunk("bext", zeros(320) + Array((date + time).utf8) + zeros(264))
    }

    static func tag(_ version: UInt8, _ frames: [UInt8], flags: UInt8 = 0) -> [UInt8] {
        Array("ID3".utf8) + [version, 0, flags] + synchsafe(frames.count) + frames + zeros(12)
    }

    static func synchsafe(_ value: Int) -> [UInt8] { [21, 14, 7, 0].map { UInt8(value >> $0 & 0x7F) } }

    static func frame4(_ name: String, _ content: [UInt8], flags: UInt8 = 0) -> [UInt8] {
        Array(name.utf8) + synchsafe(content.count) + [0, flags] + content
    }

    static func frame3(_ name: String, _ content: [UInt8], flags: UInt8 = 0) -> [UInt8] {
        Array(name.utf8) + number(UInt64(content.count), 4) + [0, flags] + content
    }

    static func text4(_ name: String, _ text: String) -> [UInt8] { frame4(name, [0] + Array(text.utf8)) }
    static func text3(_ name: String, _ text: String) -> [UInt8] { frame3(name, [0] + Array(text.utf8)) }

    static func utf16(_ text: String, isLittle: Bool) -> [UInt8] {
        text.utf16.flatMap { isLittle ? [UInt8($0 & 0xFF), UInt8($0 >> 8)] : [UInt8($0 >> 8), UInt8($0 & 0xFF)] }
    }

    /// "ID3v2.3.0" section 5: a zero after each 0xFF that is followed by a possible sync or a zero.
    static func escaped(_ bytes: [UInt8]) -> [UInt8] {
        bytes.indices.flatMap { index -> [UInt8] in
            let next = index + 1 < bytes.count ? bytes[index + 1] : 0xFF
            return bytes[index] == 0xFF && (next >= 0xE0 || next == 0) ? [0xFF, 0] : [bytes[index]]
        }
    }

    static func localTime(hour: Int, minute: Int) -> Int64? {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .current
        let parts = DateComponents(year: 2024, month: 3, day: 1, hour: hour, minute: minute)
        return calendar.date(from: parts).map { Int64($0.timeIntervalSince1970) }
    }
}

/// Real files, created by ffmpeg.
@Suite(.enabled(if: FFmpeg.isInstalled, "requires ffmpeg: scripts/setup.sh test")) struct CreationTimeOfRealFilesTests {
    static let moment = ["-metadata", "creation_time=2024-03-01T20:15:00Z"]
    static let day = ["-metadata", "date=2024-03-01"]
    static let broadcast = ["origination_date=2024-03-01", "origination_time=20:15:00"].flatMap { ["-metadata", $0] }

    static let files: [(name: String, arguments: [String], expected: Int64?)] = [
        ("a.mp4", FFmpeg.picture + moment, MediaCreationTimeTests.moment),
        ("fast.mp4", FFmpeg.picture + moment + ["-movflags", "faststart"], MediaCreationTimeTests.moment),
        (
            "parts.mp4", FFmpeg.picture + moment + ["-movflags", "frag_keyframe+empty_moov"],
            MediaCreationTimeTests.moment
        ),
        ("none.mp4", FFmpeg.picture, nil),
        ("a.mov", FFmpeg.picture + moment, MediaCreationTimeTests.moment),
        ("a.m4a", FFmpeg.sound + moment, MediaCreationTimeTests.moment),
        ("a.mkv", FFmpeg.picture + moment, MediaCreationTimeTests.moment),
        ("live.mkv", FFmpeg.picture + moment + ["-live", "1"], MediaCreationTimeTests.moment),
        ("a.webm", FFmpeg.picture + moment + ["-c:v", "libvpx"], MediaCreationTimeTests.moment),
        ("none.mkv", FFmpeg.picture, nil),
        ("a.wav", FFmpeg.sound + broadcast + ["-write_bext", "1"], MediaCreationTimeTests.local),
        ("long.wav", FFmpeg.sound + broadcast + ["-write_bext", "1", "-rf64", "always"], MediaCreationTimeTests.local),
        ("none.wav", FFmpeg.sound, nil),
        ("a.mp3", FFmpeg.sound + moment, MediaCreationTimeTests.moment),
        ("day.mp3", FFmpeg.sound + day, MediaCreationTimeTests.localNoon),
        ("day3.mp3", FFmpeg.sound + day + ["-id3v2_version", "3"], MediaCreationTimeTests.localNoon),
        ("none.mp3", FFmpeg.sound, nil),
        ("none.flac", FFmpeg.sound + moment, nil),
    ]

    @Test(arguments: files) func timesAreRead(file: (name: String, arguments: [String], expected: Int64?)) throws {
        let directory = try TemporaryDirectory()
        let path = directory.file(file.name)
        try FFmpeg.run(file.arguments + [path])
        #expect(MediaCreationTime.seconds(of: try SourceFile(path: Array(path.utf8))) == file.expected)
    }
}
