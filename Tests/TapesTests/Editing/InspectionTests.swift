import Foundation
import MediaStore
import MediaSystem
import TestSupport
import Testing

@testable import Tapes

@Suite("Files are examined before they become clips")
struct InspectionTests {
    let bench: EditingBench

    init() throws { bench = try EditingBench() }

    static let heic: [UInt8] = [0, 0, 0, 24] + Array("ftypheic".utf8)
    static let mp4: [UInt8] = [0, 0, 0, 24] + Array("ftypisom".utf8)
    static let canonRaw: [UInt8] = [0, 0, 0, 24] + Array("ftypcrx ".utf8)
    static let png: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
    static let riff: [UInt8] = Array("RIFF".utf8) + [4, 0, 0, 0]

    @Test(
        "the kind is determined by the content, or else by the name",
        arguments: [
            ("a.jpg", EditingBench.jpeg, .image), ("a", EditingBench.jpeg, .image),
            ("a.mp4", EditingBench.jpeg, .image), ("a.HEIC", heic, .image), ("noname", heic, .image),
            ("a.cr3", canonRaw, .image), ("a.dat", png, .image),
            ("a.webp", riff + Array("WEBP".utf8), .image), ("a.x", riff + Array("WEBP".utf8), .image),
            ("a.NEF", Array("nothing known".utf8), .image), ("a.tif", [0x49, 0x49, 0x2A, 0], .image),
            ("a.bmp", Array("BM".utf8) + [UInt8](repeating: 0, count: 12) + [40, 0, 0, 0], .image),
            ("a.mp4", mp4, .video), ("a", mp4, .video), ("a.MOV", EditingBench.movie, .video),
            ("a.avi", riff + Array("AVI ".utf8), .video), ("a.mkv", Array("nothing known".utf8), .video),
            ("a.3gp", Array("nothing known".utf8), .video),
            ("a.mp3", Array("ID3".utf8), nil), ("a.wav", riff + Array("WAVE".utf8), nil),
            ("a.txt", Array("text".utf8), nil), ("BM.txt", Array("BMW, a car, and some more text".utf8), nil),
            ("a.m4a", [0, 0, 0, 24] + Array("ftypM4A ".utf8), nil),
        ] as [(String, [UInt8], ClipRecord.Kind?)]
    )
    func kinds(name: String, content: [UInt8], expected: ClipRecord.Kind?) throws {
        let path = try bench.write(content, name)
        guard let expected else {
            #expect(tapesErrorCode { _ = try bench.editor.inspect(path, allowingMissing: false) } == .unknownMediaType)
            return
        }
        let clip = try bench.editor.inspect(path, allowingMissing: false)
        #expect(clip.kind == expected)
        #expect(clip.source == path)
        #expect(clip.association == .pending)
        #expect(clip.imageMilliseconds == 4000)
        #expect((clip.size, clip.sha1, clip.sha256) == (nil, nil, nil))
    }

    /// The database's dates count from 2001 and its paths refer to another device: its format is not supported.
    @Test("trap 21: the app's database is not a media file", arguments: ["tapes.json", "tapes"])
    func appDatabase(name: String) throws {
        let path = try bench.write(Array(#"[{"title":"Summer","createdAt":774000000.5,"clips":[]}]"#.utf8), name)
        #expect(tapesErrorCode { _ = try bench.editor.inspect(path, allowingMissing: false) } == .unknownMediaType)
    }

    @Test("trap 17: names that are long, contain newlines, or are not UTF-8 are kept byte by byte")
    func bytes() throws {
        for name: [UInt8] in [[0xff, 0xfe], Array("a\nb".utf8), [UInt8](repeating: 0x61, count: 251)] {
            let path = bench.path("") + name + Array(".jpg".utf8)
            let file = try #require(fopen(path.map(CChar.init(bitPattern:)) + [0], "w"))
            fwrite(EditingBench.jpeg, 1, EditingBench.jpeg.count, file)
            fclose(file)
            let clip = try bench.editor.inspect(path, allowingMissing: false)
            #expect(clip.source == path)
            let kept = try bench.editor.add([clip], to: try bench.editor.create(title: "x"))
            #expect(try bench.store.clips(of: kept[0].tapeID).map(\.source) == [path])
        }
    }

    @Test("R6: the path of a link is kept, and nothing is changed")
    func link() throws {
        try bench.write(EditingBench.jpeg, "a.jpg")
        try makeLink(bench.originals + "/link.jpg", to: "a.jpg")
        let witness = try OriginalsWitness(bench.originals)
        let clip = try bench.editor.inspect(bench.path("link.jpg"), allowingMissing: false)
        #expect(clip.source == bench.path("link.jpg"))
        #expect(clip.kind == .image)
        try witness.check()
    }

    @Test(
        "a file that cannot be a clip is reported with its code",
        arguments: [
            ("missing.jpg", .fileNotFound), ("dangling.jpg", .fileNotFound), ("directory", .notRegularFile),
            ("fifo.mp4", .notRegularFile), ("empty.jpg", .emptyFile), ("a.jpg/b.jpg", .fileNotFound),
            ("a.jpg/", .fileNotFound),
        ] as [(String, OutcomeCode)]
    )
    func refused(name: String, code: OutcomeCode) throws {
        try bench.write(EditingBench.jpeg, "a.jpg")
        try bench.write([], "empty.jpg")
        try bench.write([1], "directory/x")
        try makeLink(bench.originals + "/dangling.jpg", to: "gone/x")
        #expect(mkfifo(bench.originals + "/fifo.mp4", 0o600) == 0)
        let error = #expect(throws: TapesError.self) {
            try bench.editor.inspect(bench.path(name), allowingMissing: false)
        }
        #expect(error?.code == code)
        #expect(error?.path == bench.path(name))
        #expect(tapesErrorCode { _ = try bench.editor.inspect([], allowingMissing: true) } == .fileNotFound)
        #expect(tapesErrorCode { _ = try bench.editor.inspect([0x2f, 0], allowingMissing: false) } == .fileNotFound)
    }

    @Test("R14: a missing file is accepted by its extension on request; a directory or an empty file is not")
    func missing() throws {
        let (editor, away) = (bench.editor, Array("/nonexistent/disk/".utf8))
        for (name, kind) in [("a.MOV", .video), ("a.heic", .image), ("a.cr2", .image)] as [(String, ClipRecord.Kind)] {
            let clip = try editor.inspect(away + Array(name.utf8), allowingMissing: true)
            #expect(clip.kind == kind)
            #expect(clip.source == away + Array(name.utf8))
            #expect(clip.durationMilliseconds == nil)
        }
        for name in ["a.txt", "a", "a.mp3"] {
            let path = away + Array(name.utf8)
            #expect(tapesErrorCode { _ = try editor.inspect(path, allowingMissing: true) } == .unknownMediaType)
        }
        let empty = try bench.write([], "empty.mp4")
        #expect(tapesErrorCode { _ = try editor.inspect(empty, allowingMissing: true) } == .emptyFile)
    }

    @Test(
        "the length of a video is read; null is unknown, not 0",
        .enabled(if: EditingMedia.isPossible, "requires ffmpeg: scripts/setup.sh test")
    )
    func duration() async throws {
        let path = bench.path("a.mp4")
        try await EditingMedia.video(at: path, seconds: 1.2)
        #expect(try bench.editor.inspect(path, allowingMissing: false).durationMilliseconds == 1200)
        let bare = try bench.write(EditingBench.movie, "b.mov")
        #expect(try bench.editor.inspect(bare, allowingMissing: false).durationMilliseconds == nil)
    }

    @Test("the current length of a file replaces the stored one, but not if the file is missing; canceling stops it")
    func currentDurations() async throws {
        let known = [try bench.write(EditingBench.movie, "b.mov"), bench.path("missing.mov")].map { path in
            var clip = ClipRecord(id: "", tapeID: "", kind: .video, source: path)
            clip.durationMilliseconds = 3000
            return clip
        }
        #expect(try await bench.editor.current(known).map(\.durationMilliseconds) == [nil, 3000])
        await expectCancellation { [editor = bench.editor] in _ = try await editor.current(known) }
    }

    // MARK: Paths

    @Test(
        "a relative path starts at the current directory; only redundant components are removed",
        arguments: [
            ("a.jpg", "$/a.jpg"), ("./a.jpg", "$/a.jpg"), (".//./d///a.jpg", "$/d/a.jpg"), ("d/../a.jpg", "$/a.jpg"),
            ("d/./../d/a.jpg", "$/d/a.jpg"), ("..", "$$"), ("d/..", "$"), ("d/", "$/d/"), (".", "$"),
            // After a link, `..` refers to a different directory, and nothing is known about paths that do not exist.
            ("link/../a.jpg", "$/link/../a.jpg"), ("gone/../a.jpg", "$/gone/../a.jpg"),
            ("link/d/../../a.jpg", "$/link/../a.jpg"), ("link", "$/link"), ("gone/../..", "$/gone/../.."),
            ("/", "/"), ("/..", "/"), ("/../../x", "/x"), ("//x//y", "/x/y"), ("/.", "/"),
            ("/nonexistent/.x", "/nonexistent/.x"),
            ("...", "$/..."), ("..a/.b", "$/..a/.b"),
        ]
    )
    func absolute(path: String, expected: String) throws {
        try bench.write([1], "d/x")
        try bench.write([1], "far/away/d/x")
        try makeLink(bench.originals + "/link", to: bench.originals + "/far/away")
        let parent = String(bench.originals.dropLast("/originals".count))
        let whole = expected.replacing("$$", with: parent).replacing("$", with: bench.originals)
        let absolute = AbsolutePath.of(Array(path.utf8), in: bench.path("").dropLast())
        #expect(String(decoding: absolute, as: UTF8.self) == whole)
    }

    @Test("the current directory is the same for the system and the program")
    func currentDirectory() throws {
        #expect(CurrentDirectory.path == Array(FileManager.default.currentDirectoryPath.utf8))
    }

    // MARK: Live photos

    private func clip(_ name: String, _ kind: ClipRecord.Kind, _ milliseconds: Int64? = nil) -> ClipRecord {
        var clip = ClipRecord(id: name, tapeID: "", kind: kind, source: Array(name.utf8))
        clip.durationMilliseconds = milliseconds
        return clip
    }

    @Test("a still and a video with one stem in one directory are one live photo, at the position of the first")
    func pairs() throws {
        let clips = [
            clip("/a/1.mov", .video, 3000), clip("/a/2.heic", .image), clip("/b/1.heic", .image),
            clip("/a/1.heic", .image), clip("/a/3.mov", .video), clip("/a/2.MOV", .video, nil),
        ]
        let paired = bench.editor.pairingLivePhotos(clips)
        #expect(paired.map(\.id) == ["/a/1.heic", "/a/2.heic", "/b/1.heic", "/a/3.mov"])
        #expect(paired.map(\.kind) == [.live, .live, .image, .video])
        #expect(paired.map(\.source) == paired.map { Array($0.id.utf8) })
        #expect(paired.map(\.pairedSource) == [Array("/a/1.mov".utf8), Array("/a/2.MOV".utf8), nil, nil])
        #expect(paired.map(\.durationMilliseconds) == [3000, nil, nil, nil])
    }

    @Test("each file is in at most one pair; a leading dot does not start an extension")
    func pairsOnce() throws {
        let editor = bench.editor
        let twice = [clip("/1.heic", .image), clip("/1.mov", .video), clip("/1.jpg", .image), clip("/1.mp4", .video)]
        #expect(editor.pairingLivePhotos(twice).map(\.id) == ["/1.heic", "/1.jpg"])
        let odd = [clip("/1.heic", .image), clip("/1.jpg", .image), clip("/1.mov", .video)]
        #expect(editor.pairingLivePhotos(odd).map(\.kind) == [.live, .image])
        let hidden = [clip("/.mov", .video), clip("/.heic", .image), clip("/a.b/x", .video), clip("/a.c/x", .image)]
        #expect(editor.pairingLivePhotos(hidden) == hidden)
    }
}

/// Real files, created by ffmpeg.
enum EditingMedia {
    static let isPossible = ["/usr/bin", "/usr/local/bin", "/bin"].contains {
        FileManager.default.isExecutableFile(atPath: $0 + "/ffmpeg")
    }

    static func video(at path: [UInt8], seconds: Double) async throws {
        let ending = try await ChildProcess.run(
            "ffmpeg",
            [
                "-nostdin", "-v", "error", "-f", "lavfi", "-i", "testsrc=duration=\(seconds):size=32x32:rate=25",
                String(decoding: path, as: UTF8.self),
            ]
        )
        try #require(ending.status == 0, "\(ending.errors)")
    }
}
