import Foundation
import MediaStore
import TestSupport
import Testing

@testable import Tapes

/// Errors that are reported before any work is done.
@Suite struct RenderingRefusalTests {
    private let home: TemporaryDirectory
    private let clip: ClipRecord

    init() throws {
        home = try TemporaryDirectory()
        try Data([1]).write(to: URL(filePath: home.file("a.png")))
        clip = ExportFixtures.still(home.file("a.png"))
        for name in ["ffmpeg", "ffprobe"] {
            // Fails if it is run.
            try Data("#!/bin/false\n".utf8).write(to: URL(filePath: home.file(name)))
            try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: home.file(name))
        }
    }

    private func refusal(
        _ clips: [ClipRecord],
        to target: String = "film.mp4",
        replacing isReplacing: Bool = false,
        longSide: Int = 64
    ) async throws -> TapesError {
        let before = try FileManager.default.contentsOfDirectory(atPath: home.path).sorted()
        let error = await #expect(throws: TapesError.self) {
            try await TapeRendering(searchPath: home.path).render(
                ExportFixtures.tape(),
                clips: clips,
                to: Array(home.file(target).utf8),
                options: .init(longSide: longSide, isReplacing: isReplacing)
            )
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: home.path).sorted() == before)
        return try #require(error)
    }

    @Test(arguments: ["ffmpeg", "ffprobe"])
    func aMissingProgramIsReported(_ name: String) async throws {
        try FileManager.default.removeItem(atPath: home.file(name))
        let error = try await refusal([clip])
        #expect(error.code == .programMissing)
        #expect(error.value == name)
        #expect(error.detail == "\(name) is not in PATH")
    }

    @Test func theProgramsAreStarted() async throws {
        let error = try await refusal([clip])
        #expect(error.code == .clipUndecodable)
        // `ffprobe` is the first program to be run.
        #expect(error.detail == "ffprobe failed with exit code 1")
        #expect(error.path == clip.source)
    }

    private func program(_ name: String, _ script: String) throws {
        try Data("#!/bin/sh\n\(script)\n".utf8).write(to: URL(filePath: home.file(name)))
    }

    /// An ffmpeg after 7.0 reads the tiles of an HEIC photo, and shows one of them.
    @Test(arguments: [("mov,mp4,m4a,3gp,3g2,mj2", true), ("ico", false)])
    func oneTileOfAPhotoIsNotThePhoto(_ format: String, _ isRefused: Bool) async throws {
        let stream = #"{"codec_type":"video","disposition":{"attached_pic":0}}"#
        try program("ffprobe", "echo '{\"streams\":[\(stream),\(stream)],\"format\":{\"format_name\":\"\(format)\"}}'")
        try program("ffmpeg", "echo frame=119")
        let error = try await refusal([clip])
        #expect(error.code == (isRefused ? .clipUndecodable : .renderFailed))
        #expect(error.detail == (isRefused ? "it is a grid of 2 images" : "119 of 120 frames were rendered"))
    }

    /// A fake ffmpeg with chosen output.
    @Test(
        arguments: [
            ("echo frame=119; exit 0", "119 of 120 frames were rendered"),
            (
                "echo frame=120; echo 'a b' >&2; echo 'x: c' >&2; echo >&2; echo 'Conversion failed!' >&2; exit 1",
                "x: c"
            ),
            ("kill -9 $$", "ffmpeg was terminated by signal 9"),
        ]
    )
    func theOutputOfFFmpegIsParsed(_ script: String, _ detail: String) async throws {
        try program("ffprobe", "echo '{}'")
        try program("ffmpeg", script)
        #expect(try await refusal([clip]).detail == detail)
    }

    @Test(
        arguments: [
            ("film.avi", "the extension must be .mp4, .mov or .mkv"),
            ("film", "the extension must be .mp4, .mov or .mkv"),
            ("gone/film.mp4", "no such directory"), ("", "the extension must be .mp4, .mov or .mkv"),
        ]
    )
    func invalidTargetPaths(_ target: String, _ detail: String) async throws {
        let error = try await refusal([clip], to: target)
        #expect(error.code == .targetUnusable)
        #expect(error.detail == detail)
    }

    @Test func existingFilesAreKept() async throws {
        try Data("mine".utf8).write(to: URL(filePath: home.file("film.mp4")))
        #expect(try await refusal([clip]).code == .targetExists)
        try FileManager.default.createDirectory(atPath: home.file("dir.mp4"), withIntermediateDirectories: false)
        #expect(try await refusal([clip], to: "dir.mp4").code == .targetExists)
        #expect(try await refusal([clip], to: "dir.mp4", replacing: true).code == .targetUnusable)
        #expect(try String(contentsOfFile: home.file("film.mp4"), encoding: .utf8) == "mine")
    }

    /// R6: an original is never changed, under any name.
    @Test func noOriginalIsReplaced() async throws {
        try Data("original".utf8).write(to: URL(filePath: home.file("a.mp4")))
        try FileManager.default.linkItem(atPath: home.file("a.mp4"), toPath: home.file("hard.mp4"))
        try makeLink(home.file("soft.mp4"), to: "a.mp4")
        let video = ExportFixtures.video(home.file("a.mp4"), 1000)
        let live = ExportFixtures.live(home.file("a.png"), video: home.file("a.mp4"))
        for target in ["a.mp4", "hard.mp4", "soft.mp4"] {
            for clip in [video, live] {
                let error = try await refusal([clip], to: target, replacing: true)
                #expect(error.code == .targetUnusable)
                #expect(error.detail == "it is an original of a tape")
            }
        }
    }

    /// R6: an original of another tape is not replaced.
    @Test func noOriginalOfAnotherTapeIsReplaced() async throws {
        let path = try home.write("other.mp4", "original".utf8)
        let error = await #expect(throws: TapesError.self) {
            try await TapeRendering(searchPath: home.path).render(
                ExportFixtures.tape(),
                clips: [clip],
                to: Array(path.utf8),
                options: .init(longSide: 64, isReplacing: true),
                protecting: [Array(path.utf8)]
            )
        }
        #expect(error?.detail == "it is an original of a tape")
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "original")
    }

    @Test func clipsThatCannotBeRendered() async throws {
        let bare = ClipRecord(id: "x", tapeID: "t", kind: .video, source: nil)
        #expect(try await refusal([]).code == .nothingToExport)
        #expect(try await refusal([bare]).code == .nothingToExport)
        let gone = try await refusal([clip, ExportFixtures.video(home.file("gone.mov"), 1)])
        #expect(gone.code == .fileNotFound)
        #expect(gone.path == Array(home.file("gone.mov").utf8))
        #expect(gone.value == "video-clip")
        #expect(try await refusal([ExportFixtures.still(home.path)]).code == .notRegularFile)
        // The video of a live photo replaces its still.
        let live = ExportFixtures.live(home.file("gone.heic"), video: home.file("gone.mov"))
        #expect(try await refusal([live]).code == .fileNotFound)
        #expect(try await refusal([clip], longSide: 65).code == .outOfRange)
    }
}
