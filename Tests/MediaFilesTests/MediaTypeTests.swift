import Foundation
import MediaFiles
import TestSupport
import Testing

@Suite struct MediaTypeTests {
    /// Gighive contract 2.4, "Extensions".
    static let audio = "mp3 wav flac aac m4a m4p aif aifc aiff ogg oga au m2a wma".split(separator: " ").map(
        String.init
    )
    static let video = """
        mp4 mov mkv webm m4v avi mpg mpeg ts m2t m2ts ogv mxf flv rm rmvb rv wmv vob m2v bup ifo
        """.split(separator: " ").map(String.init)
    /// Gighive contract 2.4, "MIME allow-list".
    static let allowed = Set(
        [
            "audio": "mpeg mp3 wav x-wav aac flac mp4 aiff x-aiff ogg vorbis basic x-au au mp2 mpeg2 x-ms-wma",
            "video":
                "mp4 quicktime x-matroska webm x-msvideo mpeg mp2t ogg x-flv mxf vnd.rn-realvideo x-ms-wmv x-ms-asf",
            "application": "ogg mxf vnd.rn-realmedia vnd.ms-asf",
        ].flatMap { top, subs in subs.split(separator: " ").map { "\(top)/\($0)" } }
    )

    @Test(arguments: audio) func audioExtensions(name: String) throws {
        let type = try #require(MediaType.named(byExtension: name))
        #expect(type.kind == .audio)
        #expect(Self.allowed.contains(type.mimeType))
        #expect(type.mimeType.hasPrefix("audio/"))
        #expect(MediaType.named(byExtension: name.uppercased()) == type)
    }

    @Test(arguments: video) func videoExtensions(name: String) throws {
        let type = try #require(MediaType.named(byExtension: name))
        #expect(type.kind == .video)
        #expect(Self.allowed.contains(type.mimeType))
    }

    @Test(arguments: ["", "txt", "php", "mp", "mp44", ".mp4"]) func otherExtensionsAreUnknown(name: String) {
        #expect(MediaType.named(byExtension: name) == nil)
    }

    @Test(arguments: [
        ("a.mp4", "mp4"), ("a.b.MOV", "MOV"), ("dir.d/name", ""), ("/x/y.wav", "wav"), ("name.", ""), (".mp4", "mp4"),
        ("", ""),
    ])
    func pathExtensions(name: String, expected: String) {
        #expect(MediaType.pathExtension(of: name) == expected)
    }

    @Test func theExtensionDecidesAndTheContentIsAFallback() {
        let movie = Array("\0\0\0\u{18}ftypisom".utf8)
        #expect(MediaType.declared(fileName: "clip.MOV", prefix: movie)?.mimeType == "video/quicktime")
        // Trap T5: a real MP4 with an unknown extension must not be declared as application/octet-stream.
        #expect(MediaType.declared(fileName: "clip.bin", prefix: movie)?.mimeType == "video/mp4")
        #expect(MediaType.declared(fileName: "clip", prefix: movie)?.mimeType == "video/mp4")
        // Gighive contract 2.4: text named x.mp3 is accepted, so it is declared by its name.
        #expect(MediaType.declared(fileName: "x.mp3", prefix: Array("hello".utf8))?.mimeType == "audio/mpeg")
        #expect(MediaType.declared(fileName: "x.txt", prefix: Array("hello".utf8)) == nil)
    }

    static let magics: [(hex: String, mime: String?)] = [
        ("00000014 66747970 71742020", "video/quicktime"),
        ("00000020 66747970 4d344120", "audio/mp4"),
        ("00000020 66747970 4d345620", "video/mp4"),
        ("00000020 66747970 6d703432", "video/mp4"),
        ("00000018 66747970 68656963", "image/heic"),
        ("00000008 77696465", "video/quicktime"),
        ("524946460000000057415645", "audio/wav"),
        ("524946460000000041564920", "video/x-msvideo"),
        ("524946460000000057454250", nil),
        ("464f524d0000000041494646", "audio/aiff"),
        ("464f524d0000000041494643", "audio/aiff"),
        ("664c6143", "audio/flac"),
        ("494433040000", "audio/mpeg"),
        ("fffb9064", "audio/mpeg"),
        ("fff15080", "audio/aac"),
        ("fff95080", "audio/aac"),
        // UTF-16 text starts like a frame of MPEG layer I.
        ("fffe68006900", nil),
        ("000001ba44", "video/mpeg"),
        ("000001b316", "video/mpeg"),
        ("464c560105", "video/x-flv"),
        ("2e736e64", "audio/basic"),
        ("060e2b34020501010d0102010102", "video/mxf"),
        ("2e524d46000000", "application/vnd.rn-realmedia"),
        ("2e7261fd", "audio/x-pn-realaudio"),
        ("3026b2758e66cf11", "video/x-ms-asf"),
        ("1a45dfa3 9f 4282 84 7765626d", "video/webm"),
        ("1a45dfa3 a3 4286 81 01 4282 88 6d6174726f736b61", "video/x-matroska"),
        ("1a45dfa3 9f", nil),
        ("", nil), ("ff", nil), ("00", nil), ("4f676753", "audio/ogg"),
        ("89504e470d0a1a0a", nil),
    ]

    @Test(arguments: magics) func magicBytes(magic: (hex: String, mime: String?)) {
        #expect(MediaType.sniffed(bytes(magic.hex))?.mimeType == magic.mime)
    }

    /// Every prefix of every signature is checked without reading beyond its end.
    @Test(arguments: magics) func truncatedSignaturesAreSafe(magic: (hex: String, mime: String?)) {
        let whole = bytes(magic.hex)
        for count in 0...whole.count { _ = MediaType.sniffed(Array(whole[..<count])) }
    }

    private func bytes(_ hex: String) -> [UInt8] {
        let digits = hex.filter { $0 != " " }.compactMap(\.hexDigitValue)
        return stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(digits[$0] * 16 + digits[$0 + 1]) }
    }
}

/// Real files, created by ffmpeg.
@Suite(.enabled(if: FFmpeg.isInstalled, "requires ffmpeg: scripts/setup.sh test")) struct SniffedFilesTests {
    static let files: [(name: String, arguments: [String], mime: String)] = [
        ("a.mp4", FFmpeg.picture, "video/mp4"),
        ("a.mov", FFmpeg.picture, "video/quicktime"),
        ("a.m4a", FFmpeg.sound, "audio/mp4"),
        ("a.mkv", FFmpeg.picture, "video/x-matroska"),
        ("a.webm", FFmpeg.picture + ["-c:v", "libvpx"], "video/webm"),
        ("a.avi", FFmpeg.picture, "video/x-msvideo"),
        ("a.mpg", FFmpeg.picture, "video/mpeg"),
        ("a.ts", FFmpeg.picture, "video/mp2t"),
        ("a.m2ts", FFmpeg.picture + ["-mpegts_m2ts_mode", "1", "-f", "mpegts"], "video/mp2t"),
        ("a.ogv", FFmpeg.picture, "video/ogg"),
        ("both.ogv", FFmpeg.sound + FFmpeg.picture, "video/ogg"),
        ("a.mxf", FFmpeg.picture, "video/mxf"),
        ("a.flv", FFmpeg.picture, "video/x-flv"),
        ("a.wmv", FFmpeg.picture, "video/x-ms-wmv"),
        ("a.wma", FFmpeg.sound, "audio/x-ms-wma"),
        ("a.mp3", FFmpeg.sound, "audio/mpeg"),
        ("bare.mp3", FFmpeg.sound + ["-id3v2_version", "0", "-write_xing", "0"], "audio/mpeg"),
        ("a.aac", FFmpeg.sound, "audio/aac"),
        ("a.wav", FFmpeg.sound, "audio/wav"),
        ("a.flac", FFmpeg.sound, "audio/flac"),
        ("a.ogg", FFmpeg.sound, "audio/ogg"),
        ("opus.ogg", FFmpeg.sound + ["-c:a", "libopus"], "audio/ogg"),
        ("a.aiff", FFmpeg.sound, "audio/aiff"),
        ("a.au", FFmpeg.sound, "audio/basic"),
        ("a.rm", FFmpeg.sound + ["-c:a", "ac3"], "application/vnd.rn-realmedia"),
    ]

    @Test(arguments: files) func contentIsRecognized(file: (name: String, arguments: [String], mime: String)) throws {
        let directory = try TemporaryDirectory()
        let path = directory.file(file.name)
        try FFmpeg.run(file.arguments + [path])
        let prefix = try SourceFile(path: Array(path.utf8)).prefix(4096)
        #expect(MediaType.sniffed(prefix)?.mimeType == file.mime)
        #expect(MediaType.declared(fileName: file.name, prefix: prefix)?.mimeType == file.mime)
    }

    @Test func videoInAFileNamedOgg() throws {
        let directory = try TemporaryDirectory()
        try FFmpeg.run(FFmpeg.picture + ["-c:v", "libtheora", directory.file("a.ogg")])
        let prefix = try SourceFile(path: Array(directory.file("a.ogg").utf8)).prefix(4096)
        #expect(MediaType.declared(fileName: "a.ogg", prefix: prefix)?.mimeType == "video/ogg")
    }
}

enum FFmpeg {
    static let picture = ["-f", "lavfi", "-i", "testsrc=duration=0.2:size=64x64:rate=25"]
    static let sound = ["-f", "lavfi", "-i", "sine=duration=0.2"]

    static let isInstalled = ["/usr/bin", "/usr/local/bin", "/bin"].contains {
        FileManager.default.isExecutableFile(atPath: $0 + "/ffmpeg")
    }

    static func run(_ arguments: [String]) throws {
        let ending = try ChildProcess.run("ffmpeg", ["-nostdin", "-v", "error", "-y"] + arguments)
        try #require(ending.status == 0, "\(ending.errors)")
    }
}
