import Foundation
import FoundationNetworking
import MediaStore
import MediaTransport
import TestSupport
import Testing

@testable import PhotoSync

/// The ownership of photos (photosync contract 3.5, traps 11, 12 and 23).
@Suite struct PushOwnershipTests {
    /// Contract 3.5: the published build does not record owners. Only one photo is lost.
    @Test func thePublishedBuildIsDetectedAfterOneUpload() async throws {
        let bench = try await PushBench("--photosync", "published")
        for number in 0..<6 { try bench.write("\(number).jpg") }
        let outcome = await bench.push()
        #expect(outcome.error?.code == .ownershipDefect)
        #expect(outcome.result == nil)
        let stored = try await bench.sandbox.photos()
        #expect(stored.count == 1)
        #expect(stored.first?.user == nil)
        #expect(try await bench.uploads.count == 1)
        #expect(outcome.error?.photoID == stored.first?.id)
        // Every file is reported, none as uploaded.
        #expect(outcome.items.count == 6)
        #expect(outcome.items.filter { $0.state == .unconfirmed }.map(\.photoID) == [stored.first?.id])
        #expect(outcome.items.filter { $0.state == .cancelled }.count == 5)
        #expect(try bench.copies.isEmpty)
        #expect(try await SyncReport.make(of: bench.account).ownership == .ownerless)
        #expect(try FileManager.default.contentsOfDirectory(atPath: bench.photos.path).count == 6)
    }

    /// Photos on such a server have no owner, and are never reported as backed up.
    @Test func photosOnThePublishedBuildAreForeign() async throws {
        let bench = try await PushBench("--photosync", "published")
        try bench.write("a.jpg", "only")
        _ = await bench.push()
        let again = await bench.push()
        #expect(again.states == ["a.jpg": .foreign])
        #expect(try await bench.uploads.count == 1)
    }

    /// `/check` reports the bytes of another user, and the index still has the deleted photo.
    @Test(arguments: [false, true]) func aDeletedPhotoThatAnotherUserHasIsForeign(isDryRun: Bool) async throws {
        let bench = try await PushBench()
        try bench.write("a.jpg", "ours")
        try bench.write("b.jpg")
        let id = try #require(await bench.push().item("a.jpg")?.photoID)
        try await bench.sandbox.photoSync("DELETE", "photos/\(id)")
        try await bench.sandbox.addPhotos(#"{"content":"ours","user":"bob@example.test"}"#)
        #expect(await bench.push(dryRun: isDryRun).states == ["a.jpg": .foreign, "b.jpg": .present])
    }

    /// An incremental listing never reports deletions (contract section 5), so the index alone does not prove that a
    /// photo is present.
    @Test(arguments: [false, true]) func aPhotoDeletedElsewhereIsNotReportedAsPresent(isDryRun: Bool) async throws {
        let bench = try await PushBench()
        try bench.write("a.jpg")
        try bench.write("b.jpg")
        let first = await bench.push()
        let id = try #require(first.item("a.jpg")?.photoID)
        try await bench.sandbox.photoSync("DELETE", "photos/\(id)")
        // The server's count is unchanged.
        try await bench.sandbox.addPhotos()
        let again = await bench.pushWith(dryRun: isDryRun) { $0.restores = true }
        #expect(again.states == ["a.jpg": isDryRun ? .planned : .uploaded, "b.jpg": .present])
        guard !isDryRun else { return }
        let newID = try #require(again.item("a.jpg")?.photoID)
        #expect(newID != id)
        #expect(try await bench.sandbox.photos().contains { $0.id == newID })
        #expect(await bench.push().item("a.jpg")?.photoID == newID)
    }

    /// A downloaded copy of a deleted photo is recognized even if the server had rewritten the file.
    @Test func aRewrittenCopyOfADeletedPhotoStaysDeleted() async throws {
        let bench = try await PushBench()
        let path = try bench.write("a.jpg", "as the server had rewritten it")
        let id = try #require(try await bench.sandbox.addPhotos(#"{"content":"as it was"}"#).first)
        _ = try await Pull(bench.account).run()
        let record = try #require(try bench.account.index.photos([id], of: bench.account.server).first)
        let sha256 = try digest(of: "as the server had rewritten it")
        try await bench.account.keepCopy(of: id, at: path, sha256: sha256, serverSHA256: record.sha256)
        #expect(await bench.push().states == ["a.jpg": .present])
        try await bench.sandbox.photoSync("DELETE", "photos/\(id)")
        #expect(await bench.push().states == ["a.jpg": .deleted])
        #expect(await bench.pushWith { $0.restores = true }.states == ["a.jpg": .uploaded])
    }

    /// Another device of the user uploads at the same moment, so the count grows although this upload has no owner.
    @Test func aCountIncreasedByAnotherDeviceProvesNothing() async throws {
        let bench = try await PushBench("--photosync", "published")
        try bench.write("a.jpg", "first")
        try bench.write("b.jpg", "second")
        let grown = Noted(false)
        let sandbox = bench.sandbox
        let outcome = await bench.push { progress in
            // Between the response to the upload and the check of the listing.
            guard progress.filesSent == 1, !grown.exchange(true) else { return }
            let done = DispatchSemaphore(value: 0)
            sandbox.addPhoto { done.signal() }
            done.wait()
        }
        #expect(outcome.error?.code == .ownershipDefect)
        #expect(try await bench.uploads.count == 2)
        #expect(outcome.states.values.allSatisfy { $0 == .unconfirmed })
    }

    /// Trap 11: `/check` and `isDuplicate` concern all users.
    @Test func anotherUsersPhotoIsForeign() async throws {
        let bench = try await PushBench()
        try await bench.sandbox.addPhotos(#"{"content":"hers","user":"bob@example.test"}"#)
        try await bench.sandbox.addPhotos(#"{"content":"nobodys","user":""}"#)
        try await bench.sandbox.addPhotos(#"{"content":"mine"}"#)
        try bench.write("hers.jpg", "hers")
        try bench.write("nobodys.jpg", "nobodys")
        try bench.write("mine.jpg", "mine")
        let outcome = await bench.push()
        #expect(outcome.states == ["hers.jpg": .foreign, "nobodys.jpg": .foreign, "mine.jpg": .present])
        #expect(outcome.item("hers.jpg")?.photoID == nil)
        #expect(try await bench.uploads.isEmpty)
        #expect(try bench.copies.map(\.path) == [Array(bench.photos.file("mine.jpg").utf8)])
    }

    /// Trap 11: if another user uploads the photo after the query to `/check`, only the response reports a duplicate.
    @Test func aDuplicateResponseIsVerified() async throws {
        let bench = try await PushBench()
        try await bench.sandbox.addPhotos(#"{"content":"hers","user":"bob@example.test"}"#)
        try await bench.sandbox.addPhotos(#"{"content":"mine"}"#)
        let hers = try bench.write("hers.jpg", "hers")
        let mine = try bench.write("mine.jpg", "mine")
        let outcome = try await bench.sendWithoutQuery([hers, mine])
        #expect(outcome.states == ["hers.jpg": .foreign, "mine.jpg": .present])
        #expect(try await bench.uploads.count == 2)
    }

    /// Trap 12: the server rewrites stored files, so the downloaded bytes differ from the uploaded ones.
    @Test func aRewrittenDownloadIsNotUploadedAgain() async throws {
        let bench = try await PushBench()
        let ids = try await bench.sandbox.addPhotos(#"{"content":"as uploaded"}"#)
        let path = try bench.write("download.jpg", "as rewritten")
        // printf 'as rewritten' | sha256sum; printf 'as uploaded' | sha256sum
        let own = PushOwnershipTests.rewritten
        try await bench.account.keepCopy(of: ids[0], at: path, sha256: own, serverSHA256: PushOwnershipTests.uploaded)
        try bench.write("elsewhere.jpg", "as rewritten")
        let outcome = await bench.push()
        #expect(outcome.states == ["download.jpg": .present, "elsewhere.jpg": .present])
        #expect(outcome.items.map(\.photoID) == [ids[0], ids[0]])
        #expect(try await bench.uploads.isEmpty)
    }

    /// Once the photo is deleted on the server, the rewritten file is uploaded on request, as a new photo.
    @Test func aRewrittenDownloadOfALostPhotoIsRestored() async throws {
        let bench = try await PushBench()
        let path = try bench.write("download.jpg", "as rewritten")
        let (own, uploaded) = (PushOwnershipTests.rewritten, PushOwnershipTests.uploaded)
        let lost = "11111111-0000-4000-8000-000000000000"
        try await bench.account.keepCopy(of: lost, at: path, sha256: own, serverSHA256: uploaded)
        #expect(await bench.push().states == ["download.jpg": .deleted])
        #expect(await bench.pushWith { $0.restores = true }.states == ["download.jpg": .uploaded])
        // The file is a copy of the new photo now, not of the old one.
        #expect(try bench.copies.map(\.photoID) == [try await bench.sandbox.photos()[0].id])
    }

    static let rewritten = "1fd6153305ebe98272e92ac3211e095b7ccaa069c467e7ff446fc3602c40c5e1"
    static let uploaded = "6551e0d5139c844dc1e75a232e23105bef6077b5a51d8a118b89b11ab2e31f70"
}

extension PushBench {
    /// Uploads files as if `/check` had reported them as missing.
    func sendWithoutQuery(_ paths: [[UInt8]]) async throws -> Outcome {
        let items = Noted<[PushItem]>([])
        let report = PushReport(onItem: { item in items.change { $0.append(item) } }, onProgress: nil)
        let run = PushRun(
            account: account,
            hashes: hashes,
            options: Push.Options(retry: Self.retryPolicy),
            control: TransferControl(),
            report: report
        )
        let digests = await TreeHashing(hashes: nil).digests(of: paths)
        let photos = try zip(paths, digests).map { path, digest in
            PhotoToSend(candidate: PushCandidate(path: path, isNamed: true), digest: try digest.get())
        }
        try await run.pull()
        try await run.send(photos)
        try await run.confirm([])
        return Outcome(items: items.value)
    }
}

extension SandboxProcess {
    /// Adds a photo of the first user without using a thread of Swift's pool, which the caller may be blocking.
    fileprivate func addPhoto(_ done: @escaping @Sendable () -> Void) {
        guard let url = URL(string: "\(baseURL)/__sandbox/photosync/photos") else { return }
        var request = URLRequest(url: url)
        request.httpMethod = "POST"
        request.httpBody = Data("{}".utf8)
        URLSession.shared.dataTask(with: request) { _, _, _ in done() }.resume()
    }
}
