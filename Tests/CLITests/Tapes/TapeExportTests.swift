import Foundation
import Glibc
import TestSupport
import Testing

/// `tapes export` onto existing files, and its output about files and places.
@Suite struct TapeExportTests {
    /// An environment with a tape of one video, and another of one image.
    private func twoTapes() async throws -> (fixture: TapeFixture, originals: [String]) {
        let fixture = try await TapeFixture.withTape("T")
        try #require(try await fixture.run("create", "Other").exitCode == 0)
        let originals = [try fixture.original("a.mp4"), try fixture.original("b.jpg")]
        for (tape, path) in zip(["T", "Other"], originals) {
            try #require(try await fixture.run("add", tape, path, "--no-album").exitCode == 0)
        }
        return (fixture, originals)
    }

    // R6: originals of every tape, in every format, under any name.
    @Test func exportReplacesNoOriginal() async throws {
        let (fixture, originals) = try await twoTapes()
        let before = try originals.map(fixture.witness)
        let (hard, soft) = (fixture.runner.home.file("hard.mp4"), fixture.runner.home.file("soft.mp4"))
        #expect(link(originals[0], hard) == 0 && symlink(originals[0], soft) == 0)
        for format in ["m3u8", "json", "otio"] {
            for path in originals + [hard, soft] {
                let refused = try await fixture.json([
                    "export", "T", "-o", path, "--format", format, "--force", "--no-album",
                ])
                #expect(refused.error["code"] as? String == "target_unusable" && refused.result.exitCode == 2)
                #expect((refused.error["message"] as? String)?.contains("original of a tape") == true)
            }
        }
        // A rendered video over an original of another tape.
        let video = try await fixture.json("export", "Other", "--render", "-o", originals[0], "--force", "--no-album")
        #expect(video.error["code"] as? String == "target_unusable")
        #expect(try originals.map(fixture.witness) == before)
    }

    @Test func aDashIsStandardOutput() async throws {
        let (fixture, _) = try await twoTapes()
        let expected = try await fixture.run("export", "T", "--no-album")
        #expect(expected.exitCode == 0 && expected.output.hasPrefix("#EXTM3U\n"))
        let result = try await fixture.run("export", "T", "--no-album", "-o", "-")
        #expect(result.exitCode == 0 && result.output == expected.output, "\(result.errors)")
        #expect(!FileManager.default.fileExists(atPath: fixture.runner.home.file("-")))
        #expect(try await fixture.run("export", "T", "-o", "-", "--json").exitCode == 2)
    }

    @Test func exportReplacesOnlyRegularFiles() async throws {
        let (fixture, _) = try await twoTapes()
        let home = fixture.runner.home
        #expect(mkfifo(home.file("p.m3u8"), 0o600) == 0 && mkdir(home.file("d.m3u8"), 0o700) == 0)
        try Data("mine".utf8).write(to: URL(fileURLWithPath: home.file("mine")))
        #expect(symlink("mine", home.file("l.m3u8")) == 0)
        for name in ["p.m3u8", "d.m3u8", "l.m3u8"] {
            for extra in [[], ["--dry-run"]] {
                let refused = try await fixture.runner.run(
                    ["tapes", "export", "T", "-o", home.file(name), "--force", "--no-album"] + extra
                )
                #expect(refused.exitCode == 2 && refused.errors.contains("it is not a regular file"))
            }
        }
        #expect(try String(contentsOfFile: home.file("mine"), encoding: .utf8) == "mine")
    }

    @Test func theFileExtensionSelectsTheFormat() async throws {
        let (fixture, _) = try await twoTapes()
        for (name, format) in [("t.M3U", "m3u8"), ("t.json", "json"), ("t.otio", "otio"), ("t", "m3u8")] {
            let written = try await fixture.json("export", "T", "-o", fixture.runner.home.file(name), "--no-album")
            #expect(written.last["format"] as? String == format)
        }
        for name in ["t.xyz", "t.mp4"] {
            let refused = try await fixture.run("export", "T", "-o", fixture.runner.home.file(name))
            #expect(refused.exitCode == 2 && refused.errors.contains(name == "t.mp4" ? "--render" : "--format"))
        }
        let forced = fixture.runner.home.file("t.xyz")
        #expect(try await fixture.run("export", "T", "-o", forced, "--format", "json", "--no-album").exitCode == 0)
        let dry = try await fixture.run("export", "T", "--dry-run")
        #expect(dry.exitCode == 0 && dry.output == "\"T\" would be written to standard output\n")
    }

    @Test func missingOriginalsAreReportedOnce() async throws {
        let (fixture, originals) = try await twoTapes()
        _ = try await fixture.run("add", "T", try fixture.original("c.mp4"), "--no-album")
        for path in [originals[0], fixture.runner.home.file("c.mp4")] {
            try FileManager.default.removeItem(atPath: path)
        }
        let playlist = try await fixture.run("export", "T", "--no-album")
        #expect(playlist.exitCode == 0 && playlist.output.hasPrefix("#EXTM3U\n"))
        #expect(playlist.errors.components(separatedBy: "cannot be found").count == 2)
        #expect(
            playlist.errors.contains("2 originals") && playlist.errors.contains("mediactl tapes relink TAPE --in DIR")
        )
        guard Self.hasFFmpeg else { return }
        let film = fixture.runner.home.file("t.mp4")
        let video = try await fixture.json("export", "T", "--render", "-o", film, "--no-album")
        #expect(video.error["code"] as? String == "file_not_found")
        #expect((video.error["hint"] as? String)?.contains("mediactl tapes relink TAPE --in DIR") == true)
    }

    private static let hasFFmpeg = ["ffmpeg", "ffprobe"].allSatisfy { name in
        ["/usr/bin", "/bin"].contains { FileManager.default.isExecutableFile(atPath: "\($0)/\(name)") }
    }

    // Clips that cannot be decoded are listed, with the command that helps; nothing is rendered.
    @Test(.enabled(if: hasFFmpeg, "requires ffmpeg and ffprobe: scripts/setup.sh test"))
    func undecodableClipsAreListed() async throws {
        let fixture = try await TapeFixture.withTape("T")
        let photo = fixture.runner.home.file("IMG 1.HEIC")
        try FileManager.default.copyItem(atPath: Repository.path("fixtures/media/still.heic"), toPath: photo)
        // The file contains only the first bytes of an image.
        let picture = try fixture.original("b.jpg")
        _ = try await fixture.run("add", "T", try fixture.original("a.mp4"), photo, picture, "--no-album")
        let film = fixture.runner.home.file("t.mp4")
        for extra in [[], ["--dry-run"]] {
            let words = ["tapes", "export", "T", "--render", "-o", film] + extra
            let refused = try await fixture.runner.run(words)
            let lines = refused.errors.split(separator: "\n")
            #expect(refused.exitCode == 2 && refused.output.isEmpty, "\(refused)")
            // A later ffmpeg version decodes the photo.
            if lines.first?.contains("2 of 3 clips") == true {
                #expect(lines.first == "mediactl: error: the installed ffmpeg cannot decode 2 of 3 clips")
                #expect(lines[1].contains("#2 \"\(photo)\": "))
                let copy = photo.replacing("HEIC", with: "jpg")
                #expect(refused.errors.contains("hint: heif-convert '\(photo)' '\(copy)'"))
            }
            #expect(refused.errors.contains("#3 \"\(picture)\": "))
            #expect(!FileManager.default.fileExists(atPath: film))
            let json = try SyncFixture.report(of: try await fixture.runner.run(words + ["--json"]))
            #expect(json.error["code"] as? String == "clip_undecodable")
            #expect((json.error["message"] as? String)?.contains("b.jpg") == true)
        }
        #expect(try await fixture.run("remove", "T", "#3", "--yes").exitCode == 0)
    }

    // The frame rate and the audio of fixtures/media/clip.mp4, according to ffprobe: 15/1, 3 s, and aac.
    @Test(.enabled(if: hasFFmpeg, "requires ffmpeg and ffprobe: scripts/setup.sh test"))
    func timelinesHaveFramesAndSound() async throws {
        let (fixture, _) = try await twoTapes()
        let plain = try await fixture.run("export", "T", "--format", "otio", "--no-album", extra: ["PATH": "/nowhere"])
        #expect(plain.exitCode == 0 && plain.errors.contains("ffprobe is not installed"), "\(plain.errors)")
        #expect(plain.output.contains("\"rate\": 1000"))
        let crowded = ["TMPDIR": fixture.runner.home.file("nowhere")]
        let rough = try await fixture.run("export", "T", "--format", "otio", "--no-album", extra: crowded)
        #expect(rough.exitCode == 0 && rough.errors.contains("temporary files cannot be created"), "\(rough.errors)")
        #expect(rough.output == plain.output)
        let full = try await fixture.run("export", "T", "--format", "otio", "--no-album")
        #expect(full.exitCode == 0 && full.errors.isEmpty, "\(full.errors)")
        #expect(full.output.contains("\"rate\": 15") && full.output.contains("\"value\": 45"))
        #expect(full.output.contains("\"kind\": \"Audio\""))
    }

    // The trims were chosen for a different video.
    @Test(.enabled(if: hasFFmpeg, "requires ffmpeg and ffprobe: scripts/setup.sh test"))
    func replacedOriginalsAreReportedAndFound() async throws {
        let (fixture, originals) = try await twoTapes()
        #expect(try await fixture.run("set", "T", "--clip", "1", "--trim-start", "2").exitCode == 0)
        let former = fixture.runner.home.file("former")
        try FileManager.default.createDirectory(atPath: former, withIntermediateDirectories: false)
        try FileManager.default.moveItem(atPath: originals[0], toPath: former + "/a.mp4")
        let video = ["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "color=red:s=64x36:r=25:d=1", originals[0]]
        try #require(try await ChildProcess.run("/usr/bin/env", video).exitCode == 0)
        let film = fixture.runner.home.file("t.mp4")
        let exports: [(words: [String], extra: [String: String])] = [
            (["--format", "otio"], [:]), (["--format", "otio"], ["PATH": "/nowhere"]), (["--render", "-o", film], [:]),
        ]
        for (words, extra) in exports {
            let refused = try await fixture.runner.run(["tapes", "export", "T", "--no-album"] + words, extra: extra)
            #expect(refused.exitCode == 2 && refused.output.isEmpty, "\(refused)")
            #expect(refused.errors.contains("the trim range exceeds the length of \"\(originals[0])\": "), "\(refused)")
            #expect(refused.errors.contains("mediactl tapes relink TAPE --changed --in DIR"))
        }
        let playlist = try await fixture.run("export", "T", "--no-album")
        #expect(playlist.exitCode == 0, "\(playlist)")
        #expect(playlist.errors.contains("clip 1 (\(originals[0])) has changed in length since it was added"))
        #expect(try await fixture.json("relink", "T", "--in", former).states == ["present"])
        #expect(try await fixture.json("relink", "T", "--in", former, "--changed").states == ["relinked"])
        let timeline = try await fixture.run("export", "T", "--format", "otio", "--no-album")
        #expect(timeline.exitCode == 0 && timeline.errors.isEmpty, "\(timeline)")
    }

    @Test(.enabled(if: hasFFmpeg, "requires ffmpeg and ffprobe: scripts/setup.sh test"))
    func audioMayBeLongerThanTheVideo() async throws {
        let fixture = try await TapeFixture.withTape("T")
        let path = fixture.runner.home.file("long.mp4")
        let inputs = ["-f", "lavfi", "-i", "color=red:s=64x36:r=25:d=2", "-f", "lavfi", "-i", "sine=440:d=5"]
        let made = try await ChildProcess.run("/usr/bin/env", ["ffmpeg", "-v", "error"] + inputs + [path])
        try #require(made.exitCode == 0)
        try #require(try await fixture.run("add", "T", path, "--no-album").exitCode == 0)
        try #require(try await fixture.run("set", "T", "--clip", "1", "--trim-start", "3").exitCode == 0)
        let timeline = try await fixture.run("export", "T", "--format", "otio", "--no-album")
        #expect(timeline.exitCode == 0 && timeline.errors.isEmpty, "\(timeline)")
    }

    // R16, issue 20: a film is added to the album of its clips only on request.
    @Test(.enabled(if: hasFFmpeg, "requires ffmpeg and ffprobe: scripts/setup.sh test"))
    func aFilmIsAddedToTheAlbumOnRequest() async throws {
        let (fixture, _) = try await twoTapes()
        let film = fixture.runner.home.file("t.mp4")
        let plain = ["export", "T", "--render", "-o", film, "--long-side", "64", "--frame-rate", "10"]
        let alone = try await fixture.runner.run(["tapes"] + plain)
        // The tape had a pending album.
        #expect(alone.exitCode == 0 && alone.output.contains("\"Tapes – T\" with 1 clip"), "\(alone)")
        #expect(try fixture.links("Tapes – T").count == 1)
        let words = plain + ["--force", "--add-to-album"]
        let text = try await fixture.runner.run(["tapes"] + words)
        #expect(text.exitCode == 0 && text.output.contains("album \"Tapes – T\": video added"))
        #expect(try fixture.links("Tapes – T").count == 2)
        let json = try await fixture.runner.run(["tapes"] + words + ["--json"])
        #expect(try SyncFixture.report(of: json).count("added_to_album") == 1)
    }
}
