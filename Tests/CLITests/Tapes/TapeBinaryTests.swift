import Foundation
import TestSupport
import Testing

/// Tapes and their folders of links in the built program.
@Suite struct TapeBinaryTests {
    // Acceptance 1 and 2; R1, R6, R7.
    @Test func clipsAreAddedToTheTapeAndItsOneAlbum() async throws {
        let stage = try TapeStage()
        let made = try await stage.json("create", "Summer")
        #expect(made.last["title"] as? String == "Summer" && made.last["association"] as? String == "none")
        #expect(stage.albums().isEmpty)
        let paths = [try stage.original("beach.mp4"), try stage.original("sunset.jpg")]
        let before = try paths.map { try stage.witness($0) }

        let added = try await stage.json("add", "Summer", paths[0], paths[1])
        #expect(added.result.exitCode == 0, "\(added.result.errors)")
        #expect(added.items.map { $0["position"] as? Int } == [0, 1])
        #expect(added.items.map { $0["association"] as? String } == ["linked", "linked"])
        #expect(added.last["created"] as? Bool == true && added.last["association"] as? String == "associated")
        let id = try #require(added.last["album_id"] as? String)
        #expect(stage.albums() == ["Tapes – Summer"])
        #expect(try stage.links("Tapes – Summer") == ["0001-beach.mp4", "0002-sunset.jpg"])

        let third = try await stage.json("add", "Summer", try stage.original("waves.mp4"))
        #expect(third.last["album_id"] as? String == id && third.last["created"] as? Bool == false)
        #expect(try paths.map { try stage.witness($0) } == before)
        let shown = try await stage.json("show", "Summer")
        #expect(shown.last["album_id"] as? String == id && shown.last["duration_ms"] as? Int == 10_000)
        #expect(
            shown.items.allSatisfy { ($0["checksum_sha1"] as? String)?.count == 40 && $0["offline"] as? Bool == false }
        )
        let list = try await stage.json("list")
        #expect(list.items.first?["clips"] as? Int == 3 && list.items.first?["pending_clips"] as? Int == 0)
    }

    @Test func orderIsThatOfTheTape() async throws {
        let stage = try await TapeStage.withTape("T")
        _ = try await stage.run("add", "T", try stage.original("a.jpg"), try stage.original("b.jpg"))
        let inserted = try await stage.json("insert", "T", "--at", "1", try stage.original("c.jpg"))
        #expect(inserted.items.first?["position"] as? Int == 1)
        #expect(try await stage.names("T") == ["a.jpg", "c.jpg", "b.jpg"])
        // R7 of the command line: clamped to 0…count.
        _ = try await stage.run("insert", "T", "--at", "-5", try stage.original("d.jpg"))
        #expect(try await stage.names("T") == ["d.jpg", "a.jpg", "c.jpg", "b.jpg"])
        let moved = try await stage.json("move", "T", "#4", "--to", "0")
        #expect(moved.last["position"] as? Int == 0 && moved.last["previous_position"] as? Int == 3)
        #expect(try await stage.json("move", "T", "#1", "--to", "99").last["position"] as? Int == 3)
        #expect(try await stage.names("T") == ["d.jpg", "a.jpg", "c.jpg", "b.jpg"])
        let playlist = try String(contentsOfFile: stage.album("Tapes – T") + "/tape.m3u8", encoding: .utf8)
        let order = playlist.split(separator: "\n").filter { $0.hasPrefix("./") }.map { $0.suffix(5) }
        #expect(order == ["d.jpg", "a.jpg", "c.jpg", "b.jpg"])

        // R12: with the flag off the album keeps its clips.
        let removed = try await stage.json("remove", "T", "#1", "#2", "--yes")
        #expect(removed.items.count == 2 && removed.result.exitCode == 0)
        #expect(try await stage.names("T") == ["c.jpg", "b.jpg"])
        #expect(try stage.links("Tapes – T").count == 4)
    }

    @Test func looksChangeAndOriginalsDoNot() async throws {
        let stage = try await TapeStage.withTape("T")
        let path = try stage.original("clip.mp4")
        let before = try stage.witness(path)
        _ = try await stage.run("add", "T", path, try stage.original("still.jpg"))
        let changed = try await stage.json(
            "set",
            "T",
            "--clip",
            "#1",
            "--trim-start",
            "0.5",
            "--trim-end",
            "1s",
            "--rotate",
            "270",
            "--volume",
            "0.5",
            "--scale",
            "fill"
        )
        let clip = try #require(changed.items.first)
        #expect(clip["trim_start_ms"] as? Int == 500 && clip["trim_end_ms"] as? Int == 1000)
        #expect(clip["rotate"] as? Int == 270 && clip["volume"] as? Double == 0.5 && clip["scale"] as? String == "fill")
        _ = try await stage.run("set", "T", "--clip", "#2", "--image-duration", "1.5")
        let tape = try await stage.json(
            "set",
            "T",
            "--orientation",
            "landscape",
            "--scale",
            "fill",
            "--transition",
            "slide-lr",
            "--transition-ms",
            "300"
        )
        #expect(tape.last["transition"] as? String == "slide_lr" && tape.last["transition_ms"] as? Int == 300)
        #expect(try await stage.json("show", "T").last["duration_ms"] as? Int == 3000)
        #expect(try stage.witness(path) == before)
        // Trap 20.
        let eaten = try await stage.json("set", "T", "--clip", "#1", "--trim-start", "2.5")
        #expect(eaten.error["code"] as? String == "trim_too_long" && eaten.result.exitCode == 2)
        let still = try await stage.json("set", "T", "--clip", "#2", "--trim-start", "1")
        #expect(still.error["code"] as? String == "not_for_this_kind" && still.result.exitCode == 2)
    }

    // R8, R17, trap 7.
    @Test func renamingAndCopyingDoNotChangeTheAlbum() async throws {
        let stage = try await TapeStage.withTape("Old")
        _ = try await stage.run("add", "Old", try stage.original("a.jpg"))
        let renamed = try await stage.json("rename", "Old", "New")
        #expect(renamed.last["previous_title"] as? String == "Old" && renamed.last["title"] as? String == "New")
        #expect(stage.albums() == ["Tapes – Old"])
        let copy = try await stage.json("duplicate", "New")
        #expect(copy.last["title"] as? String == "New Copy" && copy.last["created"] as? Bool == true)
        #expect(stage.albums() == ["Tapes – New Copy", "Tapes – Old"])
        let first = try await stage.json("album", "show", "New"),
            second = try await stage.json("album", "show", "New Copy")
        #expect(first.items.count == 1 && first.items.first?["current"] as? Bool == true)
        #expect(first.items.first?["album_id"] as? String != second.items.first?["album_id"] as? String)
    }

    @Test func anotherTapeOfTheSameTitleIsNoted() async throws {
        let stage = try TapeStage()
        let first = try await stage.json("create", "T")
        #expect(first.result.errors.isEmpty)
        let planned = try await stage.run("create", "T", "--dry-run")
        let ids = try [first, try await stage.json("create", "T")].map { try #require($0.last["tape_id"] as? String) }
        #expect(planned.errors == "mediactl: note: 1 tape already has the title \"T\": \(ids[0])\n")
        let third = try await stage.json("create", "T")
        let all = ids + [try #require(third.last["tape_id"] as? String)]
        #expect(all.allSatisfy { third.result.errors.contains($0) }, "\(third.result.errors)")
        #expect(third.result.errors.hasPrefix("mediactl: note: 3 tapes have the title \"T\"; specify their IDs: "))
    }

    @Test func anUnknownTapeIsReportedFirst() async throws {
        let stage = try await TapeStage.withTape("T")
        // Neither --yes nor a terminal; the albums would require a key.
        let extra = [
            "MEDIACTL_LIBRARY_URL": "http://127.0.0.1:1", "MEDIACTL_ALBUMS_LIBRARY": "immich",
            "MEDIACTL_FEATURE_DELETE_ALBUM": "1",
        ]
        let result = try await stage.json("delete", "T", "Unknown", extra: extra)
        #expect(result.result.exitCode == 5 && result.error["code"] as? String == "tape_not_found", "\(result.result)")
        #expect(!result.result.errors.contains("confirmation"))
        #expect(try await stage.json("list").items.count == 1)
    }

    // R14.
    @Test func movedOriginalsAreFoundByTheirChecksum() async throws {
        let stage = try await TapeStage.withTape("T")
        let path = try stage.original("a.jpg")
        _ = try await stage.run("add", "T", path, try stage.original("b.jpg"))
        let archive = stage.runner.home.file("archive")
        try FileManager.default.createDirectory(atPath: archive, withIntermediateDirectories: true)
        try FileManager.default.moveItem(atPath: path, toPath: archive + "/other.jpg")
        #expect(try await stage.clips("T").map { $0["offline"] as? Bool } == [true, false])
        let dry = try await stage.json("relink", "--in", archive, "--dry-run")
        #expect(dry.states == ["planned", "present"])
        #expect(try await stage.names("T") == ["a.jpg", "b.jpg"])
        let relinked = try await stage.json("relink", "T", "--in", archive)
        #expect(relinked.states == ["present", "relinked"] && relinked.result.exitCode == 0)
        #expect(try await stage.names("T") == ["other.jpg", "b.jpg"])
        // The album lacks the clip until it is updated, and nothing reports otherwise.
        let shown = try await stage.json("show", "T")
        #expect(shown.count("pending_clips") == 1)
        #expect(shown.result.errors.contains("1 clip is not in the album yet; to add: mediactl tapes repair "))
        let verified = try await stage.json("verify")
        #expect(verified.result.exitCode == 1 && verified.count("pending_clips") == 1)
        #expect(verified.items.map { $0["finding"] as? String } == ["clip_pending", "original_missing"])
        #expect(try await stage.json("repair", "-n").count("pending_clips") == 1)
        let repaired = try await stage.json("repair")
        #expect(repaired.result.exitCode == 0 && repaired.count("pending_clips") == 0)
        #expect(repaired.states == ["repaired", "repaired"])
        #expect(try stage.links("Tapes – T") == ["0001-other.jpg", "0002-b.jpg"])
        #expect(try await stage.json("verify").result.exitCode == 0)

        try FileManager.default.removeItem(atPath: archive + "/other.jpg")
        let gone = try await stage.run("verify")
        #expect(gone.exitCode == 1 && gone.output.contains("\"T\": original of clip 1 is missing: "), "\(gone)")
        #expect(gone.errors.contains("1 original is missing; to search: mediactl tapes relink --in DIR"))
        #expect(try await stage.run("show", "T").errors.contains("the original of 1 clip is missing"))
        let planned = try await stage.json("repair", "-n")
        #expect(planned.states == ["failed"] && planned.result.exitCode == 1)
        let left = try await stage.run("repair")
        #expect(left.exitCode == 1 && left.output.hasPrefix("not repaired \"T\": original of clip 1 is missing: "))
        #expect(try await stage.json("relink", "--in", archive).result.exitCode == 5)
    }

    @Test func tapesAreExported() async throws {
        let stage = try await TapeStage.withTape("T")
        let empty = try await stage.run("export", "T")
        #expect(empty.exitCode == 2 && empty.output.isEmpty)
        _ = try await stage.run("add", "T", try stage.original("a.mp4"))
        let playlist = try await stage.run("export", "T")
        #expect(playlist.exitCode == 0 && playlist.output.hasPrefix("#EXTM3U\n"))
        let file = stage.runner.home.file("t.otio")
        let written = try await stage.json("export", "T", "-o", file)
        #expect(written.last["format"] as? String == "otio" && written.last["duration_ms"] as? Int == 3000)
        #expect(try String(contentsOfFile: file, encoding: .utf8).contains("Timeline"))
        #expect(try await stage.json("export", "T", "-o", file).error["code"] as? String == "target_exists")
        #expect(try await stage.run("export", "T", "-o", file, "--force").exitCode == 0)
        #expect(try await stage.run("export", "T", "-o", stage.runner.home.file("no/t.json")).exitCode == 2)
        // Section 8: without ffmpeg there is a clear message.
        let video = try await stage.run(
            "export",
            "T",
            "--render",
            "-o",
            stage.runner.home.file("t.mp4"),
            extra: ["PATH": stage.runner.home.path]
        )
        #expect(video.exitCode == 2 && video.errors.contains("ffmpeg"))
        #expect(!FileManager.default.fileExists(atPath: stage.runner.home.file("t.mp4")))
    }

    // R13: a tape with a pending album gets it with an export; an existing album is not changed.
    @Test func exportCreatesThePendingAlbum() async throws {
        let stage = try await TapeStage.withTape("T")
        _ = try await stage.run("add", "T", try stage.original("a.jpg"), "--no-album")
        #expect(stage.albums().isEmpty)
        #expect(try await stage.run("export", "T", "--no-album").exitCode == 0)
        #expect(stage.albums().isEmpty)
        #expect(try await stage.run("export", "T").exitCode == 0)
        #expect(stage.albums() == ["Tapes – T"])
    }

    // MARK: Names

    @Test func tapesAreSelectedByIDPrefixOrTitle() async throws {
        let stage = try await TapeStage.withTape("Twice")
        let id = try #require(try await stage.json("create", "Twice").last["tape_id"] as? String)
        let ambiguous = try await stage.json("show", "Twice")
        #expect(ambiguous.error["code"] as? String == "tape_ambiguous" && ambiguous.result.exitCode == 2)
        #expect((ambiguous.error["message"] as? String)?.contains(id) == true)
        #expect(try await stage.json("show", String(id.prefix(8)).uppercased()).last["tape_id"] as? String == id)
        let missing = try await stage.json("show", "nothing")
        #expect(missing.error["code"] as? String == "tape_not_found" && missing.result.exitCode == 5)
        #expect(try await stage.json("move", id, "#1", "--to", "0").error["code"] as? String == "clip_not_found")
        #expect(try await stage.json("rename", id, " \t").error["code"] as? String == "title_empty")
        #expect(try await stage.json("create").last["title"] as? String == "New Tape")
    }

    // Trap 17, trap 19.
    @Test func pathsAreBytesAndTitlesAreText() async throws {
        let stage = try await TapeStage.withTape("Ünïcode\u{1b}[31m")
        let shown = try await stage.run("list")
        #expect(shown.output.contains(#"Ünïcode\u{1b}[31m"#) && !shown.output.contains("\u{1b}"))
        let path = Array(stage.runner.home.file("odd-").utf8) + [0xFF] + Array(".jpg".utf8)
        let descriptor = open(path.map(CChar.init(bitPattern:)) + [0], O_WRONLY | O_CREAT, 0o600)
        try #require(descriptor >= 0)
        #expect(write(descriptor, [0xFF, 0xD8, 0xFF, 0xE0, 1], 5) == 5)
        close(descriptor)
        let words = ["tapes", "add", "Ünïcode\u{1b}[31m"].map { Array($0.utf8) } + [path, Array("--json".utf8)]
        let added = try SyncStage.report(of: try await stage.runner.run(rawArguments: words))
        #expect(added.result.exitCode == 0 && added.items.first?["association"] as? String == "linked")
        #expect(try await stage.clips("Ünïcode\u{1b}[31m").first?["offline"] as? Bool == false)
        let title = try await stage.runner.run(rawArguments: ["tapes", "create"].map { Array($0.utf8) } + [[0xFF]])
        #expect(title.exitCode == 2 && title.errors.contains("UTF-8"))
    }

    // MARK: Dry runs

    @Test func dryRunsChangeNothing() async throws {
        let stage = try await TapeStage.withTape("T")
        let path = try stage.original("a.mp4")
        _ = try await stage.run("add", "T", path)
        let other = try stage.original("b.jpg")
        let before = try await stage.run("show", "T", "--json").output
        let plans: [[String]] = [
            ["create", "X"], ["rename", "T", "X"], ["duplicate", "T"], ["delete", "T"], ["delete", "--all"],
            ["add", "T", other], ["insert", "T", "--at", "0", other], ["remove", "T", "#1"],
            ["move", "T", "#1", "--to", "0"],
            ["set", "T", "--orientation", "landscape"], ["set", "T", "--clip", "#1", "--rotate", "90"],
            ["export", "T", "-o", stage.runner.home.file("x.m3u8")],
            ["export", "T", "--render", "-o", stage.runner.home.file("x.mp4")], ["album", "unlink", "T"],
            ["album", "link", "T", "0b1f7c52-3a43-4a0e-9d3b-6f2c9e2a7d10"], ["library", "init"],
            ["relink", "--in", stage.runner.home.path], ["repair"],
        ]
        for plan in plans {
            let result = try SyncStage.report(
                of: try await stage.runner.run(["tapes"] + plan + ["--dry-run", "--json"])
            )
            #expect(result.result.exitCode == 0 && result.last["dry_run"] as? Bool == true, "\(plan)")
        }
        #expect(try await stage.run("show", "T", "--json").output == before)
        #expect(try await stage.json("list").items.count == 1)
        #expect(!FileManager.default.fileExists(atPath: stage.runner.home.file("x.m3u8")))
    }

    // MARK: Batches and lists

    @Test func badFilesAreReportedAndTheOthersProcessed() async throws {
        let stage = try await TapeStage.withTape("T")
        let good = try stage.original("a.jpg"), text = stage.runner.home.file("notes.txt")
        try Data("hello".utf8).write(to: URL(fileURLWithPath: text))
        let report = try await stage.json(
            "add",
            "T",
            stage.runner.home.file("gone.jpg"),
            text,
            good,
            stage.runner.home.path
        )
        #expect(report.result.exitCode == 3 && report.states == ["added", "failed", "failed", "failed"])
        let codes = report.items.compactMap { ($0["error"] as? [String: Any])?["code"] as? String }
        #expect(codes == ["file_not_found", "unknown_media_type", "not_regular_file"])
        #expect(try await stage.json("add", "T", text).result.exitCode == 2)
        let missing = try await stage.json("add", "T", stage.runner.home.file("gone.jpg"), "--allow-missing")
        #expect(missing.result.exitCode == 0 && missing.items.first?["state"] as? String == "added")
        #expect(try await stage.clips("T").map { $0["offline"] as? Bool } == [false, true])
    }

    @Test func listsContainFileNames() async throws {
        let stage = try await TapeStage.withTape("T")
        let paths = [try stage.original("a.jpg"), try stage.original("b\n.jpg"), try stage.original("c.jpg")]
        let list = stage.runner.home.file("list")
        try Data((paths[0] + "\n" + paths[2] + "\n").utf8).write(to: URL(fileURLWithPath: list))
        #expect(try await stage.json("add", "T", "--files-from", list).items.count == 2)
        let zero = try await stage.runner.run(
            ["tapes", "add", "T", "--files-from0", "-", "--json"],
            input: paths[1] + "\0"
        )
        #expect(try SyncStage.report(of: zero).items.first?["path"] as? String == paths[1])
        #expect(try await stage.run("add", "T", "--files-from", stage.runner.home.file("none")).exitCode == 2)
    }

    @Test func livePhotosAreOneClip() async throws {
        let stage = try await TapeStage.withTape("T")
        let report = try await stage.json(
            "add",
            "T",
            "--live",
            try stage.original("p.jpg"),
            try stage.original("p.mp4")
        )
        #expect(report.items.count == 1 && report.items.first?["kind"] as? String == "live")
        #expect(try await stage.clips("T").first?["paired_path"] as? String == stage.runner.home.file("p.mp4"))
        #expect(try stage.links("Tapes – T") == ["0001-p.jpg"])
    }

    @Test func closedPipesPrintNoError() async throws {
        let stage = try await TapeStage.withTape("T")
        let script = "\"$0\" tapes add T \"$1\" | true; exit ${PIPESTATUS[0]}"
        let result = try await ChildProcess.run(
            "/bin/bash",
            ["-c", script, stage.runner.executable, try stage.original("a.jpg")],
            environment: stage.runner.environment
        )
        #expect(result.exitCode == 0 && result.errors.isEmpty)
        #expect(try await stage.names("T") == ["a.jpg"])
    }
}
