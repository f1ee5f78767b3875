import Foundation
import TestSupport
import Testing

/// `kill -9` at every failpoint of a sync, then the same command again: the result is that of an uninterrupted run.
@Suite struct SyncKillTests {
    // MARK: Pull

    /// The last two are reached once per run.
    private static let deathsOfPull = [
        ("betweenPageAndCommit", 0), ("betweenPageAndCommit", 1), ("afterPage", 0), ("afterPage", 1),
        ("beforeFinish", 0), ("afterFinish", 0),
    ]

    @Test func deadPull() async throws {
        let sandbox = try await SandboxProcess.start()
        // A minute apart, so that an incremental run requests only one page. A page has 500.
        try await sandbox.addPhotos(#"{"count":1200,"uploadedAt":"2025-01-01T00:00:00Z","step":60000000}"#)
        let undisturbed = try await PhotoBench.loggedIn(to: sandbox, as: "undisturbed")
        let expected = try await undisturbed.succeed("sync", "--json")
        #expect(expected.records.last?["pages"] as? Int == 3)

        let index = try await undisturbed.index()
        for (place, passes) in Self.deathsOfPull {
            let bench = try await PhotoBench.loggedIn(to: sandbox)
            let before = try await bench.pagesRequested
            try await bench.die(["sync"], at: place, after: passes)
            let again = try await bench.succeed("sync", "--json")
            // At most the page in progress, and the one that was requested ahead, are requested twice.
            let requested = try await bench.pagesRequested - before
            #expect((3...5).contains(requested), "\(place) \(passes): \(requested)")
            #expect(again.records.last?["complete"] as? Bool == true)
            let summary = { (result: ChildResult) in result.records.last?["index"] as? [String: Int] }
            #expect(summary(again) == summary(expected) && summary(again)?["total"] == 1200, "\(place) \(passes)")
            #expect(try await bench.index() == index, "\(place) \(passes)")
            #expect(try await bench.verifiedCopies() == 0)
            #expect(try bench.leftovers().isEmpty)
        }
    }

    // MARK: Push

    private func pushed(_ bench: PhotoBench) async throws -> [String] {
        let device = try bench.deviceID
        return try await bench.sandbox.photos().map { photo in
            "\(photo.fileHash) \(photo.fileSize) \(photo.originalFilename) \(photo.dateTaken) \(photo.user ?? "-") "
                + "\(photo.device == device)"
        }
        .sorted()
    }

    private func photographer() async throws -> PhotoBench {
        let bench = try await PhotoBench.loggedIn()
        try bench.addPictures("a.jpg", "b.jpg", "below/c.jpg")
        try bench.picture("d.jpg", PhotoBench.jpeg)
        return bench
    }

    @Test(arguments: [
        ("pushAfterHash", 0), ("pushAfterUpload", 0), ("pushAfterUpload", 2),
        ("pushBeforeRecord", 0), ("pushAfterRecord", 0),
    ])
    func deadPush(place: String, passes: Int) async throws {
        let undisturbed = try await photographer()
        try await undisturbed.succeed("sync", "push", undisturbed.pictures, "-j", "1")
        let bench = try await photographer()
        let originals = try Tree(bench.pictures)
        let command = ["sync", "push", bench.pictures, "-j", "1"]
        try await bench.die(command, at: place, after: passes)
        let again = try await bench.runner.run(command + ["--json"])
        #expect(again.exitCode == 0, "\(again.output)")
        #expect(Set(again.states).isSubset(of: ["uploaded", "present"]) && again.states.count == 4)

        #expect(try await pushed(bench) == (try await pushed(undisturbed)))
        // An interrupted one may be restarted; a complete one is not sent again.
        #expect((4...5).contains(try await bench.uploads))
        #expect(try Tree(bench.pictures) == originals)
        try await bench.succeed("sync")
        #expect(try await bench.index().count == 4)
        #expect(try await bench.verifiedCopies() == 4)
        #expect(try bench.leftovers().isEmpty)
        #expect(try await bench.runner.run(command + ["--json"]).states == Array(repeating: "present", count: 4))
    }

    // MARK: Download

    /// At the first photo, which is large, and at the last, which the server has rewritten.
    private static let deathsOfDownload = [
        ("downloadPlanned", 2), ("downloadMidBody", 10), ("downloadAfterBody", 0), ("downloadAfterBody", 3),
        ("downloadWritten", 3), ("downloadRenamed", 0), ("downloadRenamed", 3),
    ]

    @Test func deadDownload() async throws {
        let sandbox = try await SandboxProcess.start()
        // All of one month, and three with the same name, so that a name that was reserved and lost would be detected.
        let long = String(repeating: "a long photo ", count: 200_000)
        for content in [long, "short", "another"] {
            try await sandbox.addPhotos(
                #"{"content":"\#(content)","originalFilename":"IMG.jpg","dateTaken":"2024-03-05T10:20:30Z"}"#
            )
        }
        let phone = try await PhotoBench.loggedIn(to: sandbox, as: "phone")
        // Rewritten by the server.
        let stamped = try phone.picture("IMG_2.jpg", PhotoBench.jpeg)
        try await phone.succeed("sync", "push", stamped)
        try await sandbox.agePhotos()
        let undisturbed = try await PhotoBench.loggedIn(to: sandbox, as: "undisturbed")
        try await undisturbed.succeed("sync")
        try await undisturbed.succeed("sync", "download", "--missing", "-j", "1", "--to", undisturbed.target)

        let expected = try Tree(undisturbed.target)
        #expect(expected.files.count == 4)
        let copies = try await fetched(undisturbed)
        let index = try await undisturbed.index()
        for (place, passes) in Self.deathsOfDownload {
            let bench = try await PhotoBench.loggedIn(to: sandbox)
            try await bench.succeed("sync")
            let command = ["sync", "download", "--missing", "-j", "1", "--to", bench.target]
            try await bench.die(command, at: place, after: passes)
            for (name, content) in try Tree(bench.target).contents where !name.hasSuffix("mediactl-part") {
                #expect(expected.contents.values.contains(content), "\(name) is not whole")
            }
            let again = try await bench.runner.run(command + ["--json"])
            #expect(again.exitCode == 0, "\(place) \(passes): \(again.output)")
            #expect(Set(again.states).isSubset(of: ["verified", "rewritten"]))

            // Names, bytes, times and modes.
            #expect(try Tree(bench.target) == expected, "\(place) \(passes)")
            #expect(try await fetched(bench) == copies, "\(place) \(passes)")
            #expect(try await bench.index() == index)
            #expect(try await bench.verifiedCopies() == 4)
            #expect(try bench.leftovers().isEmpty)
        }
    }

    /// The library's data about the photos: a query by ID returns the local copy.
    private func fetched(_ bench: PhotoBench) async throws -> [String] {
        let ids = try await bench.sandbox.photos().map(\.id)
        let copies = try await bench.runner.run(["sync", "download", "--json", "--to", bench.target] + ids)
        #expect(copies.states == Array(repeating: "present", count: ids.count))
        return copies.items.map { item in
            let path = (item["path"] as? String ?? "-").dropFirst(bench.target.count)
            return "\(item["photo_id"] ?? "-") \(path) \(item["checksum_sha256"] ?? "-")"
        }
    }

    // MARK: Claim

    @Test(arguments: [("betweenClaims", 0, false), ("afterClaim", 0, false), ("afterClaim", 0, true)])
    func deadClaim(place: String, passes: Int, isForAll: Bool) async throws {
        let bench = try await PhotoBench.loggedIn()
        // A request has 500.
        let ids = try await bench.sandbox.addPhotos(#"{"count":700}"#)
        let file = bench.runner.home.file("ids")
        try ids.joined(separator: "\n").write(toFile: file, atomically: true, encoding: .utf8)
        let command = ["claim-legacy", "--yes"] + (isForAll ? ["--all"] : ["--ids-file", file])
        let before = try await bench.sandbox.photos()
        try await bench.die(command, at: place, after: passes)
        let again = try await bench.runner.run(command + ["--json"])
        #expect(again.exitCode == 0, "\(again.output)")
        #expect(again.records.last?["remaining"] as? Int == 0)

        let device = try #require(try bench.deviceID)
        let claimed = before.map { photo in
            var photo = photo
            photo.device = device
            return photo
        }
        #expect(try await bench.sandbox.photos() == claimed)
        #expect((1...3).contains(try await bench.requests("POST", "/api/sync/claim-legacy")))
        let pull = try await bench.succeed("sync", "--json")
        #expect((pull.records.last?["index"] as? [String: Int])?["this_device"] == 700)
        #expect(try await bench.verifiedCopies() == 0)
        #expect(try bench.leftovers().isEmpty)
    }
}
