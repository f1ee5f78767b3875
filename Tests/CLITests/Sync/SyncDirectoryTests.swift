import Foundation
import TestSupport
import Testing

/// `sync DIR`: pull, push and download in one command.
@Suite(.prompt) struct SyncDirectoryTests {
    let fixture: SyncFixture
    let directory: String

    init() async throws { (fixture, directory) = try await Self.make() }

    private static let alice = #""user":"alice@example.test""#

    /// Two photos on this machine, and one on the server.
    private static func make(_ arguments: [String] = []) async throws -> (fixture: SyncFixture, directory: String) {
        let fixture = try await SyncFixture.loggedIn(arguments: arguments)
        let directory = try fixture.photos("a.jpg", "b.jpg")
        try await fixture.sandbox.addPhotos(
            #"{\#(alice),"content":"a beach","originalFilename":"beach.jpg","dateTaken":"2019-08-01T10:15:00Z"}"#
        )
        return (fixture, directory)
    }

    private func part(_ name: String, of report: SyncFixture.Report) -> [String: Any] {
        report.last[name] as? [String: Any] ?? [:]
    }

    @Test func theFirstRunNeedsConsent() async throws {
        let refused = try await fixture.json("sync", directory)
        #expect(refused.result.exitCode == 2)
        #expect(refused.result.errors.contains("confirmation required: Upload and download them?"))
        #expect(refused.result.errors.contains("2 photos to upload, 1 photo to download. Nothing is deleted."))
        #expect(try await fixture.requests("POST", "/api/photos/upload") == 0)
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory).sorted() == ["a.jpg", "b.jpg"])
    }

    /// A push or download records copies in the directory, but is not consent to the other direction.
    @Test func aPushIsNotConsent() async throws {
        #expect(try await fixture.run("sync", "push", directory).exitCode == 0)
        let refused = try await fixture.json("sync", directory)
        #expect(refused.result.exitCode == 2)
        #expect(refused.result.errors.contains("confirmation required: Upload and download them?"))
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory).sorted() == ["a.jpg", "b.jpg"])
        #expect(try await fixture.run("sync", directory, "--dry-run").exitCode == 0)
        #expect(try await fixture.run("sync", directory).exitCode == 2)
        #expect(try await fixture.run("sync", directory, "--yes").exitCode == 0)
        #expect(try await fixture.run("sync", directory + "/./").exitCode == 0)
        // Consent applies to one directory, not to those above or below it.
        try Data("a new photo".utf8).write(to: URL(fileURLWithPath: directory + "/2019/new.jpg"))
        #expect(try await fixture.run("sync", directory + "/2019").exitCode == 2)
    }

    /// Nothing would be uploaded or downloaded, so there is nothing to agree to; a later photo needs consent.
    @Test func aFirstRunWithNothingToDoNeedsNoConsent() async throws {
        #expect(try await fixture.run("sync", "push", directory).exitCode == 0)
        #expect(try await fixture.run("sync").exitCode == 0)
        #expect(try await fixture.run("sync", "download", "--missing", "--output", directory).exitCode == 0)
        let result = try await fixture.run("sync", directory)
        #expect(result.exitCode == 0)
        // The plan does not repeat any message from the run.
        #expect(result.errors.components(separatedBy: "3 already on the server").count == 2)
        #expect(result.errors.components(separatedBy: "nothing to download").count == 2)
        try Data("a new photo".utf8).write(to: URL(fileURLWithPath: directory + "/new.jpg"))
        #expect(try await fixture.run("sync", directory).exitCode == 2)
    }

    @Test func aDirectoryThatDoesNotExistIsRefused() async throws {
        let result = try await fixture.run("sync", directory + "/no/such", "--yes")
        #expect(result.exitCode == 2 && result.errors.contains("is neither a directory nor a command of mediactl sync"))
        let file = try await fixture.run("sync", directory + "/a.jpg")
        #expect(file.exitCode == 2 && file.errors.contains("mediactl sync push \(directory)/a.jpg\n"))
        let two = try await fixture.run("sync", directory, directory)
        #expect(two.exitCode == 2 && two.errors.contains("unexpected argument \"\(directory)\""))
        #expect(try await fixture.requests("POST", "/api/sync/photos") == 0)
    }

    @Test func bothSidesReceiveTheMissingPhotos() async throws {
        let first = try await fixture.json("sync", directory, "--yes")
        #expect(first.result.exitCode == 0 && first.last["schema"] as? String == "mediactl.sync/1")
        #expect(part("pull", of: first)["added"] as? Int == 1)
        #expect(part("push", of: first)["uploaded"] as? Int == 2)
        #expect(part("download", of: first)["verified"] as? Int == 1)
        #expect(try String(contentsOfFile: directory + "/2019/08/beach.jpg", encoding: .utf8) == "a beach")
        #expect(try await fixture.sandbox.photos().map(\.originalFilename).sorted() == ["a.jpg", "b.jpg", "beach.jpg"])

        // A later run does not prompt, and finds nothing to do.
        let second = try await fixture.json("sync", directory)
        #expect(second.result.exitCode == 0 && part("push", of: second)["uploaded"] as? Int == 0)
        #expect(part("push", of: second)["present"] as? Int == 3)
        #expect(part("download", of: second)["verified"] as? Int == 0)
        #expect(try await fixture.requests("POST", "/api/photos/upload") == 2)
    }

    /// Each part reports the same values as the corresponding command.
    @Test func theSummaryHasAllKeysOfItsParts() async throws {
        for name in ["film.mov", "a.xmp"] { try Data("x".utf8).write(to: URL(fileURLWithPath: "\(directory)/\(name)")) }
        _ = try await fixture.run("sync", directory, "--yes")
        try Data("edited".utf8).write(to: URL(fileURLWithPath: directory + "/a.jpg"))
        let both = try await fixture.json("sync", directory)
        let alone = [
            "pull": try await fixture.json("sync", "pull"), "push": try await fixture.json("sync", "push", directory),
            "download": try await fixture.json("sync", "download", "--missing", "--output", directory),
        ]
        for (name, report) in alone {
            let common: Set = ["schema", "type", "server", "dry_run", "duration_ms", "signal"]
            #expect(Set(part(name, of: both).keys) == Set(report.last.keys).subtracting(common), "\(name)")
        }
        #expect(part("push", of: both)["changed"] as? Int == 1 && part("push", of: both)["exit_code"] as? Int == 3)
        #expect((part("push", of: both)["left_behind"] as? [Any])?.count == 2)
        #expect(both.result.exitCode == 3)
    }

    @Test func nothingIsDeleted() async throws {
        _ = try await fixture.run("sync", directory, "--yes")
        try FileManager.default.removeItem(atPath: directory + "/a.jpg")
        let report = try await fixture.json("sync", directory)
        #expect(report.result.exitCode == 0)
        #expect(try await fixture.sandbox.photos().count == 3)
        #expect(try await fixture.requests("DELETE", "/") == 0)
        #expect(part("download", of: report)["planned"] as? Int == 0)
    }

    /// The mount point of a disk that is not mounted.
    @Test func anEmptyMountPointDoesNotReceiveTheLibrary() async throws {
        #expect(try await fixture.run("sync", directory, "--yes").exitCode == 0)
        try FileManager.default.moveItem(atPath: directory, toPath: directory + " on another disk")
        try makeDirectory(directory)
        for option in ["--yes", "--dry-run", "--no-input"] {
            let refused = try await fixture.json("sync", directory, option)
            #expect(refused.result.exitCode == 2 && refused.error["code"] as? String == "target_unusable", "\(option)")
            #expect(refused.result.errors.contains("mediactl sync download --missing --output \(directory)\n"))
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory).isEmpty)
        // Photos that were moved within the directory are recognized.
        try FileManager.default.moveItem(atPath: directory + " on another disk", toPath: directory + "/moved")
        let moved = try await fixture.json("sync", directory)
        #expect(moved.result.exitCode == 0 && part("push", of: moved)["present"] as? Int == 3)
        #expect(part("download", of: moved)["verified"] as? Int == 0)
        try FileManager.default.removeItem(atPath: directory + "/moved")
        #expect(try await fixture.run("sync", directory).exitCode == 2)
        let again = try await fixture.run("sync", "download", "--missing", "--output", directory)
        #expect(again.exitCode == 0 && again.errors.contains("3 downloaded and verified"), "\(again.errors)")
        #expect(try await fixture.run("sync", directory).exitCode == 0)
    }

    @Test func aDryRunChangesNothing() async throws {
        let early = try await fixture.json("sync", directory, "--dry-run")
        #expect(early.result.exitCode == 0 && part("push", of: early)["planned"] as? Int == 2)
        #expect(early.last["download"] is NSNull && early.last["dry_run"] as? Bool == true)
        #expect(early.result.errors.contains("downloads are shown after the first mediactl sync"))
        _ = try await fixture.run("sync")
        let later = try await fixture.json("sync", directory, "--dry-run")
        #expect(part("download", of: later)["planned"] as? Int == 1)
        #expect(try await fixture.sandbox.photos().count == 1)
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory).sorted() == ["a.jpg", "b.jpg"])
    }

    // A new machine does not download photos whose originals it already has.
    @Test func localPhotosAreNotPlannedAsDownloads() async throws {
        try await fixture.sandbox.addPhotos(#"{\#(Self.alice),"content":"a photo called a.jpg"}"#)
        _ = try await fixture.run("sync")
        let plan = try await fixture.json("sync", directory, "--dry-run")
        #expect(part("push", of: plan)["planned"] as? Int == 1 && part("push", of: plan)["present"] as? Int == 1)
        #expect(part("download", of: plan)["planned"] as? Int == 1)
    }

    @Test(arguments: [("yes\n", 0, 2), ("no\n", 1, 0)] as [(String, Int32, Int)])
    func aTerminalPromptsBeforeTheFirstSync(response: String, exitCode: Int32, uploads: Int) async throws {
        let child = try fixture.runner.start(["sync", directory], streams: .terminal(columns: 100))
        // Before the sync, the command offers to claim the legacy photo.
        try await child.respond(to: "Claim them? [y/N] ", with: "no\n")
        try await child.wait(for: "2 photos to upload, 1 photo to download. Nothing is deleted.")
        try await child.respond(to: "Upload and download them? [y/N] ", with: response)
        let result = try await child.finish()
        #expect(result.exitCode == exitCode)
        #expect(try await fixture.requests("POST", "/api/photos/upload") == uploads)
    }

    @Test func yesWaitsForNoInput() async throws {
        let result = try await fixture.runner.run(["sync", directory, "--yes"], streams: .terminal(columns: 100))
        #expect(result.exitCode == 0, "\(result.errors)")
        #expect(!result.output.contains("Claim them?"), "\(result.output)")
        #expect(result.output.contains("1 photo is not assigned to a device; list it with"), "\(result.output)")
        #expect(try await fixture.requests("POST", "/api/sync/claim-legacy") == 0)
        #expect(try await fixture.requests("POST", "/api/photos/upload") == 2)
    }

    @Test(arguments: [("yes\n", true), ("no\n", false)])
    func syncOffersToClaimLegacyPhotos(response: String, isClaimed: Bool) async throws {
        let child = try fixture.runner.start(["sync"], streams: .terminal(columns: 100))
        try await child.respond(to: "Claim them? [y/N] ", with: response)
        let result = try await child.finish()
        #expect(result.exitCode == 0)
        #expect(try await fixture.requests("POST", "/api/sync/claim-legacy") == (isClaimed ? 1 : 0))
        #expect(try await fixture.sandbox.photos().allSatisfy { ($0.device != nil) == isClaimed })
    }

    // Contract 3.5: photos that the server cannot keep do not prevent downloads.
    @Test func theOwnershipDefectDoesNotPreventDownloads() async throws {
        let (fixture, directory) = try await Self.make(["--photosync", "published"])
        for _ in 1...2 {
            let report = try await fixture.json("sync", directory, "--yes")
            #expect(report.result.exitCode == 7)
            #expect(report.result.errors.contains("does not record the owner of uploaded photos"))
        }
        #expect(FileManager.default.fileExists(atPath: directory + "/2019/08/beach.jpg"))
        #expect(try await fixture.requests("POST", "/api/photos/upload") == 1)
    }

    @Test func aDirectoryNamedLikeACommandNeedsAPath() async throws {
        let named = fixture.runner.home.file("push")
        try makeDirectory(named)
        let verb = try await fixture.runner.run(["sync", "push"], through: ["env", "-C", fixture.runner.home.path])
        #expect(verb.exitCode == 2)
        let path = try await fixture.runner.run(
            ["sync", "./push", "--yes"],
            through: ["env", "-C", fixture.runner.home.path]
        )
        #expect(path.exitCode == 0 && FileManager.default.fileExists(atPath: named + "/2019/08/beach.jpg"))
    }
}
