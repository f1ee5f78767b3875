import Foundation
import TestSupport
import Testing

/// The reports of `sync push` about files that it does not upload, and `sync forget`.
@Suite(.prompt) struct SyncPushTests {
    /// An environment whose directory has `a.jpg` and `b.jpg`, pushed; `a.jpg` is deleted on the server.
    private func fixtureWithDeletion() async throws -> (fixture: SyncFixture, directory: String, id: String) {
        let (fixture, directory) = try await SyncFixture.withPhotos("a.jpg", "b.jpg")
        let pushed = try await fixture.json("sync", "push", directory)
        let item = try #require(pushed.items.first { ($0["path"] as? String)?.hasSuffix("/a.jpg") == true })
        let id = try #require(item["photo_id"] as? String)
        try await fixture.sandbox.photoSync("DELETE", "photos/\(id)")
        return (fixture, directory, id)
    }

    // MARK: Types

    @Test(arguments: [[], ["-q"], ["--dry-run"]]) func typesThatAreNotPushedAreCounted(flags: [String]) async throws {
        let fixture = try await SyncFixture.loggedIn()
        let names =
            (0..<12).map { "\($0).MOV" } + (0..<3).map { "\($0).dng" }
            + ["1.mp4", "scan.tif", "README", "a.txt", "a.json", "film.mp3", "x.unknown", "a.xmp", "b.xmp", "a.AAE"]
        let directory = try fixture.photos("a.jpg")
        for name in names { try Data("x".utf8).write(to: URL(fileURLWithPath: directory + "/" + name)) }
        let text = try await fixture.runner.run(["sync", "push", directory] + flags)
        #expect(text.exitCode == 0)
        #expect(
            text.errors.contains(
                "12 .mov files, 3 .dng files, 1 .mp4 file, 1 .tif file are not backed up: "
                    + "the server does not accept these types (13 videos: no PhotoSync server accepts videos)"
            ),
            "\(text.errors)"
        )
        // Sidecars are not photos; text files and unknown files are not reported as missing.
        let note = "2 .xmp files, 1 .aae file are not uploaded: sidecar files with edits stay on this machine only"
        #expect(text.errors.contains(note) == !flags.contains("-q"))
        #expect(!text.errors.contains(".txt") && !text.errors.contains("extension"))
        let run = try await fixture.runner.run(["sync", "push", directory, "--json"] + flags)
        let report = try SyncFixture.report(of: run)
        let types = report.last["left_behind"] as? [[String: Any]] ?? []
        #expect(types.map { $0["extension"] as? String } == ["mov", "dng", "xmp", "aae", "mp4", "tif"])
        #expect(types.map { $0["count"] as? Int } == [12, 3, 2, 1, 1, 1])
        #expect(types.map { $0["video"] as? Bool } == [true, false, false, false, true, false])
        #expect(types.map { $0["kind"] as? String } == ["video", "raw", "sidecar", "sidecar", "video", "picture"])
        #expect(report.count("skipped") == 25)
    }

    /// Photos and videos are recognized by their first bytes; text and audio files are not reported as missing.
    @Test func photosAndVideosWithoutAnExtensionAreCounted() async throws {
        let (fixture, directory) = try await SyncFixture.withPhotos("a.jpg")
        let contents: [(name: String, bytes: [UInt8])] = [
            ("IMG_1", SmallPhoto.jpeg("1")), ("IMG_2", SmallPhoto.jpeg("2")), ("Makefile", Array("all:\n".utf8)),
            ("clip", [0, 0, 0, 0x14] + Array("ftypqt  ".utf8)), ("song", Array("fLaC".utf8)), ("empty", []),
        ]
        for (name, bytes) in contents { try Data(bytes).write(to: URL(fileURLWithPath: "\(directory)/\(name)")) }
        let quiet = try await fixture.run("sync", "push", directory, "-q")
        #expect(
            quiet.exitCode == 0
                && quiet.errors.contains(
                    "2 photos without an extension, 1 video without an extension are not backed up: the server does not "
                        + "accept files without an extension (1 video: no PhotoSync server accepts videos)"
                ),
            "\(quiet.errors)"
        )
        let types = try await fixture.json("sync", "push", directory).last["left_behind"] as? [[String: Any]] ?? []
        #expect(types.map { $0["extension"] as? String } == ["", ""])
        #expect(types.map { $0["count"] as? Int } == [2, 1])
        #expect(types.map { $0["kind"] as? String } == ["picture", "video"])
    }

    @Test func irregularFilesAreCountedAsSkipped() async throws {
        let (fixture, directory) = try await SyncFixture.withPhotos("a.jpg")
        try #require(mkfifo(directory + "/f.jpg", 0o600) == 0)
        let report = try await fixture.json("sync", "push", directory, "--dry-run")
        #expect(report.result.exitCode == 0 && report.states == ["planned", "skipped"])
        let text = try await fixture.run("sync", "push", directory, "-v")
        #expect(text.exitCode == 0 && text.output.contains("/f.jpg: skipped, not a regular file"))
        #expect(text.errors.contains("1 uploaded, 1 skipped"))
        #expect(text.errors.contains("1 file skipped: not a regular file"))
    }

    @Test func duplicatesAreReportedAsSuch() async throws {
        let (fixture, directory) = try await SyncFixture.withPhotos("a.jpg")
        try FileManager.default.copyItem(atPath: directory + "/a.jpg", toPath: directory + "/b.jpg")
        let plan = try await fixture.run("sync", "push", directory, "--dry-run")
        #expect(plan.output.contains("/b.jpg: duplicate of another file in this run"))
        #expect(plan.errors.contains("1 to be uploaded, 1 duplicate\n"))
        let report = try await fixture.json("sync", "push", directory)
        #expect(report.count("uploaded") == 1 && report.count("duplicate") == 1 && report.count("present") == 0)
        #expect(Set(report.items.compactMap { $0["photo_id"] as? String }).count == 1)
        #expect(report.result.errors.contains("1 uploaded, 1 duplicate\n"))
        #expect(try await fixture.json("sync", "push", directory).count("present") == 2)
    }

    @Test func dryRunListsWhatIsExcluded() async throws {
        let (fixture, directory) = try await SyncFixture.withPhotos("a.jpg", "._a.jpg", "Thumbs.db")
        let text = try await fixture.run("sync", "push", directory, "--dry-run")
        #expect(text.output.contains("/._a.jpg: excluded by default") && text.errors.contains("2 excluded"))
        let all = try await fixture.json("sync", "push", directory, "--dry-run", "--no-default-excludes")
        #expect(all.count("excluded") == 0 && all.count("planned") == 2 && all.count("skipped") == 1)
    }

    /// One error is one failure.
    // 50 MiB is the server's limit (contract 3.2); the file is one byte larger.
    @Test func largePhotosAreCountedAsFailed() async throws {
        let (fixture, directory) = try await SyncFixture.withPhotos("a.jpg", "over50.jpg")
        try #require(truncate(directory + "/over50.jpg", 52_428_801) == 0)
        let report = try await fixture.json("sync", "push", directory)
        #expect(report.result.exitCode == 3 && report.states == ["failed", "uploaded"])
        #expect(report.count("failed") == 1 && report.count("skipped") == 0)
        #expect(report.result.errors.components(separatedBy: "error:").count - 1 == 1)
        let alone = try await fixture.json("sync", "push", directory + "/over50.jpg")
        #expect(alone.result.exitCode == 2 && alone.count("failed") == 1)
    }

    // MARK: Deletions

    @Test func deletedPhotosAreCountedAndNotUploaded() async throws {
        let (fixture, directory, id) = try await fixtureWithDeletion()
        let report = try await fixture.json("sync", "push", directory)
        #expect(report.result.exitCode == 0 && report.states == ["deleted", "present"])
        #expect(report.count("deleted") == 1 && report.count("uploaded") == 0)
        let quiet = try await fixture.run("sync", "push", directory, "-q")
        #expect(quiet.exitCode == 0 && quiet.output.isEmpty)
        #expect(quiet.errors.contains("warning: 1 photo not uploaded again: deleted on the server earlier"))
        #expect(quiet.errors.contains("mediactl sync push --restore \(directory); "))
        #expect(quiet.errors.contains("mediactl sync forget \(directory)\n"))
        #expect(try await fixture.requests("POST", "/api/photos/upload") == 2)
        // The deletion is kept when the index is rebuilt.
        for name in ["index.sqlite", "index.sqlite-wal", "index.sqlite-shm"] {
            try? FileManager.default.removeItem(atPath: fixture.runner.home.file("data/mediactl/\(name)"))
        }
        #expect(try await fixture.json("sync", "push", directory).count("deleted") == 1)
        let restored = try await fixture.json("sync", "push", directory, "--restore")
        #expect(restored.result.exitCode == 0 && restored.states == ["present", "uploaded"])
        #expect(restored.items.allSatisfy { $0["photo_id"] as? String != id })
    }

    @Test func forgetAcceptsADeletion() async throws {
        let (fixture, directory, id) = try await fixtureWithDeletion()
        _ = try await fixture.run("sync", "push", directory)
        let before = try await fixture.sandbox.requests().count
        let dry = try await fixture.json("sync", "forget", directory + "/a.jpg", "--dry-run")
        #expect(dry.result.exitCode == 0 && dry.states == ["planned"])
        let forgotten = try await fixture.json("sync", "forget", directory + "/a.jpg")
        #expect(forgotten.result.exitCode == 0 && forgotten.states == ["forgotten"])
        #expect(forgotten.items.first?["photo_id"] as? String == id && forgotten.count("forgotten") == 1)
        let again = try await fixture.run("sync", "forget", id)
        #expect(again.exitCode == 0 && again.output == "\(id) (a.jpg): deletion accepted\n")
        // The server is not queried.
        #expect(try await fixture.sandbox.requests().count == before)
        let quiet = try await fixture.run("sync", "push", directory, "-q")
        #expect(quiet.exitCode == 0 && quiet.output.isEmpty && quiet.errors.isEmpty)
        #expect(try await fixture.json("sync", "push", directory).count("forgotten") == 1)
        #expect(try await fixture.json("sync", "verify").count("copy_orphaned") == 0)
        #expect(FileManager.default.fileExists(atPath: directory + "/a.jpg"))
    }

    @Test func onlyDeletionsAreForgotten() async throws {
        let (fixture, directory, _) = try await fixtureWithDeletion()
        let present = try await fixture.json("sync", "forget", directory + "/b.jpg")
        #expect(present.result.exitCode == 10 && present.states == ["failed"])
        #expect((present.items.first?["error"] as? [String: Any])?["code"] as? String == "photo_not_deleted")
        let unknown = try await fixture.run("sync", "forget", "nothing")
        #expect(unknown.exitCode == 5 && unknown.output.isEmpty)
        #expect(try await fixture.run("sync", "forget").exitCode == 2)
    }

    // MARK: Changed files

    /// An environment whose `a.jpg` changed after it was pushed.
    private func fixtureWithChange() async throws -> (fixture: SyncFixture, directory: String) {
        let (fixture, directory) = try await SyncFixture.withPhotos("a.jpg")
        _ = try await fixture.run("sync", "push", directory)
        try Data("edited, or damaged".utf8).write(to: URL(fileURLWithPath: directory + "/a.jpg"))
        return (fixture, directory)
    }

    @Test func changedFilesAreListedAndStayReported() async throws {
        let (fixture, directory) = try await fixtureWithChange()
        let report = try await fixture.json("sync", "push", directory)
        #expect(report.result.exitCode == 13 && report.states == ["changed"] && report.count("changed") == 1)
        #expect((report.items.first?["error"] as? [String: Any])?["code"] as? String == "changed_since_upload")
        let text = try await fixture.run("sync", "push", directory, "-q")
        #expect(text.exitCode == 13)
        #expect(text.output == "\(directory)/a.jpg: changed since upload: edited or damaged?\n")
        #expect(text.errors.contains("1 file changed since upload and not uploaded"))
        #expect(text.errors.contains("mediactl sync push --changed \(directory)\n"))
        #expect(try await fixture.json("sync", "verify").count("copy_changed") == 1)
        #expect(try await fixture.requests("POST", "/api/photos/upload") == 1)
        let sent = try await fixture.json("sync", "push", directory, "--changed")
        #expect(sent.result.exitCode == 0 && sent.states == ["uploaded"])
    }

    /// The copy is neither read nor sent, and another push would not help.
    @Test func aDownloadKeepsAChangedCopy() async throws {
        let (fixture, directory) = try await fixtureWithChange()
        let id = try #require(try await fixture.sandbox.photos().first?.id)
        let out = fixture.runner.home.file("out")
        let report = try await fixture.json("sync", "download", "--missing", "--output", out)
        #expect(report.result.exitCode == 0 && report.states == ["present"])
        let error = try #require(report.items.first?["error"] as? [String: Any])
        #expect(error["code"] as? String == "changed_since_upload")
        #expect((error["message"] as? String)?.hasSuffix("a.jpg\" differs from photo \(id), and was kept") == true)
        let command = "mediactl sync download \(id) --output DIR"
        #expect((error["hint"] as? String)?.hasSuffix(command) == true)
        #expect(report.result.errors.contains("note: \"\(directory)/a.jpg\" differs from photo \(id), and was kept; "))
        #expect(report.result.errors.contains(command))
    }

    /// The command in the note downloads all of the photos.
    @Test func verifyPrintsTheIDsOfAllChangedCopies() async throws {
        let (fixture, directory) = try await SyncFixture.withPhotos("a.jpg", "b.jpg")
        _ = try await fixture.run("sync", "push", directory)
        let ids = try await fixture.sandbox.photos().map(\.id).sorted()
        for name in ["a", "b"] {
            try Data("edited \(name)".utf8).write(to: URL(fileURLWithPath: "\(directory)/\(name).jpg"))
        }
        let verify = try await fixture.run("sync", "verify")
        #expect(ids.count == 2 && ids.allSatisfy { verify.output.contains("(ID \($0))\n") }, "\(verify.output)")
        let command = "mediactl sync download \(ids.joined(separator: " ")) --output DIR\n"
        #expect(verify.errors.contains(command), "\(verify.errors)")
    }

    /// After the download, the note is about the changed file. The server has rewritten the photo, so the downloaded
    /// bytes differ from the uploaded ones.
    @Test(arguments: ["upload", "remove", "replace"])
    func aChangedCopyIsReportedUntilItsHintsWereFollowed(action: String) async throws {
        let fixture = try await SyncFixture.loggedIn()
        let original = try fixture.photos("a.jpg") + "/a.jpg"
        try Data(SmallPhoto.jpeg("photo a")).write(to: URL(fileURLWithPath: original))
        #expect(try await fixture.run("sync", "push", original).exitCode == 0)
        try await fixture.sandbox.photoSync("POST", "rewrite")
        _ = try await fixture.run("sync", "--full")
        try Data("edited, or damaged".utf8).write(to: URL(fileURLWithPath: original))
        let id = try #require(try await fixture.sandbox.photos().first?.id)
        let first = try await fixture.run("sync", "verify")
        #expect(first.exitCode == 3 && first.errors.contains("mediactl sync download \(id) --output DIR\n"))
        let out = fixture.runner.home.file("out")
        let download = try await fixture.json("sync", "download", id, "--output", out)
        #expect(download.states == ["rewritten"])
        let second = try await fixture.run("sync", "verify")
        #expect(second.exitCode == 3 && !second.errors.contains("sync download"), "\(second.errors)")
        #expect(second.errors.contains("mediactl sync push --changed \(original)\n"), "\(second.errors)")
        let downloaded = try #require(download.items.first?["path"] as? String)
        switch action {
        case "upload": #expect(try await fixture.run("sync", "push", "--changed", original).exitCode == 0)
        case "remove": try FileManager.default.removeItem(atPath: original)
        default: #expect(rename(downloaded, original) == 0)
        }
        let last = try await fixture.json("sync", "verify")
        #expect(last.result.exitCode == 0 && last.items.isEmpty, "\(last.result)")
    }

    /// The printed commands do not upload or accept more than the push that printed them.
    @Test func hintsRepeatTheSelection() async throws {
        let (changed, pictures) = try await fixtureWithChange()
        let filters = ["--include", "a.*", "--exclude", "it's *.jpg", "--no-default-excludes"]
        let warned = try await changed.runner.run(["sync", "push", pictures, "-q"] + filters)
        let words = #"--include='a.*' --exclude='it'\''s *.jpg' --no-default-excludes"#
        #expect(warned.errors.contains("mediactl sync push --changed \(words) \(pictures)\n"), "\(warned.errors)")
        let (deleted, directory, _) = try await fixtureWithDeletion()
        let quiet = try await deleted.run("sync", "push", directory, "-q", "--exclude", "b.jpg")
        #expect(quiet.errors.contains("mediactl sync push --restore --exclude=b.jpg \(directory); "))
        #expect(quiet.errors.contains("mediactl sync forget PATH\n"), "\(quiet.errors)")
    }

    @Test(arguments: [("yes", 0, 2), ("no", 13, 1), ("", 13, 1)] as [(String, Int32, Int)])
    func changedFilesAreUploadedAfterAPrompt(response: String, exitCode: Int32, photos: Int) async throws {
        let (fixture, directory) = try await fixtureWithChange()
        let child = try fixture.runner.start(["sync", "push", directory], streams: .terminal(columns: 200))
        try await child.respond(to: "Upload it as a new photo?", with: response + "\n")
        let result = try await child.finish()
        #expect(result.exitCode == exitCode)
        #expect(result.output.contains("1 file changed since upload: edited or damaged?"))
        #expect(try await fixture.sandbox.photos().count == photos)
        #expect(try await fixture.json("sync", "verify").count("copy_changed") == 1)
    }
}
