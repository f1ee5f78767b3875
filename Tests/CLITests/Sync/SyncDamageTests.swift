import Foundation
import TestSupport
import Testing

/// Files that a server lost or damaged but still lists (photosync contract, new facts 1 and 2).
@Suite struct SyncDamageTests {
    let fixture: SyncFixture
    let directory: String
    let ids: [String]

    /// Three pushed photos that the server has rewritten and the index contains; the originals are in a directory.
    init() async throws {
        fixture = try await SyncFixture.loggedIn()
        directory = try fixture.photos("a.jpg", "b.jpg", "c.jpg")
        for name in ["a", "b", "c"] {
            try Data(SmallPhoto.jpeg("photo \(name)")).write(to: URL(fileURLWithPath: "\(directory)/\(name).jpg"))
        }
        let push = try await fixture.run("sync", "push", directory)
        try #require(push.exitCode == 0, "\(push.errors)")
        try await fixture.sandbox.photoSync("POST", "rewrite")
        _ = try await fixture.run("sync", "--full")
        let photos = try await fixture.sandbox.photos().sorted { $0.originalFilename < $1.originalFilename }
        ids = photos.map(\.id)
    }

    private static let alice = #""user":"alice@example.test""#

    private func damage(_ fixture: SyncFixture, _ id: String, _ action: String) async throws {
        try await fixture.sandbox.photoSync("POST", "photos/\(id)/file", action)
    }

    private static let html = Data("<html><body>Not found</body></html>".utf8).base64EncodedString()
    private static let random = Data((0..<2_000).map { _ in UInt8.random(in: 0...255) }).base64EncodedString()

    /// Such a file must not be accepted as rewritten by the server: it would never be fetched again.
    @Test(arguments: [
        #"{"action":"replace","base64":"eA=="}"#, #"{"action":"replace","base64":"\#(html)"}"#,
        #"{"action":"replace","base64":"\#(random)"}"#, #"{"action":"truncate","bytes":300}"#,
    ])
    func aDamagedFileIsNeverStoredAsADownload(action: String) async throws {
        try FileManager.default.removeItem(atPath: directory)
        try await damage(fixture, ids[0], action)
        let target = fixture.runner.home.file("out")
        for _ in 1...2 {
            let report = try await fixture.json("sync", "download", ids[0], "--output", target)
            #expect(report.result.exitCode == 8)
            #expect(report.states == ["unverified"] && report.count("unverified") == 1)
            #expect((report.items.first?["path"] as? String)?.hasSuffix("a.jpg.unverified") == true)
        }
        let missing = try await fixture.json("sync", "download", "--missing", "--output", target)
        #expect(missing.result.exitCode == 3)
        #expect(missing.states == ["rewritten", "rewritten", "unverified"])
    }

    @Test func anotherPhotosFileIsAnotherPhoto() async throws {
        try FileManager.default.removeItem(atPath: directory)
        try await damage(fixture, ids[0], #"{"action":"swap","with":"\#(ids[1])"}"#)
        let target = fixture.runner.home.file("out")
        let report = try await fixture.json("sync", "download", ids[0], "--output", target)
        #expect(report.result.exitCode == 8 && report.states == ["failed"])
        let error = report.items.first?["error"] as? [String: Any]
        #expect(error?["code"] as? String == "wrong_photo")
    }

    @Test(arguments: [#"{"action":"remove"}"#, #"{"action":"empty"}"#])
    func aListedPhotoWithoutBytesIsUndeliverable(action: String) async throws {
        try FileManager.default.removeItem(atPath: directory)
        try await damage(fixture, ids[0], action)
        let report = try await fixture.json("sync", "download", ids[0], "--output", fixture.runner.home.file("out"))
        #expect(report.result.exitCode == 5 && report.states == ["undeliverable"])
        let error = report.items.first?["error"] as? [String: Any]
        #expect(error?["code"] as? String == "photo_undeliverable")
        #expect((error?["hint"] as? String)?.contains("mediactl sync repair") == true)
    }

    @Test func verifyChecksTheFilesOnTheServerOnRequest() async throws {
        let same = try await fixture.json("sync", "verify", "--server")
        #expect(same.result.exitCode == 0 && same.count("server_files") == 3 && same.count("items") == 0)
        try await damage(fixture, ids[0], #"{"action":"remove"}"#)
        try await damage(fixture, ids[1], #"{"action":"empty"}"#)
        let big = Data(SmallPhoto.jpeg(String(repeating: "x", count: 300_000))).base64EncodedString()
        try await damage(fixture, ids[2], #"{"action":"replace","base64":"\#(big)"}"#)

        let blind = try await fixture.run("sync", "verify")
        #expect(blind.exitCode == 0)
        #expect(blind.errors.contains("compared the listing, the index and local copies"))

        let verify = try await fixture.json("sync", "verify", "--server")
        #expect(verify.result.exitCode == 3)
        let kinds = verify.items.compactMap { $0["kind"] as? String }
        #expect(kinds.sorted() == ["server_empty", "server_length", "server_missing"])
        #expect(verify.count("server_missing") == 1 && verify.count("copy_missing") == 0)
        #expect(try await fixture.run("sync", "verify", "--server-files").exitCode == 3)
    }

    /// A photo that the server could not deliver is not reported as an unfinished download. A local copy that was
    /// removed is still reported as missing.
    @Test func aFailedDownloadIsNotReportedAsUnfinished() async throws {
        let out = fixture.runner.home.file("out")
        try FileManager.default.removeItem(atPath: directory)
        try await damage(fixture, ids[0], #"{"action":"remove"}"#)
        let first = try await fixture.json("sync", "download", "--missing", "--output", out)
        #expect(first.states == ["rewritten", "rewritten", "undeliverable"])
        let text = try await fixture.run("sync", "verify")
        #expect(text.output == "copy missing       \(directory)/a.jpg\n")
        #expect(text.errors.contains("3 photos and 2 copies compared, 1 difference"))
        // The path of the second photo below the target.
        let path = try #require(first.items.first { $0["photo_id"] as? String == ids[1] }?["path"] as? String)
        try FileManager.default.removeItem(atPath: path)
        try await damage(fixture, ids[1], #"{"action":"remove"}"#)
        let second = try await fixture.json("sync", "download", "--missing", "--output", out)
        #expect(second.states == ["undeliverable", "undeliverable"])
        let verify = try await fixture.json("sync", "verify")
        #expect(verify.count("copy_unfinished") == 0 && verify.count("copy_missing") == 3)
        #expect(verify.items.contains { $0["path"] as? String == path })
    }

    /// Only files whose bytes were verified are counted as verified.
    @Test func filesThatCannotBeVerifiedAreNotCountedAsVerified() async throws {
        let intact = try await fixture.run("sync", "verify", "--server-content")
        #expect(intact.errors.contains("note: downloaded and verified 3 files from the server\n"))
        try await damage(fixture, ids[0], #"{"action":"remove"}"#)
        try await damage(fixture, ids[1], #"{"action":"truncate","bytes":300}"#)
        let verify = try await fixture.run("sync", "verify", "--server-content")
        #expect(verify.exitCode == 3)
        #expect(verify.errors.contains("verified 1 file from the server; others: 1 missing, 1 damaged\n"))
        #expect(verify.output.contains("server missing     \(ids[0])  (a.jpg)\n"), "\(verify.output)")
        #expect(verify.output.contains("server damaged     \(ids[1])  (b.jpg, the file ends without an end marker)\n"))
    }

    /// Files of a plausible length: only reading them detects the damage.
    @Test func verifyReadsTheFilesOnTheServerOnRequest() async throws {
        #expect(try await fixture.json("sync", "verify", "--server-content").result.exitCode == 0)
        try await damage(fixture, ids[0], #"{"action":"swap","with":"\#(ids[1])"}"#)
        try await damage(fixture, ids[2], #"{"action":"truncate","bytes":300}"#)
        #expect(try await fixture.json("sync", "verify", "--server").result.exitCode == 0)
        let verify = try await fixture.json("sync", "verify", "--server-content")
        #expect(verify.result.exitCode == 3)
        #expect(verify.count("server_damaged") == 3 && verify.count("server_files") == 3)
    }

    /// An unverified download is recorded with the digest of the damaged file, which proves nothing.
    @Test func aDamagedDownloadIsNotEvidenceForARepair() async throws {
        try await damage(fixture, ids[0], #"{"action":"truncate","bytes":300}"#)
        let out = fixture.runner.home.file("out")
        // A photo with a copy here is not downloaded.
        let original = "\(directory)/a.jpg"
        try FileManager.default.moveItem(atPath: original, toPath: original + ".away")
        #expect(try await fixture.json("sync", "download", ids[0], "--output", out).states == ["unverified"])
        try FileManager.default.moveItem(atPath: original + ".away", toPath: original)
        #expect(try await fixture.json("sync", "verify", "--server-content").count("server_damaged") == 1)
        let repair = try await fixture.json("sync", "repair", "--server-content", "--yes")
        #expect(repair.result.exitCode == 0 && repair.states == ["repaired"])
        #expect(try await fixture.requests("DELETE", "/api/photos/") == 1)
        #expect(try await fixture.json("sync", "verify", "--server-content").count("server_damaged") == 0)
    }

    /// If a photo was already damaged when it was uploaded, the server's copy is just as damaged: another upload would
    /// not help.
    @Test func aPhotoThatWasUploadedDamagedIsNotRepaired() async throws {
        let (fixture, directory) = try await SyncFixture.withPhotos("a.jpg")
        try Data(SmallPhoto.jpeg("photo a").dropLast(20)).write(to: URL(fileURLWithPath: "\(directory)/a.jpg"))
        #expect(try await fixture.run("sync", "push", directory).exitCode == 0)
        try await fixture.sandbox.photoSync("POST", "rewrite")
        _ = try await fixture.run("sync", "--full")
        let id = try #require(try await fixture.sandbox.photos().first?.id)
        // Simulates the server's rewritten copy, which is damaged as well.
        try await damage(fixture, id, #"{"action":"truncate","bytes":300}"#)
        let verify = try await fixture.json("sync", "verify", "--server-content")
        #expect(verify.result.exitCode == 3 && verify.count("uploaded_damaged") == 1)
        #expect(verify.count("server_damaged") == 0 && verify.items.first?["kind"] as? String == "uploaded_damaged")
        #expect(!verify.result.errors.contains("sync repair --server-content"))
        #expect(verify.result.errors.contains("restore the local files from a backup"))
        let repair = try await fixture.json("sync", "repair", "--server-content", "--yes")
        #expect(repair.result.exitCode == 0 && repair.states == ["skipped"], "\(repair.result.errors)")
        #expect(repair.items.first?["problem"] as? String == "uploaded_damaged")
        #expect(try await fixture.requests("DELETE", "/api/photos/") == 0)
        // The local file is damaged now, but was not when it was uploaded: only the server's file is known to be
        // intact.
        try Data(SmallPhoto.jpeg("photo a").dropLast(30)).write(to: URL(fileURLWithPath: "\(directory)/a.jpg"))
        #expect(try await fixture.json("sync", "verify", "--server-content").count("server_damaged") == 1)
    }

    /// One wrong byte in one transfer does not mean that the file is damaged.
    @Test func aDamagedTransferIsRepeatedBeforeItIsReported() async throws {
        let (fixture, directory) = try await SyncFixture.withPhotos("a.jpg")
        try Data(SmallPhoto.jpeg("photo a")).write(to: URL(fileURLWithPath: "\(directory)/a.jpg"))
        #expect(try await fixture.run("sync", "push", directory).exitCode == 0)
        try await fixture.sandbox.addFaults("photos-download:corrupt-byte,times=1")
        let verify = try await fixture.json("sync", "verify", "--server-content")
        #expect(verify.result.exitCode == 0 && verify.items.isEmpty, "\(verify.result.output)")
        #expect(try await fixture.requests("GET", "/api/photos/") == 2)
        try await fixture.sandbox.addFaults("photos-download:corrupt-byte,times=1")
        let repair = try await fixture.json("sync", "repair", "--server-content", "--yes")
        #expect(repair.result.exitCode == 0 && repair.states.isEmpty)
        try await fixture.sandbox.addFaults("photos-download:corrupt-byte")
        #expect(try await fixture.json("sync", "verify", "--server-content").count("server_damaged") == 1)
    }

    /// Between the plan and the repair, the file became one that cannot be verified: it may be intact.
    @Test func aFileThatCanNoLongerBeVerifiedIsNotReplaced() async throws {
        try await damage(fixture, ids[0], #"{"action":"truncate","bytes":300}"#)
        let child = try fixture.runner.start(
            ["sync", "repair", "--server-content"],
            streams: .terminal(columns: 200)
        )
        try await child.wait(for: "Repair them?")
        // Arithmetic coding (SOF9, ITU-T T.81 table B.1), which is not decoded.
        var unverifiable = SmallPhoto.jpeg("photo a")
        for index in unverifiable.indices.dropLast()
        where unverifiable[index] == 0xFF && (0xC0...0xC2).contains(unverifiable[index + 1]) {
            unverifiable[index + 1] = 0xC9
        }
        let content = Data(unverifiable).base64EncodedString()
        try await damage(fixture, ids[0], #"{"action":"replace","base64":"\#(content)"}"#)
        child.write("yes\n")
        let result = try await child.finish(deadline: .seconds(60))
        #expect(result.exitCode == 0 && result.output.contains("no longer damaged"), "\(result)")
        #expect(try await fixture.requests("DELETE", "/api/photos/") == 0)
        #expect(try await fixture.json("sync", "verify", "--server-content").count("server_unverified") == 1)
    }

    /// A file that could not be read is not known to be damaged: nothing is deleted.
    @Test(.enabled(if: SmallDisk.isAvailable, SmallDisk.requirement), arguments: [false, true])
    func aFullDiskPreventsRepairs(isFullLater: Bool) async throws {
        try await damage(fixture, ids[0], #"{"action":"truncate","bytes":300}"#)
        let disk = try SmallDisk(kibibytes: 256)
        let environment = ["XDG_CACHE_HOME": disk.path]
        let command = ["sync", "repair", "--server-content"]
        if isFullLater {
            let child = try fixture.runner.start(command, streams: .terminal(columns: 200), extra: environment)
            try await child.wait(for: "Repair them?")
            try disk.fill()
            child.write("yes\n")
            let result = try await child.finish(deadline: .seconds(60))
            #expect(result.exitCode == 12 && result.output.contains("no space left"), "\(result)")
        } else {
            try disk.fill()
            let result = try await fixture.runner.run(command + ["--yes"], extra: environment)
            #expect(result.exitCode == 12 && result.errors.contains("no space left"), "\(result)")
        }
        #expect(try await fixture.requests("DELETE", "/api/photos/") == 0)
    }

    /// Responses from a proxy: the state of the files is unknown, and nothing is deleted.
    @Test(arguments: ["status=403", "status=404", "html"], [false, true])
    func aProxyResponseIsNotADamagedFile(fault: String, readsContent: Bool) async throws {
        try await fixture.sandbox.addFaults("photos-download:\(fault)")
        let repair =
            readsContent
            ? try await fixture.json("sync", "repair", "--yes", "--server-content")
            : try await fixture.json("sync", "repair", "--yes")
        #expect(repair.result.exitCode != 0 && repair.result.exitCode != 3 && repair.states.isEmpty)
        let verify = try await fixture.json("sync", "verify", readsContent ? "--server-content" : "--server-files")
        #expect(verify.result.exitCode != 0 && verify.result.exitCode != 3 && verify.items.isEmpty)
        if fault == "html" { #expect(repair.result.exitCode == 7 && verify.result.exitCode == 7) }
        #expect(try await fixture.requests("DELETE", "/api/photos/") == 0)
    }

    /// A server that does not record owners refuses access to the uploaded file, and deletes it within the hour
    /// (contract 3.5).
    @Test func aRepairStopsAtTheOwnershipDefect() async throws {
        let fixture = try await SyncFixture.loggedIn(arguments: ["--photosync", "published"])
        let directory = try fixture.photos("a.jpg", "b.jpg")
        for name in ["a", "b"] {
            _ = try await fixture.sandbox.addPhotos(#"{\#(Self.alice),"content":"photo \#(name)"}"#)
            try Data("photo \(name)".utf8).write(to: URL(fileURLWithPath: "\(directory)/\(name).jpg"))
        }
        #expect(try await fixture.json("sync", "push", directory).states == ["present", "present"])
        for id in try await fixture.sandbox.photos().map(\.id) {
            try await damage(fixture, id, #"{"action":"remove"}"#)
        }
        let repair = try await fixture.json("sync", "repair", "--yes")
        #expect(repair.result.exitCode == 7 && repair.error["code"] as? String == "ownership_defect")
        #expect(repair.states == ["failed"])
        #expect(try await fixture.requests("DELETE", "/api/photos/") == 1)
        #expect(try await fixture.run("sync", "repair", "--yes").exitCode == 7)
        #expect(try await fixture.requests("DELETE", "/api/photos/") == 1)
    }

    /// Only one photo is missing on the server until uploads succeed again.
    @Test func aRepairStopsIfAPhotoCannotBeUploaded() async throws {
        for id in ids { try await damage(fixture, id, #"{"action":"empty"}"#) }
        try await fixture.sandbox.addFaults("photos-upload:status=503")
        let repair = try await fixture.json("sync", "repair", "--yes")
        #expect(repair.result.exitCode == 7 && repair.states == ["failed"], "\(repair.result)")
        #expect(repair.result.errors.contains("upload it with: mediactl sync repair, or mediactl sync push /"))
        #expect(try await fixture.requests("DELETE", "/api/photos/") == 1)
        try await fixture.sandbox.clearFaults()
        let second = try await fixture.json("sync", "repair", "--yes")
        #expect(second.result.exitCode == 0 && second.states == ["repaired", "repaired", "repaired"])
        #expect(try await fixture.requests("DELETE", "/api/photos/") == 3)
    }

    /// After an interrupted repair, another user has uploaded the same bytes, and the server refuses access to that
    /// file.
    @Test func aPhotoOfAnotherUserIsNotTheOwnershipDefect() async throws {
        let (fixture, directory) = try await SyncFixture.withPhotos("a.jpg", "b.jpg")
        #expect(try await fixture.json("sync", "push", "\(directory)/a.jpg").states == ["uploaded"])
        let id = try #require(try await fixture.sandbox.photos().first?.id)
        try await damage(fixture, id, #"{"action":"remove"}"#)
        try await fixture.sandbox.addFaults("photos-upload:status=500,times=1")
        #expect(try await fixture.json("sync", "repair", "--yes").states == ["failed"])
        _ = try await fixture.sandbox.addPhotos(#"{"user":"bob@example.test","content":"a photo called a.jpg"}"#)
        let repair = try await fixture.json("sync", "repair", "--yes")
        #expect(repair.result.exitCode == 10 && repair.states == ["failed"])
        let error = try #require(repair.items.first?["error"] as? [String: Any])
        #expect(error["code"] as? String == "not_owned")
        #expect(repair.items.first?["new_photo_id"] is NSNull)
        #expect(!repair.result.errors.contains("is no longer on the server"), "\(repair.result.errors)")
        #expect(try await fixture.json("sync", "push", "\(directory)/b.jpg").states == ["uploaded"])
    }

    /// A changed original does not qualify: the photo is listed, and nothing is deleted.
    @Test(arguments: [false, true]) func aChangedOriginalIsNotRepaired(isDryRun: Bool) async throws {
        try await damage(fixture, ids[0], #"{"action":"remove"}"#)
        let path = "\(directory)/a.jpg"
        try Data("edited".utf8).write(to: URL(fileURLWithPath: path))
        let mode = isDryRun ? "--dry-run" : "--yes"
        let repair = try await fixture.json("sync", "repair", mode)
        #expect(repair.result.exitCode == 5 && repair.states == ["no_original"])
        #expect(repair.items.first?["photo_id"] as? String == ids[0] && repair.items.first?["path"] as? String == path)
        let text = try await fixture.run("sync", "repair", mode)
        #expect(text.exitCode == 5)
        #expect(
            text.output
                == "no original a.jpg (server missing, ID \(ids[0])): \(path) was changed after its upload\n"
        )
        #expect(text.errors.contains("restore changed originals from a backup") && !text.errors.contains("error:"))
        #expect(text.errors.contains("mediactl sync push --changed \(path)\n"))
        #expect(try await fixture.requests("DELETE", "/api/photos/") == 0)
        // A file with a different date but the uploaded bytes qualifies.
        try Data(SmallPhoto.jpeg("photo a")).write(to: URL(fileURLWithPath: path))
        #expect(try await fixture.json("sync", "repair", "--yes").states == ["repaired"])
    }

    /// A downloaded copy of a photo that was repaired carries the old ID, and is a copy of the photo with the new ID.
    @Test func aReplacedPhotoIsNotDeleted() async throws {
        let original = "\(directory)/a.jpg"
        try FileManager.default.moveItem(atPath: original, toPath: original + ".away")
        let out = fixture.runner.home.file("out")
        #expect(try await fixture.json("sync", "download", ids[0], "--output", out).states == ["rewritten"])
        try FileManager.default.moveItem(atPath: original + ".away", toPath: original)
        try await damage(fixture, ids[0], #"{"action":"remove"}"#)
        #expect(try await fixture.json("sync", "repair", "--yes").states == ["repaired"])
        for _ in 1...2 {
            #expect(try await fixture.json("sync", "list", "--gone").items.isEmpty)
            for options in [["--dry-run"], []] {
                let run = try await fixture.runner.run(["sync", "push", directory, out, "--json"] + options)
                #expect(try SyncFixture.report(of: run).states == ["present", "present", "present", "present"])
            }
            #expect(try await fixture.run("sync", "--full").exitCode == 0)
        }
        #expect(try await fixture.requests("POST", "/api/photos/upload") == 4)
    }

    @Test func repairUploadsTheOriginalsAgain() async throws {
        try await damage(fixture, ids[0], #"{"action":"remove"}"#)
        try await damage(fixture, ids[1], #"{"action":"empty"}"#)
        try FileManager.default.removeItem(atPath: "\(directory)/b.jpg")
        let before = try await fixture.sandbox.photos()

        let plan = try await fixture.json("sync", "repair", "--dry-run")
        #expect(plan.states == ["no_original", "planned"])
        #expect(try await fixture.requests("DELETE", "/api/photos/") == 0)
        #expect(try await fixture.run("sync", "repair").exitCode == 2)

        let repair = try await fixture.json("sync", "repair", "--yes")
        #expect(repair.result.exitCode == 3)
        #expect(repair.states == ["no_original", "repaired"])
        #expect(try await fixture.requests("DELETE", "/api/photos/") == 1)
        let after = try await fixture.sandbox.photos()
        #expect(after.count == 3)
        let old = try #require(before.first { $0.id == ids[0] })
        let new = try #require(after.first { $0.originalFilename == "a.jpg" })
        #expect(new.id != old.id && new.fileHash == old.fileHash && new.dateTaken == old.dateTaken)
        #expect(new.device == old.device && new.user == old.user)

        // The index has the new photo in place of the old one, without a full listing.
        let list = try await fixture.json("sync", "list")
        #expect(Set(list.items.compactMap { $0["photo_id"] as? String }) == Set(after.map(\.id)))
        #expect(!repair.result.errors.contains("--full"))
        let status = try await fixture.json("sync", "status")
        #expect((status.last["index"] as? [String: Any])?["total"] as? Int == 3)
        let verify = try await fixture.json("sync", "verify", "--server")
        #expect(verify.count("server_missing") == 0 && verify.count("copy_orphaned") == 0)
        #expect(verify.count("not_on_server") == 0 && verify.count("not_indexed") == 0)
        // The repaired photo is in the index, and is not pushed again.
        let push = try await fixture.json("sync", "push", "\(directory)/a.jpg")
        #expect(push.states == ["present"])
        // A later deletion is reported as a deletion.
        try await fixture.sandbox.photoSync("DELETE", "photos/\(new.id)")
        _ = try await fixture.run("sync", "--full")
        #expect(try await fixture.json("sync", "push", directory).states.contains("deleted"))
    }

    /// Damage without a change of length; the hint of `verify` is the command that repairs it.
    @Test func repairReplacesDamagedContentOnRequest() async throws {
        try await damage(fixture, ids[0], #"{"action":"swap","with":"\#(ids[1])"}"#)
        let verify = try await fixture.run("sync", "verify", "--server-content")
        #expect(verify.exitCode == 3)
        let hint = "upload local originals again with: mediactl sync repair --server-content"
        #expect(verify.errors.contains(hint), "\(verify.errors)")

        // A check of the lengths alone finds nothing.
        let blind = try await fixture.json("sync", "repair", "--yes")
        #expect(blind.result.exitCode == 0 && blind.count("items") == 0)
        #expect(blind.result.errors.contains("a file of a plausible length for every photo"))
        let plan = try await fixture.json("sync", "repair", "--server-content", "--dry-run")
        #expect(plan.states == ["planned", "planned"])
        #expect(plan.items.allSatisfy { $0["problem"] as? String == "server_damaged" })
        #expect(try await fixture.requests("DELETE", "/api/photos/") == 0)

        let repair = try await fixture.json("sync", "repair", "--server-content", "--yes")
        #expect(repair.result.exitCode == 0 && repair.states == ["repaired", "repaired"], "\(repair.result.errors)")
        #expect(try await fixture.requests("DELETE", "/api/photos/") == 2)
        let after = try await fixture.json("sync", "verify", "--server-content")
        #expect(after.result.exitCode == 0 && after.count("photos") == 3)
        #expect(try await fixture.json("sync", "push", directory).states == ["present", "present", "present"])
    }

    @Test func theHintOfVerifyUsesTheSameChecks() async throws {
        try await damage(fixture, ids[0], #"{"action":"remove"}"#)
        let verify = try await fixture.run("sync", "verify", "--server")
        #expect(verify.errors.contains("upload local originals again with: mediactl sync repair\n"), "\(verify.errors)")
    }

    /// An earlier listing is unfinished: the state of the index is not known.
    @Test func repairReportsWhenTheIndexIsNotCurrent() async throws {
        try await damage(fixture, ids[0], #"{"action":"remove"}"#)
        // Interrupted: the listing is unfinished.
        try await fixture.sandbox.addFaults("photos-list:status=500,skip=1")
        try await fixture.sandbox.addPhotos(#"{"count":700,\#(Self.alice)}"#)
        _ = try await fixture.run("sync", "--full")
        try await fixture.sandbox.clearFaults()
        let repair = try await fixture.run("sync", "repair", "--yes")
        #expect(repair.errors.contains("update it with: mediactl sync --full"), "\(repair.errors)")
        #expect(try await fixture.run("sync", "--full").exitCode == 0)
    }

    /// Two of three files with the uploaded bytes have changed since.
    @Test func repairPrefersAnUnchangedOriginal() async throws {
        for name in ["0.jpg", "z.jpg"] {
            try FileManager.default.copyItem(atPath: "\(directory)/a.jpg", toPath: "\(directory)/\(name)")
        }
        try #require(try await fixture.run("sync", "push", directory).exitCode == 0)
        for name in ["0.jpg", "a.jpg"] {
            try Data(SmallPhoto.jpeg("edited")).write(to: URL(fileURLWithPath: "\(directory)/\(name)"))
        }
        try await damage(fixture, ids[0], #"{"action":"remove"}"#)
        let repair = try await fixture.json("sync", "repair", "--yes")
        #expect(repair.result.exitCode == 0 && repair.states == ["repaired"], "\(repair.result.errors)")
        #expect((repair.items.first?["path"] as? String)?.hasSuffix("/z.jpg") == true)
    }
}
