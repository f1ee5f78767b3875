import Foundation
import TestSupport
import Testing

/// Tapes and their folders of links in the built program.
@Suite struct TapeBinaryTests {
    let fixture: TapeFixture

    init() async throws { fixture = try await TapeFixture.withTape("T") }

    // Acceptance 1 and 2; R1, R6, R7.
    @Test func clipsAreAddedToTheTapeAndItsOneAlbum() async throws {
        let fixture = try TapeFixture()
        let made = try await fixture.json("create", "Summer")
        #expect(made.last["title"] as? String == "Summer" && made.last["association"] as? String == "none")
        #expect(fixture.albums().isEmpty)
        let paths = [try fixture.original("beach.mp4"), try fixture.original("sunset.jpg")]
        let before = try paths.map { try fixture.witness($0) }

        let added = try await fixture.json("add", "Summer", paths[0], paths[1])
        #expect(added.result.exitCode == 0, "\(added.result.errors)")
        #expect(added.items.map { $0["position"] as? Int } == [0, 1])
        #expect(added.items.map { $0["association"] as? String } == ["linked", "linked"])
        #expect(added.last["created"] as? Bool == true && added.last["association"] as? String == "associated")
        let id = try #require(added.last["album_id"] as? String)
        #expect(fixture.albums() == ["Tapes – Summer"])
        #expect(try fixture.links("Tapes – Summer") == ["0001-beach.mp4", "0002-sunset.jpg"])

        let third = try await fixture.json("add", "Summer", try fixture.original("waves.mp4"))
        #expect(third.last["album_id"] as? String == id && third.last["created"] as? Bool == false)
        #expect(try paths.map { try fixture.witness($0) } == before)
        let shown = try await fixture.json("show", "Summer")
        #expect(shown.last["album_id"] as? String == id && shown.last["duration_ms"] as? Int == 10_000)
        #expect(
            shown.items.allSatisfy { ($0["checksum_sha1"] as? String)?.count == 40 && $0["offline"] as? Bool == false }
        )
        let list = try await fixture.json("list")
        #expect(list.items.first?["clips"] as? Int == 3 && list.items.first?["pending_clips"] as? Int == 0)
    }

    /// The key would be neither used nor stored.
    @Test func aKeyIsRefusedForAFolder() async throws {
        let key = try fixture.runner.home.write("key", "key-1".utf8)
        for words in [["library", "init", "--yes"], ["library", "status"], ["verify"]] {
            let result = try await fixture.runner.run(["tapes"] + words + ["--api-key-file", key])
            #expect(
                result.exitCode == 2 && result.errors.contains("the album library is a folder"),
                "\(result)"
            )
            #expect(result.errors.contains("--library-url URL"), "\(result)")
        }
    }

    @Test func orderIsThatOfTheTape() async throws {
        _ = try await fixture.run("add", "T", try fixture.original("a.jpg"), try fixture.original("b.jpg"))
        let inserted = try await fixture.json("insert", "T", "--at", "1", try fixture.original("c.jpg"))
        #expect(inserted.items.first?["position"] as? Int == 1)
        #expect(try await fixture.names("T") == ["a.jpg", "c.jpg", "b.jpg"])
        // R7 on the command line: the position is clamped to 0…count.
        _ = try await fixture.run("insert", "T", "--at", "-5", try fixture.original("d.jpg"))
        #expect(try await fixture.names("T") == ["d.jpg", "a.jpg", "c.jpg", "b.jpg"])
        let moved = try await fixture.json("move", "T", "#4", "--to", "0")
        #expect(moved.last["position"] as? Int == 0 && moved.last["previous_position"] as? Int == 3)
        #expect(try await fixture.json("move", "T", "#1", "--to", "99").last["position"] as? Int == 3)
        #expect(try await fixture.names("T") == ["d.jpg", "a.jpg", "c.jpg", "b.jpg"])
        let playlist = try String(contentsOfFile: fixture.album("Tapes – T") + "/tape.m3u8", encoding: .utf8)
        let order = playlist.split(separator: "\n").filter { $0.hasPrefix("./") }.map { $0.suffix(5) }
        #expect(order == ["d.jpg", "a.jpg", "c.jpg", "b.jpg"])

        // R12: if the flag is not set, the album keeps its clips.
        let removed = try await fixture.json("remove", "T", "#1", "#2", "--yes")
        #expect(removed.items.count == 2 && removed.result.exitCode == 0)
        #expect(try await fixture.names("T") == ["c.jpg", "b.jpg"])
        #expect(try fixture.links("Tapes – T").count == 4)
    }

    @Test func settingsOfClipsDoNotChangeOriginals() async throws {
        let path = try fixture.original("clip.mp4")
        let before = try fixture.witness(path)
        _ = try await fixture.run("add", "T", path, try fixture.original("still.jpg"))
        let changed = try await fixture.json([
            "set", "T", "--clip", "#1", "--trim-start", "0.5", "--trim-end", "1s", "--rotate", "270", "--volume", "0.5",
            "--scale", "fill",
        ])
        let clip = try #require(changed.items.first)
        #expect(clip["trim_start_ms"] as? Int == 500 && clip["trim_end_ms"] as? Int == 1000)
        #expect(clip["rotate"] as? Int == 270 && clip["volume"] as? Double == 0.5 && clip["scale"] as? String == "fill")
        let twice = try await fixture.json("set", "T", "--clip", "#2", "--clip", "2", "--image-duration", "1.5")
        #expect(twice.items.count == 1 && twice.count("items") == 1)
        let tape = try await fixture.json([
            "set", "T", "--orientation", "landscape", "--scale", "fill", "--transition", "slide-lr", "--transition-ms",
            "300",
        ])
        #expect(tape.last["transition"] as? String == "slide_lr" && tape.last["transition_ms"] as? Int == 300)
        #expect(try await fixture.json("show", "T").last["duration_ms"] as? Int == 3000)
        #expect(try fixture.witness(path) == before)
        // Trap 20.
        let eaten = try await fixture.json("set", "T", "--clip", "#1", "--trim-start", "2.5")
        #expect(eaten.error["code"] as? String == "trim_too_long" && eaten.result.exitCode == 2)
        let still = try await fixture.json("set", "T", "--clip", "#2", "--trim-start", "1")
        #expect(still.error["code"] as? String == "not_for_this_kind" && still.result.exitCode == 2)
        let both = try await fixture.json("set", "T", "--clip", "1", "--clip", "2", "--trim-start", "0")
        #expect(both.error["code"] as? String == "not_for_this_kind" && both.items.isEmpty)
        #expect(try await fixture.clips("T").first?["trim_start_ms"] as? Int == 500)
    }

    // R8, R17, trap 7.
    @Test func renamingAndCopyingDoNotChangeTheAlbum() async throws {
        let fixture = try await TapeFixture.withTape("Old")
        _ = try await fixture.run("add", "Old", try fixture.original("a.jpg"))
        let renamed = try await fixture.json("rename", "Old", "New")
        #expect(renamed.last["previous_title"] as? String == "Old" && renamed.last["title"] as? String == "New")
        #expect(fixture.albums() == ["Tapes – Old"])
        let copy = try await fixture.json("duplicate", "New")
        #expect(copy.last["title"] as? String == "New Copy" && copy.last["created"] as? Bool == true)
        #expect(fixture.albums() == ["Tapes – New Copy", "Tapes – Old"])
        let first = try await fixture.json("album", "show", "New"),
            second = try await fixture.json("album", "show", "New Copy")
        #expect(first.items.count == 1 && first.items.first?["current"] as? Bool == true)
        #expect(first.items.first?["album_id"] as? String != second.items.first?["album_id"] as? String)
    }

    @Test func anotherTapeOfTheSameTitleIsReported() async throws {
        let fixture = try TapeFixture()
        let first = try await fixture.json("create", "T")
        #expect(first.result.errors.isEmpty)
        let planned = try await fixture.run("create", "T", "--dry-run")
        let ids = try [first, try await fixture.json("create", "T")].map { try #require($0.last["tape_id"] as? String) }
        #expect(planned.errors == "mediactl: note: 1 tape already has the title \"T\": \(ids[0])\n")
        let third = try await fixture.json("create", "T")
        let all = ids + [try #require(third.last["tape_id"] as? String)]
        #expect(all.allSatisfy { third.result.errors.contains($0) }, "\(third.result.errors)")
        #expect(third.result.errors.hasPrefix("mediactl: note: 3 tapes have the title \"T\"; specify their IDs: "))
    }

    @Test func anUnknownTapeIsReportedFirst() async throws {
        // There is neither --yes nor a terminal; the albums would require a key.
        let extra = [
            "MEDIACTL_LIBRARY_URL": "http://127.0.0.1:1", "MEDIACTL_ALBUMS_LIBRARY": "immich",
            "MEDIACTL_FEATURE_DELETE_ALBUM": "1",
        ]
        let result = try await fixture.json("delete", "T", "Unknown", extra: extra)
        #expect(result.result.exitCode == 5 && result.error["code"] as? String == "tape_not_found", "\(result.result)")
        #expect(!result.result.errors.contains("confirmation"))
        #expect(try await fixture.json("list").items.count == 1)
    }

    // R14.
    @Test func movedOriginalsAreFoundByTheirChecksum() async throws {
        let path = try fixture.original("a.jpg")
        _ = try await fixture.run("add", "T", path, try fixture.original("b.jpg"))
        let archive = fixture.runner.home.file("archive")
        try makeDirectory(archive)
        try FileManager.default.moveItem(atPath: path, toPath: archive + "/other.jpg")
        #expect(try await fixture.clips("T").map { $0["offline"] as? Bool } == [true, false])
        let dry = try await fixture.json("relink", "--in", archive, "--dry-run")
        #expect(dry.states == ["planned", "present"])
        #expect(try await fixture.names("T") == ["a.jpg", "b.jpg"])
        let relinked = try await fixture.json("relink", "T", "--in", archive)
        #expect(relinked.states == ["present", "relinked"] && relinked.result.exitCode == 0)
        #expect(try await fixture.names("T") == ["other.jpg", "b.jpg"])
        // The album lacks the clip until it is updated, and nothing reports otherwise.
        let shown = try await fixture.json("show", "T")
        #expect(shown.count("pending_clips") == 1)
        #expect(shown.result.errors.contains("1 clip is not in the album yet; to add: mediactl tapes repair "))
        let verified = try await fixture.json("verify")
        #expect(verified.result.exitCode == 1 && verified.count("pending_clips") == 1)
        #expect(verified.items.map { $0["finding"] as? String } == ["clip_pending", "original_missing"])
        #expect(verified.result.errors.contains("2 problems found; to repair: mediactl tapes repair\n"))
        #expect(try await fixture.run("verify", "T").errors.contains("to repair: mediactl tapes repair T\n"))
        #expect(try await fixture.json("repair", "-n").count("pending_clips") == 1)
        let repaired = try await fixture.json("repair")
        #expect(repaired.result.exitCode == 0 && repaired.count("pending_clips") == 0)
        #expect(repaired.states == ["repaired", "repaired"])
        #expect(try fixture.links("Tapes – T") == ["0001-other.jpg", "0002-b.jpg"])
        #expect(try await fixture.json("verify").result.exitCode == 0)

        try FileManager.default.removeItem(atPath: archive + "/other.jpg")
        let gone = try await fixture.run("verify")
        #expect(gone.exitCode == 1 && gone.output.contains("\"T\": original of clip 1 is missing: "), "\(gone)")
        // No repair can find the original.
        #expect(gone.errors.contains("1 problem found\n"), "\(gone.errors)")
        #expect(gone.errors.contains("1 original is missing; to search: mediactl tapes relink --in DIR"))
        #expect(try await fixture.run("show", "T").errors.contains("the original of 1 clip is missing"))
        let planned = try await fixture.json("repair", "-n")
        #expect(planned.states == ["failed"] && planned.result.exitCode == 1)
        let left = try await fixture.run("repair")
        #expect(left.exitCode == 1 && left.output.hasPrefix("not repaired \"T\": original of clip 1 is missing: "))
        #expect(try await fixture.json("relink", "--in", archive).result.exitCode == 5)
    }

    @Test func tapesAreExported() async throws {
        let empty = try await fixture.run("export", "T")
        #expect(empty.exitCode == 2 && empty.output.isEmpty)
        _ = try await fixture.run("add", "T", try fixture.original("a.mp4"))
        let playlist = try await fixture.run("export", "T")
        #expect(playlist.exitCode == 0 && playlist.output.hasPrefix("#EXTM3U\n"))
        let file = fixture.runner.home.file("t.otio")
        let written = try await fixture.json("export", "T", "-o", file)
        #expect(written.last["format"] as? String == "otio" && written.last["duration_ms"] as? Int == 3000)
        #expect(try String(contentsOfFile: file, encoding: .utf8).contains("Timeline"))
        #expect(try await fixture.json("export", "T", "-o", file).error["code"] as? String == "target_exists")
        #expect(try await fixture.run("export", "T", "-o", file, "--force").exitCode == 0)
        #expect(try await fixture.run("export", "T", "-o", fixture.runner.home.file("no/t.json")).exitCode == 2)
        // Section 8: without ffmpeg there is a clear message.
        let video = try await fixture.run(
            "export",
            "T",
            "--render",
            "-o",
            fixture.runner.home.file("t.mp4"),
            extra: ["PATH": fixture.runner.home.path]
        )
        #expect(video.exitCode == 2 && video.errors.contains("ffmpeg"))
        #expect(!FileManager.default.fileExists(atPath: fixture.runner.home.file("t.mp4")))
    }

    // R13: a tape with a pending album gets the album when it is exported; an existing album is not changed.
    @Test func exportCreatesThePendingAlbum() async throws {
        _ = try await fixture.run("add", "T", try fixture.original("a.jpg"), "--no-album")
        #expect(fixture.albums().isEmpty)
        #expect(try await fixture.run("export", "T", "--no-album").exitCode == 0)
        #expect(fixture.albums().isEmpty)
        #expect(try await fixture.run("export", "T").exitCode == 0)
        #expect(fixture.albums() == ["Tapes – T"])
    }

    // MARK: Names

    @Test func tapesAreSelectedByIDPrefixOrTitle() async throws {
        let fixture = try await TapeFixture.withTape("Twice")
        let id = try #require(try await fixture.json("create", "Twice").last["tape_id"] as? String)
        let ambiguous = try await fixture.json("show", "Twice")
        #expect(ambiguous.error["code"] as? String == "tape_ambiguous" && ambiguous.result.exitCode == 2)
        #expect((ambiguous.error["message"] as? String)?.contains(id) == true)
        #expect(try await fixture.json("show", String(id.prefix(8)).uppercased()).last["tape_id"] as? String == id)
        let missing = try await fixture.json("show", "nothing")
        #expect(missing.error["code"] as? String == "tape_not_found" && missing.result.exitCode == 5)
        #expect(try await fixture.json("move", id, "#1", "--to", "0").error["code"] as? String == "clip_not_found")
        #expect(try await fixture.json("rename", id, " \t").error["code"] as? String == "title_empty")
        #expect(try await fixture.json("create").last["title"] as? String == "New Tape")
    }

    // Trap 17, trap 19.
    @Test func pathsAreBytesAndTitlesAreText() async throws {
        let fixture = try await TapeFixture.withTape("Ünïcode\u{1b}[31m")
        let shown = try await fixture.run("list")
        #expect(shown.output.contains(#"Ünïcode\u{1b}[31m"#) && !shown.output.contains("\u{1b}"))
        let path = Array(fixture.runner.home.file("odd-").utf8) + [0xFF] + Array(".jpg".utf8)
        let descriptor = open(path.map(CChar.init(bitPattern:)) + [0], O_WRONLY | O_CREAT, 0o600)
        try #require(descriptor >= 0)
        #expect(write(descriptor, [0xFF, 0xD8, 0xFF, 0xE0, 1], 5) == 5)
        close(descriptor)
        let words = ["tapes", "add", "Ünïcode\u{1b}[31m"].map { Array($0.utf8) } + [path, Array("--json".utf8)]
        let added = try SyncFixture.report(of: try await fixture.runner.run(rawArguments: words))
        #expect(added.result.exitCode == 0 && added.items.first?["association"] as? String == "linked")
        #expect(try await fixture.clips("Ünïcode\u{1b}[31m").first?["offline"] as? Bool == false)
        let title = try await fixture.runner.run(rawArguments: ["tapes", "create"].map { Array($0.utf8) } + [[0xFF]])
        #expect(title.exitCode == 2 && title.errors.contains("UTF-8"))
    }

    // MARK: Dry runs

    @Test func dryRunsChangeNothing() async throws {
        let path = try fixture.original("a.mp4")
        _ = try await fixture.run("add", "T", path)
        let other = try fixture.original("b.jpg")
        let before = try await fixture.run("show", "T", "--json").output
        let plans: [[String]] = [
            ["create", "X"], ["rename", "T", "X"], ["duplicate", "T"], ["delete", "T"], ["delete", "--all"],
            ["add", "T", other], ["insert", "T", "--at", "0", other], ["remove", "T", "#1"],
            ["move", "T", "#1", "--to", "0"],
            ["set", "T", "--orientation", "landscape"], ["set", "T", "--clip", "#1", "--rotate", "90"],
            ["export", "T", "-o", fixture.runner.home.file("x.m3u8")],
            ["export", "T", "--render", "-o", fixture.runner.home.file("x.mp4")], ["album", "unlink", "T"],
            ["album", "link", "T", "0b1f7c52-3a43-4a0e-9d3b-6f2c9e2a7d10"], ["library", "init"],
            ["relink", "--in", fixture.runner.home.path], ["repair"],
        ]
        for plan in plans {
            let result = try SyncFixture.report(
                of: try await fixture.runner.run(["tapes"] + plan + ["--dry-run", "--json"])
            )
            #expect(result.result.exitCode == 0 && result.last["dry_run"] as? Bool == true, "\(plan)")
        }
        #expect(try await fixture.run("show", "T", "--json").output == before)
        #expect(try await fixture.json("list").items.count == 1)
        #expect(!FileManager.default.fileExists(atPath: fixture.runner.home.file("x.m3u8")))
    }

    // MARK: Batches and lists

    @Test func badFilesAreReportedAndTheOthersProcessed() async throws {
        let good = try fixture.original("a.jpg"), text = fixture.runner.home.file("notes.txt")
        try Data("hello".utf8).write(to: URL(fileURLWithPath: text))
        let report = try await fixture.json([
            "add", "T", fixture.runner.home.file("gone.jpg"), text, good, fixture.runner.home.path,
        ])
        #expect(report.result.exitCode == 3 && report.states == ["added", "failed", "failed", "failed"])
        let codes = report.items.compactMap { ($0["error"] as? [String: Any])?["code"] as? String }
        #expect(codes == ["file_not_found", "unknown_media_type", "not_regular_file"])
        #expect(try await fixture.json("add", "T", text).result.exitCode == 2)
        let missing = try await fixture.json("add", "T", fixture.runner.home.file("gone.jpg"), "--allow-missing")
        #expect(missing.result.exitCode == 0 && missing.items.first?["state"] as? String == "added")
        #expect(try await fixture.clips("T").map { $0["offline"] as? Bool } == [false, true])
    }

    @Test func listsContainFileNames() async throws {
        let paths = [try fixture.original("a.jpg"), try fixture.original("b\n.jpg"), try fixture.original("c.jpg")]
        let list = try fixture.runner.home.write("list", (paths[0] + "\n" + paths[2] + "\n").utf8)
        #expect(try await fixture.json("add", "T", "--files-from", list).items.count == 2)
        let zero = try await fixture.runner.run(
            ["tapes", "add", "T", "--files-from0", "-", "--json"],
            input: paths[1] + "\0"
        )
        #expect(try SyncFixture.report(of: zero).items.first?["path"] as? String == paths[1])
        #expect(try await fixture.run("add", "T", "--files-from", fixture.runner.home.file("none")).exitCode == 2)
        let empty = try await fixture.run("add", "T", "--files-from", "/dev/null")
        #expect(empty.exitCode == 0 && empty.errors == "mediactl: note: nothing to add\n", "\(empty)")
    }

    @Test func livePhotosAreOneClip() async throws {
        let report = try await fixture.json([
            "add", "T", "--live", try fixture.original("p.jpg"), try fixture.original("p.mp4"),
        ])
        #expect(report.items.count == 1 && report.items.first?["kind"] as? String == "live")
        #expect(try await fixture.clips("T").first?["paired_path"] as? String == fixture.runner.home.file("p.mp4"))
        #expect(try fixture.links("Tapes – T") == ["0001-p.jpg"])
    }

    @Test func closedPipesPrintNoError() async throws {
        let script = "\"$0\" tapes add T \"$1\" | true; exit ${PIPESTATUS[0]}"
        let result = try await ChildProcess.run(
            "/bin/bash",
            ["-c", script, fixture.runner.executable, try fixture.original("a.jpg")],
            environment: fixture.runner.environment
        )
        #expect(result.exitCode == 0 && result.errors.isEmpty)
        #expect(try await fixture.names("T") == ["a.jpg"])
    }
}
