import Foundation
import TestSupport
import Testing

/// `sync` and `claim-legacy` of the built program, against the sandbox.
@Suite(.prompt) struct SyncBinaryTests {
    private static let alice = #""user":"alice@example.test""#

    // MARK: Pull, status, list

    @Test func pullListsEverythingAndThenNewPhotos() async throws {
        let fixture = try await SyncFixture.loggedIn()
        try await fixture.sandbox.addPhotos(#"{"count":1200,\#(Self.alice)}"#)
        let first = try await fixture.json("sync", "--progress-events")
        #expect(first.result.exitCode == 0)
        #expect(first.last["complete"] as? Bool == true && first.last["full"] as? Bool == true)
        #expect(first.count("photos") == 1200 && first.count("pages") == 3 && first.count("added") == 1200)
        #expect((first.last["index"] as? [String: Any])?["legacy"] as? Int == 1200)
        #expect(first.records.contains { $0["type"] as? String == "progress" && $0["expected"] as? Int == 1200 })
        #expect(
            first.result.errors.contains(
                "1200 photos are not assigned to a device; list them with: mediactl claim-legacy --list"
            )
        )

        let second = try await fixture.json("sync", "pull")
        #expect(second.last["full"] as? Bool == false && second.count("added") == 0)
        let full = try await fixture.json("sync", "pull", "--full", "-q")
        #expect(full.last["full"] as? Bool == true && full.result.errors.isEmpty)
    }

    @Test func dryRunStoresNothing() async throws {
        let fixture = try await SyncFixture.loggedIn()
        try await fixture.sandbox.addPhotos(#"{"count":3,\#(Self.alice)}"#)
        let dry = try await fixture.json("sync", "--dry-run")
        #expect(dry.result.exitCode == 0 && dry.count("photos") == 3)
        let list = try await fixture.json("sync", "list")
        #expect(list.result.exitCode == 5 && list.error["code"] as? String == "never_synchronized")
    }

    @Test(arguments: [(SIGINT, 130), (SIGTERM, 143)] as [(Int32, Int32)])
    func signalStopsAPullWithASummary(signal: Int32, exitCode: Int32) async throws {
        let fixture = try await SyncFixture.loggedIn(faults: ["photos-list:stall,skip=2"])
        try await fixture.sandbox.addPhotos(#"{"count":1600,\#(Self.alice)}"#)
        let child = try fixture.runner.start(["sync", "--json", "--progress-events"])
        try await child.signal(signal, after: #""type":"progress""#)
        let report = try SyncFixture.report(of: try await child.finish(deadline: .seconds(20)))
        #expect(report.result.exitCode == exitCode)
        #expect(report.last["type"] as? String == "summary" && report.last["complete"] as? Bool == false)
        #expect(report.count("photos") ?? 0 >= 500 && report.last["index"] is NSNull)
        try await fixture.sandbox.clearFaults()
        let next = try await fixture.json("sync")
        #expect(next.result.exitCode == 0 && next.last["resumed"] as? Bool == true)
        #expect((next.last["index"] as? [String: Any])?["total"] as? Int == 1600)
    }

    @Test func incompleteListingIsNotASuccess() async throws {
        let fixture = try await SyncFixture.loggedIn(faults: ["photos-list:total=9"])
        try await fixture.sandbox.addPhotos(#"{"count":3,\#(Self.alice)}"#)
        let report = try await fixture.json("sync")
        #expect(report.result.exitCode == 7 && report.last["type"] as? String == "error")
    }

    @Test func statusReportsAFailingServer() async throws {
        let fixture = try await SyncFixture.loggedIn()
        try await fixture.sandbox.addPhotos(#"{"count":2,\#(Self.alice)}"#)
        _ = try await fixture.run("sync")
        let good = try await fixture.json("sync", "status")
        #expect(good.result.exitCode == 0 && good.last["health"] as? String == "healthy")
        try await fixture.sandbox.addFaults("photos-status:status=500", "photos-health:status=500")
        let bad = try await fixture.json("sync", "status")
        #expect(bad.result.exitCode == 7 && bad.last["type"] as? String == "summary")
        #expect((bad.last["index"] as? [String: Any])?["total"] as? Int == 2)
        let text = try await fixture.run("sync", "status")
        #expect(text.exitCode == 7 && text.output.contains("no device") && text.errors.contains("error: "))
    }

    @Test func anotherUsersIndexIsNotUsed() async throws {
        let fixture = try await SyncFixture.loggedIn()
        try await fixture.sandbox.addPhotos(#"{"count":3,\#(Self.alice)}"#)
        #expect(try await fixture.json("sync", extra: ["MEDIACTL_API_KEY": SandboxProcess.bobKey]).count("photos") == 0)
        let list = try await fixture.run("sync", "list")
        #expect(list.errors.contains("another user"))
        let status = try await fixture.json("sync", "status")
        #expect(status.result.exitCode == 0 && status.last["last_complete_at"] is NSNull)
        #expect(try await fixture.run("sync", "verify").exitCode == 5)
        #expect(try await fixture.json("sync").count("added") == 3)
        #expect(try await fixture.run("sync", "verify").exitCode == 0)
    }

    @Test func statusReportsWhenAPullIsDue() async throws {
        let fixture = try await SyncFixture.loggedIn()
        #expect(try await fixture.run("sync").exitCode == 0)
        #expect(try await !fixture.run("sync", "status").errors.contains("differ"))
        try await fixture.sandbox.addPhotos(#"{"count":3,\#(Self.alice)}"#)
        #expect(try await fixture.run("sync", "status").errors.contains("server and index differ"))
    }

    @Test func unfinishedSetupIsReported() async throws {
        let fixture = try await SyncFixture(arguments: ["--photosync-setup", "incomplete"])
        let result = try await fixture.run("login", extra: ["MEDIACTL_API_KEY": SandboxProcess.aliceKey])
        #expect(result.exitCode == 7)
        #expect(result.errors.contains("its administrator must finish the setup at /setup on the same host"))
    }

    @Test func listIsFilteredAndEscaped() async throws {
        let fixture = try await SyncFixture.loggedIn()
        try await fixture.sandbox.addPhotos(
            #"{\#(Self.alice),"originalFilename":"a\u001b[2Jb.jpg","uploadedAt":"2020-01-01T00:00:00Z"}"#
        )
        _ = try await fixture.run("sync", "push", try fixture.photos("mine.jpg"))
        _ = try await fixture.run("sync")
        let all = try await fixture.run("sync", "list")
        #expect(all.output.contains("a\\u{1b}[2Jb.jpg") && !all.output.contains("\u{1b}"))
        #expect(try await fixture.json("sync", "list").count("items") == 2)
        let own = try await fixture.json("sync", "list", "--device", "this")
        #expect(own.items.map { $0["file_name"] as? String } == ["mine.jpg"])
        #expect(own.items.first?["device_name"] as? String == "Studio")
        #expect(try await fixture.json("sync", "list", "--device", "legacy").count("items") == 1)
        #expect(try await fixture.json("sync", "list", "--device", "other").count("items") == 0)
        let id = try #require(own.items.first?["device_id"] as? String)
        #expect(try await fixture.json("sync", "list", "--device", id.uppercased()).count("items") == 1)
        let typo = try await fixture.run("sync", "list", "--device", "legcy")
        #expect(typo.exitCode == 2 && typo.errors.contains(#"--device: "legcy" is neither this, other, legacy nor"#))
        #expect(typo.errors.contains("hint: did you mean: legacy"))
        #expect(try await fixture.run("sync", "list", "--device", "Studio").exitCode == 2)
        #expect(try await fixture.json("sync", "list", "--since", "2021-01-01").count("items") == 1)
        #expect(try await fixture.run("sync", "list", "--since", "soon").exitCode == 2)
        let photo = try #require(try await fixture.sandbox.photos().first?.id)
        try await fixture.sandbox.photoSync("DELETE", "photos/\(photo)")
        _ = try await fixture.run("sync", "--full")
        #expect(try await fixture.json("sync", "list", "--gone").items.map { $0["photo_id"] as? String } == [photo])
    }

    @Test func listStopsWhenItsReaderExits() async throws {
        let fixture = try await SyncFixture.loggedIn()
        try await fixture.sandbox.addPhotos(#"{"count":3000,\#(Self.alice)}"#)
        _ = try await fixture.run("sync")
        let result = try await fixture.runner.run(
            ["sync", "list", "--json"],
            through: ["bash", "-c", #"set -o pipefail; "$@" | head -n 1"#, "bash"]
        )
        #expect(result.exitCode == 0 && result.lines.count == 1 && result.errors.isEmpty)
    }

    // MARK: Push

    @Test func pushUploadsMissingPhotosOnce() async throws {
        let (fixture, directory) = try await SyncFixture.withPhotos("a.jpg", "b.jpg", "notes.txt")
        let dry = try await fixture.json("sync", "push", directory, "--dry-run")
        #expect(dry.result.exitCode == 0 && dry.count("planned") == 2 && dry.count("skipped") == 1)
        #expect(try await fixture.sandbox.photos().isEmpty)
        let first = try await fixture.json("sync", "push", directory, "--progress-events")
        #expect(first.result.exitCode == 0 && first.states == ["skipped", "uploaded", "uploaded"])
        let second = try await fixture.json("sync", "push", directory)
        #expect(second.result.exitCode == 0 && second.count("present") == 2 && second.count("bytes_sent") == 0)
        #expect(try await fixture.sandbox.photos().count == 2)
        let quiet = try await fixture.run("sync", "push", directory, "-q")
        #expect(quiet.exitCode == 0 && quiet.output.isEmpty)
        // A text file is not a missing photo.
        #expect(quiet.errors.isEmpty)
    }

    @Test func specifiedFilesThatCannotBePushedAreFailures() async throws {
        let (fixture, directory) = try await SyncFixture.withPhotos("a.jpg", "notes.txt")
        let none = try await fixture.json("sync", "push", directory + "/notes.txt")
        #expect(none.result.exitCode == 2 && none.states == ["failed"])
        let mixed = try await fixture.json("sync", "push", directory + "/a.jpg", directory + "/gone.jpg")
        #expect(mixed.result.exitCode == 3 && mixed.states == ["failed", "uploaded"])
    }

    // Contract 3.5, trap 23.
    @Test func publishedServerStopsThePushWithAWarning() async throws {
        let fixture = try await SyncFixture.loggedIn(arguments: ["--photosync", "published"])
        let directory = try fixture.photos("a.jpg", "b.jpg", "c.jpg", "d.jpg", "e.jpg")
        let report = try await fixture.json("sync", "push", directory, "-j", "1")
        #expect(report.result.exitCode == 7 && report.error["code"] as? String == "ownership_defect")
        #expect(report.result.errors.contains("do not delete any local original"))
        #expect(try await fixture.requests("POST", "/api/photos/upload") == 1)
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory).count == 5)
    }

    // Trap 11: a photo that another user uploaded is not backed up for this user.
    @Test func bytesOfAnotherUserDoNotCountAsBackedUp() async throws {
        let (fixture, directory) = try await SyncFixture.withPhotos("a.jpg")
        try await fixture.sandbox.addPhotos(#"{"user":"bob@example.test","content":"a photo called a.jpg"}"#)
        let report = try await fixture.json("sync", "push", directory)
        #expect(report.result.exitCode == 10 && report.states == ["foreign"])
        #expect(report.result.errors.contains("keep the local original"))
    }

    @Test func signalStopsAPushWithASummary() async throws {
        let fixture = try await SyncFixture.loggedIn(faults: ["photos-upload:stall,after=10"])
        let directory = try fixture.photos("a.jpg", "b.jpg", "c.jpg")
        let child = try fixture.runner.start(["sync", "push", directory, "--json", "--progress-events", "-j", "1"])
        try await child.signal(SIGINT, after: #""files_to_send":3"#)
        let report = try SyncFixture.report(of: try await child.finish(deadline: .seconds(20)))
        #expect(report.result.exitCode == 130 && report.last["type"] as? String == "summary")
        #expect(report.last["signal"] as? String == "SIGINT" && report.count("uploaded") == 0)
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory).count == 3)
    }

    // MARK: Download, verify

    @Test func downloadFetchesWhatIsMissing() async throws {
        let fixture = try await SyncFixture.loggedIn(arguments: ["--photosync-rewrite", "off"])
        try await fixture.sandbox.addPhotos(
            #"{\#(Self.alice),"content":"one","originalFilename":"../../e\u001b[2Jvil.jpg","dateTaken":"2024-03-01T10:00:00Z"}"#
        )
        let target = fixture.runner.home.file("out")
        #expect(try await fixture.json("sync", "download", "--missing", "--output", target).result.exitCode == 5)
        _ = try await fixture.run("sync")
        let dry = try await fixture.json("sync", "download", "--missing", "--output", target, "--dry-run")
        #expect(dry.result.exitCode == 0 && dry.states == ["planned"])
        #expect(!FileManager.default.fileExists(atPath: target + "/2024"))
        let text = try await fixture.run("sync", "download", "--missing", "--output", target)
        #expect(text.exitCode == 0 && text.output.hasPrefix("downloaded \(target)/2024/03/"))
        #expect(text.output.hasSuffix("(3 B, verified)\n") && !text.output.contains("\u{1b}"))
        let again = try await fixture.json("sync", "download", "--missing", "--output", target)
        #expect(again.result.exitCode == 0 && again.count("items") == 0)
        let id = try #require(try await fixture.sandbox.photos().first?.id)
        let named = try await fixture.json("sync", "download", id, "nope", "--output", target)
        #expect(named.result.exitCode == 3 && named.states == ["failed", "present"])
        let unknown = try await fixture.json("sync", "download", "nope", "--output", target)
        #expect(unknown.result.exitCode == 5)
    }

    /// A download, an upload and a repair fail with the error that ends the run.
    @Test(arguments: ["download", "push", "repair"])
    func theErrorThatEndsARunIsPrintedOnce(command: String) async throws {
        let fixture = try await SyncFixture.loggedIn(arguments: ["--photosync-rewrite", "off"])
        let directory = try fixture.photos("a.jpg", "b.jpg")
        #expect(try await fixture.run("sync", "push", directory + "/a.jpg").exitCode == 0)
        let id = try #require(try await fixture.sandbox.photos().first?.id)
        var arguments = ["sync", command, directory]
        switch command {
        case "download":
            try await fixture.sandbox.addFaults("photos-download:status=401")
            try FileManager.default.removeItem(atPath: directory + "/a.jpg")
            arguments = ["sync", "download", "--missing", "--output", fixture.runner.home.file("out")]
        case "repair":
            try await fixture.sandbox.photoSync("POST", "photos/\(id)/file", #"{"action":"remove"}"#)
            try await fixture.sandbox.addFaults("photos-delete:status=401")
            arguments = ["sync", "repair", "--yes"]
        default: try await fixture.sandbox.addFaults("photos-upload:status=401")
        }
        let result = try await fixture.runner.run(arguments)
        #expect(result.exitCode == 4)
        #expect(result.errors.ranges(of: "error: the server refused the API key (401)").count == 1, "\(result)")
        #expect(result.errors.ranges(of: "refused the API key").count == 1, "\(result)")
    }

    /// The run ends with the error of the first photo.
    @Test(.enabled(if: SmallDisk.isAvailable, SmallDisk.requirement))
    func aFullDiskIsPrintedOnce() async throws {
        let fixture = try await SyncFixture.loggedIn(arguments: ["--photosync-rewrite", "off"])
        for letter in ["a", "b"] {
            let content = String(repeating: letter, count: 300 << 10)
            try await fixture.sandbox.addPhotos(#"{\#(Self.alice),"content":"\#(content)"}"#)
        }
        _ = try await fixture.run("sync")
        let disk = try SmallDisk(kibibytes: 256)
        let result = try await fixture.run("sync", "download", "--missing", "--output", disk.path + "/out")
        #expect(result.exitCode == 12)
        #expect(result.errors.ranges(of: "error: no space left for").count == 1, "\(result)")
    }

    /// Trap 12: the server changes the files it stores.
    @Test func rewrittenPhotosAreReportedAsANotice() async throws {
        let (fixture, directory) = try await SyncFixture.withPhotos("a.jpg")
        try Data(SmallPhoto.jpeg).write(to: URL(fileURLWithPath: directory + "/a.jpg"))
        _ = try await fixture.run("sync", "push", directory)
        try await fixture.sandbox.photoSync("POST", "rewrite")
        _ = try await fixture.run("sync")
        let id = try #require(try await fixture.sandbox.photos().first?.id)
        try FileManager.default.removeItem(atPath: directory)
        let report = try await fixture.json("sync", "download", id, "--output", fixture.runner.home.file("out"))
        #expect(report.result.exitCode == 0 && report.states == ["rewritten"])
        #expect(report.result.errors.contains("the server rewrites photos after their upload"))
    }

    @Test func damagedPhotosAreIntegrityErrors() async throws {
        let fixture = try await SyncFixture.loggedIn(
            faults: ["photos-download:corrupt-byte"],
            arguments: ["--photosync-rewrite", "off"]
        )
        try await fixture.sandbox.addPhotos(#"{\#(Self.alice),"content":"one"}"#)
        _ = try await fixture.run("sync")
        let target = fixture.runner.home.file("out")
        let report = try await fixture.json("sync", "download", "--missing", "--output", target)
        #expect(report.result.exitCode == 8 && report.states == ["failed"])
    }

    @Test func verifyFindsDifferences() async throws {
        let (fixture, directory) = try await SyncFixture.withPhotos("a.jpg", "b.jpg")
        _ = try await fixture.run("sync", "push", directory)
        _ = try await fixture.run("sync")
        let same = try await fixture.json("sync", "verify", "--read-content")
        #expect(same.result.exitCode == 0 && same.count("copies") == 2 && same.count("items") == 0)
        try FileManager.default.removeItem(atPath: directory + "/a.jpg")
        let other = try await fixture.json("sync", "verify")
        #expect(other.result.exitCode == 3 && other.count("copy_missing") == 1)
        #expect(other.items.map { $0["path"] as? String } == [directory + "/a.jpg"])
        // The suggested command works.
        let target = fixture.runner.home.file("out")
        #expect(try await fixture.run("sync", "download", "--missing", "--output", target).exitCode == 0)
        let again = try await fixture.json("sync", "verify")
        #expect(again.result.exitCode == 0 && again.count("items") == 0)
    }

    // MARK: Claims

    @Test func claimListsCountsAndClaims() async throws {
        let fixture = try await SyncFixture.loggedIn()
        let ids = try await fixture.sandbox.addPhotos(#"{"count":4,\#(Self.alice)}"#)
        try await fixture.sandbox.addPhotos(#"{"user":"bob@example.test"}"#)
        let list = try await fixture.json("claim-legacy", "--list")
        #expect(list.result.exitCode == 0 && list.count("items") == 4)
        #expect(Set(list.items.compactMap { $0["photo_id"] as? String }) == Set(ids))
        let dry = try await fixture.json("claim-legacy", "--all", "--dry-run")
        #expect(dry.result.exitCode == 0 && dry.count("planned") == 4)
        #expect(try await fixture.requests("POST", "/api/sync/claim-legacy") == 0)

        let some = try await fixture.json("claim-legacy", "--ids", ids[0], "nope", "--yes")
        #expect(some.result.exitCode == 3 && some.count("claimed") == 1 && some.count("failed") == 1)
        #expect(some.last["unknown_ids"] as? [String] == ["nope"])
        let again = try await fixture.json("claim-legacy", "--ids", ids[0], "--yes")
        #expect(again.result.exitCode == 0 && again.count("already_claimed") == 1)
        let all = try await fixture.json("claim-legacy", "--all", "--yes")
        #expect(all.result.exitCode == 0 && all.count("claimed") == 3 && all.count("remaining") == 0)
        let file = fixture.runner.home.file("ids")
        try "nope\n\nnever \n".write(toFile: file, atomically: true, encoding: .utf8)
        let unknown = try await fixture.json("claim-legacy", "--ids-file", file, "--yes")
        #expect(unknown.result.exitCode == 5 && unknown.last["unknown_ids"] as? [String] == ["nope", "never"])
        let other = fixture.runner.home.file("other-ids")
        try "neither\n".write(toFile: other, atomically: true, encoding: .utf8)
        let both = try await fixture.json("claim-legacy", "--ids-file", file, "--ids-file", other, "--yes")
        #expect(both.last["unknown_ids"] as? [String] == ["nope", "never", "neither"])
    }

    @Test func claimRequiresYesWithoutATerminal() async throws {
        let fixture = try await SyncFixture.loggedIn()
        let before = try await fixture.sandbox.requests().count
        let result = try await fixture.runner.run(["claim-legacy", "--all"], input: "yes\n")
        #expect(result.exitCode == 2)
        #expect(result.errors.contains("not a terminal; confirmation required: Claim them?"))
        #expect(try await fixture.sandbox.requests().count == before)
    }

    @Test(arguments: [("yes", 0, 0), ("no", 1, 2), ("", 1, 2)] as [(String, Int32, Int)])
    func claimPromptsWithTheCount(response: String, exitCode: Int32, remaining: Int) async throws {
        let fixture = try await SyncFixture.loggedIn()
        try await fixture.sandbox.addPhotos(#"{"count":2,\#(Self.alice)}"#)
        let child = try fixture.runner.start(["claim-legacy", "--all"], streams: .terminal(columns: 200))
        try await child.respond(to: "Claim them?", with: response + "\n")
        let result = try await child.finish()
        #expect(result.exitCode == exitCode && result.output.contains("2 photos without a device"))
        #expect(try await fixture.json("claim-legacy", "--list").count("items") == remaining)
    }

    // MARK: Output

    @Test(arguments: [
        ["sync"], ["sync", "status"], ["sync", "push", "."], ["sync", "verify"], ["claim-legacy", "--list"],
        ["claim-legacy", "--all", "--yes"], ["logout"],
    ])
    func nothingIsStartedWithoutAWorkingOutput(command: [String]) async throws {
        let fixture = try await SyncFixture.loggedIn()
        let before = try await fixture.sandbox.requests().count
        let result = try await fixture.runner.run(command, through: ["sh", "-c", #"exec "$@" >&-"#, "sh"])
        #expect(result.exitCode == 1 && result.errors.contains("cannot write to standard output: it is closed"))
        #expect(try await fixture.sandbox.requests().count == before)
        #expect(try await fixture.run("sync", "status").exitCode == 0)
    }
}
