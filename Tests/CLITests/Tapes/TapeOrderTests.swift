import Foundation
import MediaStore
import TestSupport
import Testing

/// The album matches the tape: numbers of links and playlist after every change, as the built program creates them.
@Suite struct TapeOrderTests {
    /// A tape `T` of three images in an album.
    private func fixture(_ names: [String] = ["a.jpg", "b.jpg", "c.jpg"]) async throws -> TapeFixture {
        let fixture = try await TapeFixture.withTape("T")
        for name in names { try #require(try await fixture.run("add", "T", try fixture.original(name)).exitCode == 0) }
        return fixture
    }

    private func expect(_ fixture: TapeFixture, links: [String], playlist: [String]? = nil) async throws {
        #expect(try fixture.links("Tapes – T") == links)
        #expect(try await fixture.playlist("T") == playlist ?? links.map { "./" + $0 })
    }

    @Test("a removed clip is not played, and its link comes after the last clip") func removed() async throws {
        let fixture = try await fixture()
        #expect(try await fixture.run("remove", "T", "1", "--yes").exitCode == 0)
        try await expect(
            fixture,
            links: ["0001-b.jpg", "0002-c.jpg", "0003-a.jpg"],
            playlist: ["./0001-b.jpg", "./0002-c.jpg"]
        )
    }

    @Test("links and playlist follow moves and insertions") func movedAndInserted() async throws {
        let fixture = try await fixture()
        #expect(try await fixture.run("move", "T", "c.jpg", "--position", "1").exitCode == 0)
        try await expect(fixture, links: ["0001-c.jpg", "0002-a.jpg", "0003-b.jpg"])
        let inserted = try await fixture.json("insert", "T", "--position", "2", try fixture.original("d.jpg"))
        #expect(inserted.items.first?["position"] as? Int == 1 && inserted.items.first?["number"] as? Int == 2)
        try await expect(fixture, links: ["0001-c.jpg", "0002-d.jpg", "0003-a.jpg", "0004-b.jpg"])
    }

    @Test("clips added with --no-album are played by their path, and keep their numbers") func noAlbum() async throws {
        let fixture = try await fixture(["a.jpg", "b.jpg"])
        let path = try fixture.original("c.jpg")
        #expect(try await fixture.run("insert", "T", "--position", "1", path, "--no-album").exitCode == 0)
        try await expect(
            fixture,
            links: ["0002-a.jpg", "0003-b.jpg"],
            playlist: [path, "./0002-a.jpg", "./0003-b.jpg"]
        )
        #expect(try await fixture.run("reconcile", "--apply").exitCode == 0)
        try await expect(fixture, links: ["0001-c.jpg", "0002-a.jpg", "0003-b.jpg"])
    }

    @Test("the playlist has the display time that was set") func set() async throws {
        let fixture = try await fixture(["a.jpg"])
        #expect(try await fixture.run("set", "T", "--clip", "a.jpg", "--image-duration", "9").exitCode == 0)
        let text = try String(contentsOfFile: fixture.album("Tapes – T") + "/tape.m3u8", encoding: .utf8)
        #expect(text.contains("#EXTINF:9,0001-a.jpg\n"))
    }

    @Test("an original that occurs twice in a tape has one link, at its first position") func twice() async throws {
        let fixture = try await fixture(["a.jpg", "b.jpg"])
        #expect(try await fixture.run("add", "T", try fixture.original("a.jpg")).exitCode == 0)
        #expect(try await fixture.run("move", "T", "2", "--position", "1").exitCode == 0)
        try await expect(
            fixture,
            links: ["0001-b.jpg", "0002-a.jpg"],
            playlist: ["./0001-b.jpg", "./0002-a.jpg", "./0002-a.jpg"]
        )
    }

    // MARK: Numbers and names

    @Test("positions count from 1; the options of 0.1.0 count from 0, with a note") func positions() async throws {
        let fixture = try await fixture()
        let moved = try await fixture.json("move", "T", "#3", "--position", "2")
        #expect(moved.last["position"] as? Int == 1 && moved.last["number"] as? Int == 2)
        #expect(moved.last["previous_position"] as? Int == 2 && moved.last["previous_number"] as? Int == 3)
        #expect(moved.result.errors.isEmpty)
        let old = try await fixture.run("move", "T", "2", "--to", "0")
        #expect(old.exitCode == 0 && old.errors == "mediactl: note: --to 0 is deprecated; use --position 1\n")
        #expect(old.output.hasSuffix("now at position 1\n"))
        #expect(try await fixture.names("T") == ["c.jpg", "a.jpg", "b.jpg"])
        let inserted = try await fixture.run("insert", "T", "--at", "3", try fixture.original("d.jpg"))
        #expect(inserted.errors.contains("note: --at 3 is deprecated; use --position 4"))
        #expect(try await fixture.json("move", "T", "1", "--position", "99").last["number"] as? Int == 4)
        #expect(try await fixture.clips("T").map { $0["number"] as? Int } == [1, 2, 3, 4])
        for words in [["--position", "0"], ["--position", "-1"], ["--position", "1", "--to", "0"], []] {
            #expect(try await fixture.runner.run(["tapes", "move", "T", "1"] + words).exitCode == 2)
        }
        #expect(try await fixture.run("move", "T", "1", "--to", "\(Int.max)").exitCode == 0)
    }

    @Test("a change that changes nothing is reported as such") func unchanged() async throws {
        let fixture = try await fixture(["a.jpg", "b.jpg"])
        let name = fixture.runner.home.file("b.jpg")
        for option in [[], ["--dry-run"]] {
            let moved = try await fixture.runner.run(["tapes", "move", "T", "2", "--position", "9"] + option)
            #expect(moved.exitCode == 0 && moved.output == "\(name) is already at position 2\n", "\(moved)")
            let renamed = try await fixture.runner.run(["tapes", "rename", "T", " T "] + option)
            #expect(renamed.exitCode == 0 && renamed.output == "the title is already \"T\"\n", "\(renamed)")
            #expect(renamed.errors.isEmpty)
        }
        for (words, line) in [
            (["--scale", "fill"], "changed \"T\""), (["--scale", "fill"], "\"T\" already has these settings"),
            (["--clip", "1", "--rotate", "90"], "changed 1 clip"),
            (["--clip", "1", "--rotate", "90"], "1 clip already has these settings"),
            (["--clip", "1", "--clip", "2", "--rotate", "90"], "changed 1 clip\n1 clip already has these settings"),
        ] {
            #expect(try await fixture.runner.run(["tapes", "set", "T"] + words).output == line + "\n")
        }
    }

    @Test("a clip is selected by number, file name or the beginning of its ID") func selection() async throws {
        let fixture = try await fixture()
        let id = try #require(try await fixture.clips("T").last?["clip_id"] as? String)
        for name in ["3", "#3", "c.jpg", String(id.prefix(8)), id, fixture.runner.home.file("c.jpg")] {
            let planned = try await fixture.json("remove", "T", name, "--dry-run")
            #expect(planned.items.map { $0["clip_id"] as? String } == [id], "\(name)")
        }
        let missing = try await fixture.run("remove", "T", "4", "--yes")
        #expect(missing.exitCode == 5 && missing.errors.contains("the tape has 3 clips"))
    }

    @Test("removal is confirmed on a terminal, and requires --yes elsewhere") func confirmation() async throws {
        let fixture = try await fixture()
        let refused = try await fixture.run("remove", "T", "1")
        #expect(refused.exitCode == 2 && refused.errors.contains("--yes"))
        let no = try fixture.runner.start(["tapes", "remove", "T", "1", "b.jpg"], streams: .terminal(columns: 200))
        try await no.respond(to: "Remove them? [y/N]", with: "no\n")
        #expect(try await no.finish().exitCode == 1)
        #expect(try await fixture.names("T").count == 3)
        let yes = try fixture.runner.start(["tapes", "remove", "T", "1"], streams: .terminal(columns: 200))
        try await yes.respond(to: "Remove it? [y/N]", with: "y\n")
        #expect(try await yes.finish().exitCode == 0)
        #expect(try await fixture.names("T") == ["b.jpg", "c.jpg"])
        #expect(try await fixture.json("remove", "T", "1", "-y").states == ["removed"])
    }

    @Test("Ctrl-C stops a removal's wait for another command; the clip is removed")
    func interrupted() async throws {
        let fixture = try await fixture()
        let directory = try DataDirectory.open(fixture.runner.home.file("data/mediactl"))
        let store = try LibraryStore(in: directory)
        let tape = try #require(try store.tapeSummaries().first?.tape.id)
        let lock = try await AlbumLock.acquire(.tape(tape), in: directory)
        defer { lock.release() }
        let child = try fixture.runner.start(["tapes", "remove", "T", "1", "--yes"])
        let deadline = ContinuousClock.now + .seconds(30)
        while try store.clips(of: tape).count > 2, ContinuousClock.now < deadline {
            try await Task.sleep(for: .milliseconds(5))
        }
        child.signal(SIGINT)
        let result = try await child.finish(deadline: .seconds(20))
        #expect(result.exitCode == 130 && result.output.hasPrefix("removed "), "\(result)")
        #expect(result.errors.contains("its album was not updated (interrupted)"))
        #expect(try fixture.links("Tapes – T").count == 3)
    }

    @Test("Ctrl-C stops a deletion's wait for another command; nothing is deleted", arguments: [false, true])
    func deletionInterrupted(withAlbum: Bool) async throws {
        let fixture = try await fixture(["a.jpg"])
        let directory = try DataDirectory.open(fixture.runner.home.file("data/mediactl"))
        let store = try LibraryStore(in: directory)
        let tape = try #require(try store.tapeSummaries().first?.tape.id)
        let lock = try await AlbumLock.acquire(.tape(tape), in: directory)
        defer { lock.release() }
        let child = try fixture.runner.start(
            ["tapes", "delete", "T", "--yes", "--json"],
            extra: withAlbum ? ["MEDIACTL_FEATURE_DELETE_ALBUM": "1"] : [:]
        )
        // The first record comes before the wait.
        try await child.signal(SIGINT, after: "\"type\":\"start\"")
        let result = try await child.finish(deadline: .seconds(20))
        #expect(result.exitCode == 130 && result.output.contains("\"not_started\":1"), "\(result)")
        #expect(try store.tape(tape) != nil && fixture.albums().count == 1)
    }

    // MARK: Manual changes

    @Test("links changed by hand are shown, verified and repaired") func repaired() async throws {
        let fixture = try await fixture()
        let whole = try await fixture.json("verify")
        #expect(whole.result.exitCode == 0 && whole.items.isEmpty && whole.count("albums") == 1)
        let folder = fixture.album("Tapes – T")
        try FileManager.default.removeItem(atPath: folder + "/0001-a.jpg")
        try FileManager.default.moveItem(atPath: folder + "/0002-b.jpg", toPath: folder + "/best.jpg")
        try FileManager.default.createDirectory(
            atPath: fixture.album("Tapes – Gone"),
            withIntermediateDirectories: false
        )
        let unfinished = fixture.album("Tapes – Gone") + "/.mediactl-album.json.mediactl-part"
        try Data("{".utf8).write(to: URL(fileURLWithPath: unfinished))

        let shown = try await fixture.json("show", "T")
        #expect(shown.items.map { $0["link_state"] as? String } == ["missing", "missing", "present"])
        #expect(shown.last["album_found"] as? Bool == true && shown.result.exitCode == 0)
        let text = try await fixture.run("show", "T")
        #expect(text.output.contains("linked (link missing)"))
        #expect(text.errors.contains("2 links are missing from the album; to restore: mediactl tapes repair "))

        let found = ["empty_folder", "link_missing", "link_renamed", "playlist_outdated"]
        let verified = try await fixture.json("verify")
        #expect(verified.result.exitCode == 1 && verified.states == Array(repeating: "found", count: 4))
        #expect(verified.items.compactMap { $0["finding"] as? String }.sorted() == found)
        let previewed = try await fixture.json("repair", "-n")
        #expect(previewed.result.exitCode == 0 && previewed.states == Array(repeating: "planned", count: 4))
        #expect(try await fixture.json("verify").items.count == 4)
        // `reconcile` keeps its old meaning: the album has no pending updates.
        #expect(try await fixture.json("reconcile").items.isEmpty)

        let repaired = try await fixture.json("repair")
        #expect(repaired.result.exitCode == 0 && repaired.states == Array(repeating: "repaired", count: 4))
        #expect(try await fixture.json("verify").result.exitCode == 0)
        try await expect(fixture, links: ["0001-a.jpg", "0002-b.jpg", "0003-c.jpg"])
        #expect(fixture.albums() == ["Tapes – T"])
        #expect(!FileManager.default.fileExists(atPath: folder + "/best.jpg"))
    }

    @Test("an album that cannot be repaired is reported") func notRepaired() async throws {
        let fixture = try await fixture(["a.jpg"])
        let playlist = fixture.album("Tapes – T") + "/tape.m3u8"
        try Data("mine".utf8).write(to: URL(fileURLWithPath: playlist))
        let report = try await fixture.json("repair", "T")
        #expect(report.result.exitCode == 1 && report.states == ["failed"])
        #expect(try String(contentsOfFile: playlist, encoding: .utf8) == "mine")
        // An album that was moved is not found at its previous path; the tape is shown.
        try FileManager.default.moveItem(
            atPath: fixture.album("Tapes – T"),
            toPath: fixture.album("Elsewhere")
        )
        let shown = try await fixture.json("show", "T")
        #expect(shown.last["album_found"] as? Bool == false && shown.items.first?["link_state"] is NSNull)
        // `verify` searches for the moved album.
        let items = try await fixture.json("verify", "T").items
        #expect(items.compactMap { $0["finding"] as? String } == ["playlist_foreign"])
    }

    @Test("a changed original is reported, with the command that finds its former content") func changedOriginal()
        async throws
    {
        let fixture = try await fixture(["a.jpg"])
        let path = try fixture.runner.home.write("a.jpg", [0xFF, 0xD8, 0xFF, 0xE0, 1])
        let text = try await fixture.run("verify", "T")
        #expect(text.exitCode == 1, "\(text)")
        #expect(text.output == "\"T\": original of clip 1 has changed since it was added: \(path)\n")
        let hint = "1 original has changed; to find the former content: mediactl tapes relink --changed --in DIR; "
        #expect(text.errors.contains(hint), "\(text)")
        let items = try await fixture.json("verify").items
        #expect(items.compactMap { $0["finding"] as? String } == ["original_changed"])
        let repaired = try await fixture.json("repair")
        #expect(repaired.result.exitCode == 1 && repaired.states == ["failed"])
        // After an intentional edit.
        #expect(text.errors.contains("remove the clip and add the file again"), "\(text)")
        #expect(try await fixture.run("remove", "T", "1", "--yes").exitCode == 0)
        #expect(try await fixture.run("insert", "T", path, "--position", "1").exitCode == 0)
        #expect(try await fixture.run("verify", "T").exitCode == 0)
    }

    @Test("a repair removes the files of a killed rendering") func renderLeftovers() async throws {
        let fixture = try await fixture(["a.jpg"])
        let name = ".mediactl-render-\(UUID().uuidString.lowercased())"
        try FileManager.default.createDirectory(
            atPath: fixture.runner.home.file(name),
            withIntermediateDirectories: false
        )
        try Data("x".utf8).write(to: URL(fileURLWithPath: fixture.runner.home.file(name) + "/0.mp4"))
        let script = "cd \"$1\" && exec \"$0\" tapes repair"
        let result = try await ChildProcess.run(
            "/bin/bash",
            ["-c", script, fixture.runner.executable, fixture.runner.home.path],
            environment: fixture.runner.environment
        )
        #expect(result.exitCode == 0 && result.output.contains("files left by an interrupted rendering"), "\(result)")
        #expect(!FileManager.default.fileExists(atPath: fixture.runner.home.file(name)))
    }
}
