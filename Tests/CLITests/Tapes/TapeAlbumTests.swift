import Foundation
import TestSupport
import Testing

/// The output and effects of commands when the album has errors, and when tapes are deleted.
@Suite struct TapeAlbumTests {
    let fixture: TapeFixture

    init() async throws { fixture = try await TapeFixture.withTape("T") }

    // R9: the failure is soft: one warning, exit code 0; with --strict-albums, 3. Acceptance 5: the next run updates
    // the album.
    @Test func failedAlbumsAreOneWarning() async throws {
        // A file takes the place of the root.
        try Data().write(to: URL(fileURLWithPath: fixture.pictures + "/Tapes"))
        let soft = try await fixture.run("add", "T", try fixture.original("a.jpg"), try fixture.original("b.jpg"))
        #expect(soft.exitCode == 0, "\(soft.errors)")
        let warnings = soft.errors.split(separator: "\n").filter { $0.contains("warning:") }
        #expect(warnings.count == 1)
        #expect(warnings.first?.contains("2 clips saved; their album was not updated (") == true, "\(soft.errors)")
        #expect(warnings.first?.hasSuffix(" - will retry once access is granted") == true, "\(soft.errors)")
        let strict = try await fixture.json("add", "T", try fixture.original("c.jpg"), "--strict-albums")
        #expect(strict.result.exitCode == 3 && strict.count("added") == 1)
        #expect(strict.items.first?["association"] as? String == "pending")
        #expect(strict.last["association"] as? String == "pending_association" && strict.last["reason"] is String)
        #expect(try await fixture.json("list").items.first?["pending_clips"] as? Int == 3)

        try FileManager.default.removeItem(atPath: fixture.pictures + "/Tapes")
        #expect(try await fixture.json("reconcile").items.map { $0["state"] as? String } == ["planned"])
        let applied = try await fixture.json("reconcile", "--apply")
        #expect(applied.result.exitCode == 0 && applied.items.first?["created"] as? Bool == true, "\(applied.result)")
        #expect(try fixture.links("Tapes – T").count == 3)
        #expect(try await fixture.json("reconcile").items.isEmpty)
    }

    // R18.
    @Test func albumsCanBeDisabled() async throws {
        let off = ["MEDIACTL_ALBUMS_ENABLED": "0"]
        let report = try await fixture.json("add", "T", try fixture.original("a.jpg"), extra: off)
        #expect(report.result.exitCode == 0 && report.last["album"] as? String == "skipped")
        #expect(report.result.errors.isEmpty && fixture.albums().isEmpty)
        // A tape without an album is not reported as a tape without problems.
        let verified = try await fixture.json("verify")
        #expect(verified.result.exitCode == 1 && verified.count("albums") == 0 && verified.count("pending_clips") == 1)
        #expect(verified.result.errors.contains("1 tape has no album yet; to create: mediactl tapes reconcile --apply"))
        #expect(try await fixture.json("repair").states == ["failed"])
        #expect(fixture.albums().isEmpty)
        let status = try await fixture.json("library", "status", extra: off)
        #expect(status.last["albums_enabled"] as? Bool == false)
        #expect(try await fixture.run("reconcile", "--apply").exitCode == 0)
        #expect(fixture.albums() == ["Tapes – T"])
    }

    // Without a terminal, the default root is created only in a pictures directory.
    @Test func rootIsCreatedWherePicturesAre() async throws {
        let fixture = try TapeFixture(hasPictures: false)
        _ = try await fixture.run("create", "T")
        let result = try await fixture.run("add", "T", try fixture.original("a.jpg"))
        #expect(result.exitCode == 0 && result.errors.contains("warning: 1 clip saved; its album was not updated"))
        #expect(!FileManager.default.fileExists(atPath: fixture.pictures))
        let named = ["MEDIACTL_ALBUMS_FOLDER_ROOT": fixture.runner.home.file("albums")]
        let initialized = try await fixture.json("library", "init", extra: named)
        #expect(initialized.result.exitCode == 0, "\(initialized.result)")
        #expect(FileManager.default.fileExists(atPath: fixture.runner.home.file("albums/.mediactl-library.json")))
    }

    // Without a terminal, the first add creates the folder: nothing is missing.
    @Test func statusOfAFolderThatTheFirstAddCreates() async throws {
        let status = try await fixture.run("library", "status")
        #expect(status.exitCode == 0 && status.errors.isEmpty, "\(status)")
        #expect(status.output.contains("adding        will be created by the first add\n"), "\(status.output)")
        #expect(!FileManager.default.fileExists(atPath: fixture.pictures + "/Tapes"))
        #expect(try await fixture.run("add", "T", try fixture.original("a.jpg")).exitCode == 0)
        #expect(FileManager.default.fileExists(atPath: fixture.pictures + "/Tapes/.mediactl-library.json"))

        let other = try TapeFixture(hasPictures: false)
        let missing = try await other.run("library", "status")
        #expect(missing.exitCode == 4 && missing.output.contains("adding        not set up: no such directory\n"))
        let named = ["MEDIACTL_ALBUMS_FOLDER_ROOT": other.runner.home.file("albums")]
        #expect(try await other.run("library", "status", extra: named).exitCode == 0)
    }

    @Test(arguments: ["--yes", "-y"])
    func yesCreatesTheRootWithoutAPrompt(flag: String) async throws {
        // There is neither a terminal nor a pictures directory.
        let fixture = try TapeFixture(hasPictures: false)
        #expect(try await fixture.run("library", "init").exitCode == 4)
        let created = try await fixture.json("library", "init", flag)
        #expect(created.result.exitCode == 0, "\(created.result)")
        #expect(FileManager.default.fileExists(atPath: fixture.pictures + "/Tapes/.mediactl-library.json"))
        let terminal = try TapeFixture()
        let result = try await terminal.runner.run(
            ["tapes", "library", "init", flag],
            streams: .terminal(columns: 200)
        )
        #expect(result.exitCode == 0 && !result.output.contains("[y/N]"), "\(result)")
        // Trap 1: a missing library, which may be on a disk that is not mounted, requires the confirmation.
        try FileManager.default.removeItem(atPath: fixture.pictures + "/Tapes")
        #expect(try await fixture.run("library", "init").exitCode == 10)
        #expect(!FileManager.default.fileExists(atPath: fixture.pictures + "/Tapes"))
        #expect(try await fixture.run("library", "init", flag).exitCode == 0)
        #expect(FileManager.default.fileExists(atPath: fixture.pictures + "/Tapes/.mediactl-library.json"))
    }

    @Test func terminalPromptsBeforeTheRootIsCreated() async throws {
        let path = try fixture.original("a.jpg")
        let no = try fixture.runner.start(["tapes", "add", "T", path], streams: .terminal(columns: 200))
        try await no.respond(to: "Create albums (folders of symbolic links) in", with: "no\n")
        #expect(try await no.finish().exitCode == 0)
        // Later commands do not create the folder after its creation was declined (rule R10).
        #expect(try await fixture.run("library", "status").exitCode == 4)
        #expect(fixture.albums().isEmpty && !FileManager.default.fileExists(atPath: fixture.pictures + "/Tapes"))
        #expect(try await fixture.names("T") == ["a.jpg"])
        let yes = try fixture.runner.start(["tapes", "library", "grant"], streams: .terminal(columns: 200))
        try await yes.respond(to: "Create albums (folders of symbolic links) in", with: "yes\n")
        #expect(try await yes.finish().exitCode == 0)
        #expect(fixture.albums() == ["Tapes – T"])
    }

    // R2: committed clips are kept; Ctrl-C interrupts the wait for the library.
    @Test func interruptionKeepsTheClips() async throws {
        let requested = Gate()
        let server = try ScriptedServer { connection, _ in
            _ = try connection.readHead()
            requested.open()
            connection.waitForClose()
        }
        let library = ["MEDIACTL_LIBRARY_URL": "http://127.0.0.1:\(server.port)", "MEDIACTL_API_KEY": "k"]
        let path = try fixture.original("a.jpg")
        let child = try fixture.runner.start(["tapes", "add", "T", path, "--json"], extra: library)
        child.closeInput()
        #expect(await requested.opened())
        child.signal(SIGINT)
        let report = try SyncFixture.report(of: try await child.finish())
        #expect(report.result.exitCode == 130 && report.last["signal"] as? String == "SIGINT", "\(report.result)")
        #expect(report.items.first?["association"] as? String == "pending")
        #expect(try await fixture.names("T") == ["a.jpg"])
    }

    // MARK: Deleting

    // R11 without the flag: the album is kept, and its name is printed.
    @Test func albumsAreKeptWhenTapesAreDeleted() async throws {
        let path = try fixture.original("a.jpg")
        let before = try fixture.witness(path)
        _ = try await fixture.run("add", "T", path)
        let refused = try await fixture.run("delete", "T")
        #expect(refused.exitCode == 2 && refused.errors.contains("--yes"))
        let result = try await fixture.run("delete", "T", "--yes")
        #expect(result.exitCode == 0 && result.output.contains("its album is kept: \"Tapes – T\""))
        #expect(try fixture.links("Tapes – T") == ["0001-a.jpg"])
        #expect(try await fixture.json("list").items.isEmpty)
        #expect(try fixture.witness(path) == before)
    }

    // R11 with the flag; traps 9 and 18.
    @Test func albumsAreDeletedWithTheFlag() async throws {
        let path = try fixture.original("a.jpg")
        let before = try fixture.witness(path)
        _ = try await fixture.run("create", "Kept")
        _ = try await fixture.run("create", "Foreign")
        for tape in ["T", "Kept", "Foreign"] { _ = try await fixture.run("add", tape, path) }
        try Data("mine".utf8).write(to: URL(fileURLWithPath: fixture.album("Tapes – Foreign") + "/notes.txt"))
        let on = ["MEDIACTL_FEATURE_DELETE_ALBUM": "1"]
        let kept = try await fixture.json("delete", "Kept", "--keep-album", "--yes", extra: on)
        #expect((kept.items.first?["albums"] as? [[String: Any]])?.first?["state"] as? String == "kept")
        let all = try await fixture.json("delete", "--all", "--yes", extra: on)
        #expect(all.result.exitCode == 0 && all.count("deleted") == 2)
        let states = all.items.compactMap { ($0["albums"] as? [[String: Any]])?.first?["state"] as? String }
        #expect(states.sorted() == ["deleted", "kept_foreign"])
        #expect(fixture.albums() == ["Tapes – Foreign", "Tapes – Kept"])
        #expect(try fixture.witness(path) == before)
    }

    // R12 with the flag; trap 8.
    @Test func clipsAreRemovedFromTheAlbumWithTheFlag() async throws {
        let path = try fixture.original("a.jpg")
        _ = try await fixture.run("add", "T", path, path)
        let on = ["MEDIACTL_FEATURE_DELETE_ALBUM": "1"]
        #expect(try await fixture.run("remove", "T", "#1", "--yes", extra: on).exitCode == 0)
        #expect(try fixture.links("Tapes – T") == ["0001-a.jpg"])
        #expect(try await fixture.run("remove", "T", "#1", "--yes", extra: on).exitCode == 0)
        #expect(try fixture.links("Tapes – T").isEmpty && fixture.albums() == ["Tapes – T"])
    }

    @Test func terminalPromptsBeforeATapeIsDeleted() async throws {
        let child = try fixture.runner.start(["tapes", "delete", "T"], streams: .terminal(columns: 200))
        try await child.respond(to: "Delete it?", with: "no\n")
        #expect(try await child.finish().exitCode == 1)
        #expect(try await fixture.json("list").items.count == 1)
    }

    // MARK: Manual links

    // R3, and its exception for an explicit request.
    @Test func albumsAreLinkedByTheirIDOnly() async throws {
        _ = try await fixture.run("add", "T", try fixture.original("a.jpg"))
        let id = try #require(try await fixture.json("album", "show", "T").items.first?["album_id"] as? String)
        _ = try await fixture.run("create", "Other")
        #expect(try await fixture.json("album", "link", "Other", id).error["code"] as? String == "album_taken")
        let unlinked = try await fixture.json("album", "unlink", "T")
        #expect(unlinked.last["album_id"] as? String == id)
        #expect(try await fixture.json("album", "link", "Other", id).result.exitCode == 0)
        #expect(try await fixture.json("album", "link", "T", UUID().uuidString.lowercased()).result.exitCode == 5)
        // The title does not identify an album: a second album with this title is created.
        #expect(try await fixture.json("add", "T", try fixture.original("b.jpg")).last["created"] as? Bool == true)
        #expect(fixture.albums().count == 2)
    }

    // Acceptance 3.
    @Test func deletedAlbumsAreCreatedAgain() async throws {
        let added = try await fixture.json("add", "T", try fixture.original("a.jpg"))
        try FileManager.default.removeItem(atPath: fixture.album("Tapes – T"))
        let verified = try await fixture.json("reconcile", "--verify")
        #expect(verified.items.map { $0["state"] as? String } == ["missing"])
        #expect(fixture.albums().isEmpty)
        let again = try await fixture.json("add", "T", try fixture.original("b.jpg"))
        #expect(again.last["created"] as? Bool == true)
        #expect(again.last["album_id"] as? String != added.last["album_id"] as? String)
        #expect(try fixture.links("Tapes – T").count == 2)
    }

    // R13: an album that cannot be read is reported, and does not prevent the others from being checked.
    @Test func damagedAlbumsAreUnknown() async throws {
        _ = try await fixture.run("create", "Other")
        for name in ["T", "Other"] { _ = try await fixture.json("add", name, try fixture.original("\(name).jpg")) }
        try Data("{".utf8).write(to: URL(fileURLWithPath: fixture.album("Tapes – T") + "/.mediactl-album.json"))
        let verified = try await fixture.json("reconcile", "--verify")
        #expect(verified.result.exitCode == 3 && verified.last["left"] as? Int == 1, "\(verified.result)")
        #expect(Set(verified.items.compactMap { $0["state"] as? String }) == ["unknown", "found"])
    }

    /// After the printed steps, the tape has a complete album.
    @Test func theNoteAboutADamagedAlbumRepairsIt() async throws {
        _ = try await fixture.run("add", "T", try fixture.original("a.jpg"))
        let manifest = fixture.album("Tapes – T") + "/.mediactl-album.json"
        try Data("{".utf8).write(to: URL(fileURLWithPath: manifest))
        _ = try await fixture.run("add", "T", try fixture.original("b.jpg"))
        let shown = try await fixture.json("show", "T")
        let (errors, id) = (shown.result.errors, try #require(shown.last["tape_id"] as? String).prefix(8))
        #expect(shown.last["album_found"] is NSNull && errors.contains("restore its .mediactl-album.json"), "\(errors)")
        #expect(errors.contains("to retry after that: mediactl tapes repair \(id)\n"), "\(errors)")
        #expect(errors.hasSuffix("note: 1 clip is not in the album yet\n"), "\(errors)")
        try FileManager.default.removeItem(atPath: manifest)
        #expect(try await fixture.run("repair", "T").exitCode == 0)
        #expect(try fixture.links("Tapes – T (2)").count == 2)
    }

    // ADR 0020: the hints are commands that work.
    @Test func anotherLibraryAtTheRootCanBeUsed() async throws {
        _ = try await fixture.run("add", "T", try fixture.original("a.jpg"))
        let root = fixture.pictures + "/Tapes"
        try FileManager.default.moveItem(atPath: root, toPath: root + "-away")
        let gone = try await fixture.run("add", "T", try fixture.original("b.jpg"))
        #expect(gone.errors.contains("if the library is lost: mediactl tapes library init --yes"), "\(gone.errors)")
        #expect(try await fixture.run("library", "init", "--yes").exitCode == 0)
        let other = try await fixture.run("add", "T", try fixture.original("c.jpg"))
        #expect(other.errors.contains("(\(root) now has the library folder:"), "\(other.errors)")
        #expect(other.errors.contains("for a new album here: mediactl tapes album unlink TAPE"), "\(other.errors)")
        #expect(try await fixture.run("album", "unlink", "T").exitCode == 0)
        let applied = try await fixture.json("reconcile", "--apply")
        #expect(applied.items.first?["created"] as? Bool == true, "\(applied.result)")
        #expect(try fixture.links("Tapes – T").count == 3)
    }

    /// No permission is missing, and the attempt is repeated with the same result.
    @Test func albumsOfANewerVersionAreReportedAsSuch() async throws {
        _ = try await fixture.run("add", "T", try fixture.original("a.jpg"))
        let manifest = fixture.album("Tapes – T") + "/.mediactl-album.json"
        let text = try String(contentsOfFile: manifest, encoding: .utf8)
        try Data(text.replacing("\"version\": 1", with: "\"version\": 2").utf8)
            .write(to: URL(fileURLWithPath: manifest))
        for name in ["b.jpg", "c.jpg"] {
            let added = try await fixture.run("add", "T", try fixture.original(name))
            let cause = "(a newer version of mediactl wrote the album in format 2)\n"
            #expect(added.exitCode == 0 && added.errors.contains(cause), "\(added.errors)")
            #expect(added.errors.contains("hint: use the version of mediactl that wrote it"), "\(added.errors)")
        }
        let applied = try await fixture.run("reconcile", "--apply")
        #expect(applied.exitCode == 4 && applied.errors.contains("hint: use the version"), "\(applied)")
    }

    // Another root, for example a mistyped one: the tape gets another album there, and that is reported once.
    @Test func albumsElsewhereAreReported() async throws {
        _ = try await fixture.run("add", "T", try fixture.original("a.jpg"))
        let elsewhere = ["MEDIACTL_ALBUMS_FOLDER_ROOT": fixture.runner.home.file("albums")]
        let noted = try await fixture.json("add", "T", try fixture.original("b.jpg"), extra: elsewhere)
        let note = "note: the album \"Tapes – T\" in \(fixture.pictures)/Tapes is kept; a new one was created in "
        #expect(noted.result.exitCode == 0 && noted.result.errors.contains(note), "\(noted.result)")
        let second = try await fixture.json("add", "T", try fixture.original("c.jpg"), extra: elsewhere)
        #expect(!second.result.errors.contains(note))
    }

    // MARK: Logs

    // R19: titles and paths only at the highest verbosity.
    @Test func logsContainIDsAndNoTitles() async throws {
        let fixture = try await TapeFixture.withTape("Secret plan")
        let id = try #require(try await fixture.json("list").items.first?["tape_id"] as? String)
        let info = try await fixture.run("add", id, try fixture.original("hidden.jpg"), "-v")
        let logs = info.errors.split(separator: "\n").filter { $0.contains("photos:") }
        #expect(!logs.isEmpty && logs.allSatisfy { $0.contains(id) })
        #expect(!logs.contains { $0.contains("Secret") || $0.contains("hidden") }, "\(logs)")
        try FileManager.default.removeItem(atPath: fixture.album("Tapes – Secret plan"))
        let debug = try await fixture.run("add", id, try fixture.original("other.jpg"), "-vv")
        #expect(debug.errors.contains("photos: create:") && debug.errors.contains("Secret plan"), "\(debug.errors)")
    }
}
