import Foundation
import MediaStore
import MediaTransport
import TestSupport
import Testing

@testable import PhotoSync

@Suite struct PushTests {
    let bench: PushBench

    init() async throws { bench = try await PushBench() }

    @Test func newPhotosAreUploadedOwnedAndRecorded() async throws {
        try bench.write("a.jpg", "first")
        try bench.write("sub/b.PNG", "second")
        try bench.write("notes.txt", "no photo")
        try bench.write("clip.mp4", "no photo")
        try bench.write("empty.jpg", "")
        let outcome = await bench.push()
        #expect(outcome.error == nil)
        #expect(
            outcome.states == [
                "a.jpg": .uploaded, "b.PNG": .uploaded, "notes.txt": .skipped, "clip.mp4": .skipped,
                "empty.jpg": .skipped,
            ]
        )
        #expect(outcome.result?.counts == [.uploaded: 2, .skipped: 3])
        #expect(outcome.item("notes.txt")?.error?.code == .unknownExtension)
        #expect(outcome.item("empty.jpg")?.error?.code == .emptyFile)
        let stored = try await bench.sandbox.photos()
        #expect(stored.map(\.user) == ["alice@example.test", "alice@example.test"])
        #expect(stored.map(\.device) == [bench.account.deviceID, bench.account.deviceID])
        // printf first | sha256sum
        #expect(stored.map(\.fileHash).contains("a7937b64b8caa58f03721bb6bacf5c78cb235febe0e70b1b84cd99541461a08e"))
        let copies = try bench.copies
        #expect(Set(copies.map(\.photoID)) == Set(stored.map(\.id)))
        #expect(copies.allSatisfy { $0.state == .present && $0.source == .pushed && $0.sha256 == $0.serverSHA256 })
        #expect(try await SyncReport.make(of: bench.account).ownership == .owned)
    }

    @Test func aSecondPushSendsNothing() async throws {
        for number in 0..<5 { try bench.write("\(number).jpg") }
        _ = await bench.push()
        let again = await bench.push()
        #expect(again.result?.counts == [.present: 5])
        #expect(again.result?.bytesSent == 0)
        #expect(try await bench.uploads.count == 5)
        #expect(Set(again.items.map(\.photoID)) == Set(try await bench.sandbox.photos().map(\.id)))
    }

    // MARK: Two pushes at once

    @Test func aSecondPushWaitsForTheFirst() async throws {
        try bench.write("a.jpg")
        let lock = try #require(try bench.account.index.lock(.push, of: bench.account.server))
        let owner = Noted<Int32?>(nil)
        let outcome = await bench.push(progress: { progress in
            guard let process = progress.waitsForProcess else { return }
            owner.change { $0 = process }
            lock.release()
        })
        #expect(owner.value == getpid())
        #expect(outcome.result?.counts == [.uploaded: 1])
    }

    @Test func aSecondPushReportsTheProcessOfTheFirst() async throws {
        try bench.write("a.jpg")
        let lock = try #require(try bench.account.index.lock(.push, of: bench.account.server))
        #expect(await bench.push(dryRun: true).states == ["a.jpg": .planned])
        let outcome = await bench.pushWith { $0.lockTimeout = .milliseconds(50) }
        #expect(outcome.error?.code == .busy && outcome.error?.isRetryable == true)
        #expect(outcome.error?.detail == "process \(getpid()) is uploading photos")
        #expect(outcome.states == ["a.jpg": .cancelled] && outcome.item("a.jpg")?.error?.code == .busy)
        #expect(try await bench.uploads.isEmpty)
        lock.release()
    }

    /// Two concurrent pushes would otherwise find the same photos missing, and both upload them.
    @Test func twoPushesUploadEachPhotoOnce() async throws {
        for number in 0..<6 { try bench.write("\(number).jpg") }
        async let first = bench.push()
        async let second = bench.push()
        let outcomes = await [first, second]
        #expect(outcomes.allSatisfy { $0.error == nil && $0.items.count == 6 })
        #expect(try await bench.uploads.count == 6)
    }

    /// Renamed and copied files are the same photos.
    @Test func equalBytesAreUploadedOnce() async throws {
        try bench.write("a.jpg", "same")
        try bench.write("b.jpg", "same")
        try bench.write("c/d.jpg", "same")
        let outcome = await bench.push()
        #expect(outcome.result?.counts == [.uploaded: 1, .duplicate: 2])
        #expect(try await bench.uploads.count == 1)
        #expect(Set(outcome.items.compactMap(\.photoID)).count == 1)
        #expect(try bench.copies.count == 3)
    }

    @Test func aFileSpecifiedTwiceIsOneFile() async throws {
        let path = try bench.write("a.jpg")
        let outcome = await bench.push([path, Array(bench.photos.path.utf8), path])
        #expect(outcome.items.map(\.state) == [.uploaded])
    }

    /// A specified file that cannot be uploaded is a failure; in a directory it is skipped.
    @Test func unsuitableFilesFailWhenSpecified() async throws {
        let text = try bench.write("notes.txt")
        let empty = try bench.write("empty.jpg", "")
        let large = try bench.write("large.jpg", "")
        try FileHandle(forWritingTo: URL(fileURLWithPath: bench.photos.file("large.jpg")))
            .truncate(atOffset: 50 << 20 + 1)
        let missing = Array(bench.photos.file("missing.jpg").utf8)
        let outcome = await bench.push([text, empty, large, missing])
        #expect(Set(outcome.items.map(\.state)) == [.failed])
        #expect(outcome.item("notes.txt")?.error?.code == .unknownExtension)
        #expect(outcome.item("empty.jpg")?.error?.code == .emptyFile)
        #expect(outcome.item("missing.jpg")?.error?.code == .fileNotFound)
        #expect(outcome.item("large.jpg")?.error?.code == .fileTooLarge)
        #expect(outcome.item("large.jpg")?.error?.limit == 52_428_800)
        #expect(try await bench.uploads.isEmpty)
    }

    /// Contract 3.2: exactly 50 MiB are accepted.
    @Test func theLargestPhotoIsAccepted() async throws {
        let path = try bench.write("large.jpg", Data(count: 52_428_800))
        let outcome = await bench.push([path])
        #expect(outcome.items.map(\.state) == [.uploaded])
        #expect(try await bench.sandbox.photos().first?.fileSize == 52_428_800)
    }

    /// Two new files with the same bytes, neither of them on the server: the plan and the run agree.
    @Test func aSecondFileWithTheSameBytesIsADuplicate() async throws {
        try bench.write("a.jpg", "new")
        try bench.write("b.jpg", "new")
        #expect(await bench.push(dryRun: true).states == ["a.jpg": .planned, "b.jpg": .duplicate])
        #expect(await bench.push().states == ["a.jpg": .uploaded, "b.jpg": .duplicate])
        #expect(await bench.push(dryRun: true).states == ["a.jpg": .present, "b.jpg": .present])
        #expect(await bench.push().states == ["a.jpg": .present, "b.jpg": .present])
    }

    @Test func aDryRunQueriesTheServerButUploadsNothing() async throws {
        try await bench.sandbox.addPhotos(#"{"content":"known","originalFilename":"known.jpg"}"#)
        try await bench.sandbox.addPhotos(#"{"content":"hers","user":"bob@example.test"}"#)
        try bench.write("new.jpg", "new")
        try bench.write("known.jpg", "known")
        try bench.write("hers.jpg", "hers")
        let outcome = await bench.push(dryRun: true)
        #expect(outcome.states == ["new.jpg": .planned, "known.jpg": .present, "hers.jpg": .foreign])
        #expect(outcome.item("new.jpg")?.takenAt != nil)
        let seen = try await bench.sandbox.requests().map(\.path)
        #expect(Set(seen.filter { $0.contains("photos") }) == ["/api/photos/check", "/api/sync/photos"])
        #expect(try await bench.sandbox.photos().count == 2)
        #expect(try bench.copies.isEmpty)
        // A request with the device would have updated it (contract section 4).
        #expect(try await bench.account.client.status(device: bench.account.deviceID).lastSyncAt == nil)
    }

    /// The photo is on the second page. That page is empty once, as it is when the cursor's photo was deleted:
    /// trusting it would assign the photo to another user.
    @Test func aDryRunTrustsOnlyACompleteListing() async throws {
        let bench = try await PushBench(faults: ["photos-list:expired-cursor,skip=1,times=1"])
        try await bench.sandbox.addPhotos(#"{"count":600}"#)
        try await bench.sandbox.addPhotos(#"{"content":"known","originalFilename":"known.jpg"}"#)
        try bench.write("known.jpg", "known")
        let outcome = await bench.push(dryRun: true)
        #expect(outcome.states == ["known.jpg": .present])
    }

    @Test func withoutADeviceNothingIsSent() async throws {
        try bench.write("a.jpg")
        let outcome = await bench.push(as: bench.account.with(deviceID: nil))
        #expect(outcome.error?.code == .noDevice)
        #expect(try await bench.uploads.isEmpty)
    }

    /// Trap 23: local files are only read.
    @Test func localFilesAreNeverModified() async throws {
        let path = try bench.write("a.jpg")
        let before = try FileManager.default.attributesOfItem(atPath: bench.photos.file("a.jpg"))
        _ = await bench.push([path])
        let after = try FileManager.default.attributesOfItem(atPath: bench.photos.file("a.jpg"))
        #expect(before[.modificationDate] as? Date == after[.modificationDate] as? Date)
        #expect(before[.systemFileNumber] as? UInt64 == after[.systemFileNumber] as? UInt64)
        #expect(try FileManager.default.contentsOfDirectory(atPath: bench.photos.path) == ["a.jpg"])
    }

    @Test func progressEndsWithEverythingDone() async throws {
        for number in 0..<4 { try bench.write("\(number).jpg", String(repeating: "x", count: 1_000 + number)) }
        let last = Noted(PushProgress())
        _ = await bench.push { progress in last.change { $0 = progress } }
        let progress = last.value
        #expect(progress.filesFound == 4)
        #expect(progress.filesHashed == 4)
        #expect(progress.bytesHashed == 4_006)
        #expect(progress.filesToSend == 4)
        #expect(progress.filesSent == 4)
        #expect(progress.bytesToSend == 4_006)
        #expect(progress.bytesSent >= 4_006)
    }
}
