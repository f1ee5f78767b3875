import Foundation
import MediaStore
import MediaTransport
import TestSupport
import Testing

@testable import PhotoSync

/// A deletion on the server stays a deletion. The server keeps no record of it (photosync contract, new facts, 3),
/// so a later upload of the same bytes would be a new photo.
@Suite struct PushDeletionTests {
    let bench: PushBench
    let id: String

    /// Pushes `a.jpg` and `b.jpg`, and deletes the first on the server.
    init() async throws {
        let bench = try await PushBench()
        try bench.write("a.jpg")
        try bench.write("b.jpg")
        let id = try #require(await bench.push().item("a.jpg")?.photoID)
        try await bench.sandbox.photoSync("DELETE", "photos/\(id)")
        (self.bench, self.id) = (bench, id)
    }

    private func listAll(_ bench: PushBench) async throws {
        _ = try await Pull(bench.account, options: Pull.Options(isFull: true)).run()
    }

    @Test(arguments: [false, true]) func aDeletedPhotoIsNotUploadedAgain(isListedBefore: Bool) async throws {
        if isListedBefore { try await listAll(bench) }
        let again = await bench.push()
        #expect(again.states == ["a.jpg": .deleted, "b.jpg": .present])
        #expect(again.result?.counts == [.deleted: 1, .present: 1])
        #expect(again.item("a.jpg")?.photoID == id)
        #expect(try await bench.uploads.count == 2)
        let stored = try bench.account.library.deletions(ofPhotos: [id], server: bench.account.server)
        #expect(stored.map(\.state) == [.deleted])
    }

    @Test func aRenamedFileOfADeletedPhotoIsNotUploadedAgain() async throws {
        try FileManager.default.moveItem(atPath: bench.photos.file("a.jpg"), toPath: bench.photos.file("c.jpg"))
        #expect(await bench.push().states == ["c.jpg": .deleted, "b.jpg": .present])
    }

    /// Uploaded by another device, and deleted on the server: this machine only listed it.
    @Test func aPhotoKnownOnlyFromTheListingIsNotUploadedAgain() async throws {
        let bench = try await PushBench()
        let id = try #require(try await bench.sandbox.addPhotos(#"{"content":"by the phone"}"#).first)
        try await listAll(bench)
        try await bench.sandbox.photoSync("DELETE", "photos/\(id)")
        try await listAll(bench)
        try bench.write("a.jpg", "by the phone")
        #expect(await bench.push().states == ["a.jpg": .deleted])
    }

    /// The index can be lost: the library keeps the deletion, or, if no listing has found it before, the copy proves
    /// that the server had the photo.
    @Test(arguments: [true, false]) func aLostIndexKeepsTheDeletion(isListedBefore: Bool) async throws {
        if isListedBefore { try await listAll(bench) }
        try bench.account.index.forget(bench.account.server)
        #expect(await bench.push().states == ["a.jpg": .deleted, "b.jpg": .present])
    }

    /// A repair was interrupted before it deleted the photo; another device deletes it later. A repair that starts
    /// during the listing may delete a photo that was listed before.
    @Test(arguments: [-60, 60] as [TimeInterval])
    func aRepairThatDeletedNothingKeepsTheDeletion(began: TimeInterval) async throws {
        let bench = try await PushBench()
        try bench.write("a.jpg")
        let item = try #require(await bench.push().item("a.jpg"))
        let (id, server) = (try #require(item.photoID), bench.account.server)
        let expected = PhotoDeletion(
            server: server,
            photoID: id,
            sha256: try #require(item.sha256),
            state: .purged,
            foundAt: Date(timeIntervalSinceNow: began)
        )
        try bench.account.library.keep([expected])
        try await listAll(bench)
        let kept = try bench.account.library.deletions(ofPhotos: [id], server: server)
        #expect(kept.isEmpty == (began < 0))
        guard began < 0 else { return }
        try await bench.sandbox.photoSync("DELETE", "photos/\(id)")
        #expect(await bench.push().states == ["a.jpg": .deleted])
        #expect(try await bench.uploads.count == 1)
    }

    @Test func restoreUploadsDeletedPhotos() async throws {
        try await listAll(bench)
        let restored = await bench.pushWith { $0.restores = true }
        #expect(restored.states == ["a.jpg": .uploaded, "b.jpg": .present])
        let newID = try #require(restored.item("a.jpg")?.photoID)
        #expect(newID != id)
        #expect(await bench.push().states == ["a.jpg": .present, "b.jpg": .present])
        // If the photo is deleted again, it stays deleted.
        try await bench.sandbox.photoSync("DELETE", "photos/\(newID)")
        let last = await bench.push()
        #expect(last.item("a.jpg")?.state == .deleted && last.item("a.jpg")?.photoID == newID)
    }

    @Test func aDryRunPlansNoDeletedPhoto() async throws {
        #expect(await bench.push(dryRun: true).states == ["a.jpg": .deleted, "b.jpg": .present])
        let restored = await bench.pushWith(dryRun: true) { $0.restores = true }
        #expect(restored.states == ["a.jpg": .planned, "b.jpg": .present])
        #expect(try await bench.uploads.count == 2)
    }

    // MARK: Accepting

    private func forget(_ bench: PushBench, _ targets: String..., dryRun: Bool = false) async throws -> [String] {
        let acceptance = DeletionAcceptance(bench.account, hashes: bench.hashes)
        return try await acceptance.run(targets.map { Array($0.utf8) }, isDryRun: dryRun)
            .map { "\($0.state.rawValue) \($0.error?.code.rawValue ?? "")" }
    }

    @Test(arguments: ["path", "directory", "id"]) func anAcceptedDeletionIsNotCounted(target: String) async throws {
        try await listAll(bench)
        let path = bench.photos.file("a.jpg")
        let name = ["path": path, "directory": bench.photos.path, "id": id][target] ?? ""
        #expect(try await forget(bench, name, dryRun: true) == ["planned "])
        #expect(await bench.push().item("a.jpg")?.state == .deleted)
        #expect(try await forget(bench, name) == ["forgotten "])
        #expect(await bench.push().states == ["a.jpg": .forgotten, "b.jpg": .present])
        // Only a specified file is restored.
        #expect(await bench.pushWith { $0.restores = true }.item("a.jpg")?.state == .forgotten)
        #expect(await bench.pushWith([Array(path.utf8)]) { $0.restores = true }.states == ["a.jpg": .uploaded])
        #expect(FileManager.default.fileExists(atPath: path))
    }

    /// The file that was edited since its upload is found by its record.
    @Test(arguments: ["path", "directory"]) func theDeletionOfAnEditedPhotoIsAccepted(target: String) async throws {
        try await listAll(bench)
        let path = try bench.photos.write("a.jpg", "edited".utf8)
        #expect(try await forget(bench, target == "path" ? path : bench.photos.path) == ["forgotten "])
        #expect(try bench.account.acceptedDeletions([id]) == [id])
        #expect(await bench.push().item("a.jpg")?.state == .changed)
    }

    @Test func onlyDeletedPhotosAreForgotten() async throws {
        let refused = try await forget(bench, bench.photos.file("b.jpg"), "no-such-photo")
        #expect(refused == ["failed photo_not_deleted", "failed unknown_photo"])
    }

    @Test func verifyDoesNotReportAnAcceptedDeletion() async throws {
        try await listAll(bench)
        func orphans() async throws -> Int {
            let verification = Verification(bench.account, hashes: bench.hashes)
            return try await verification.run(onDifference: { _ in }).counts[.copyOrphaned] ?? 0
        }
        #expect(try await orphans() == 1)
        #expect(try await forget(bench, id) == ["forgotten "])
        #expect(try await orphans() == 0)
    }

    /// Another device uploads the same bytes again, as a new photo, which is deleted as well.
    @Test func aSecondDeletionOfTheSameBytesIsNotAccepted() async throws {
        let bench = try await PushBench()
        try bench.write("a.jpg", "deleted twice")
        let id = try #require(await bench.push().item("a.jpg")?.photoID)
        try await bench.sandbox.photoSync("DELETE", "photos/\(id)")
        try await listAll(bench)
        #expect(try await forget(bench, id) == ["forgotten "])
        #expect(try await verify(bench.account, bench).counts.isEmpty)
        let second = try #require(try await bench.sandbox.addPhotos(#"{"content":"deleted twice"}"#).first)
        try await listAll(bench)
        try await bench.sandbox.photoSync("DELETE", "photos/\(second)")
        #expect(try await verify(bench.account, bench).counts == [.copyOrphaned: 1])
        #expect(await bench.push().states == ["a.jpg": .deleted])
    }

    private func verify(_ account: SyncAccount, _ bench: PushBench) async throws -> VerificationResult {
        _ = try await Pull(account, options: Pull.Options(isFull: true)).run()
        return try await Verification(account, hashes: bench.hashes).run(onDifference: { _ in })
    }

    // MARK: The ownership defect

    /// Contract 3.5: such a server deletes photos by itself, so a deletion is not the user's decision.
    @Test(arguments: [false, true]) func afterTheDefectDeletedPhotosAreOfferedAgain(isFoundBefore: Bool) async throws {
        if isFoundBefore { try await listAll(bench) }
        try await OwnPhotos(bench.account).remember(isOwned: false)
        if !isFoundBefore { try await listAll(bench) }
        let stored = try bench.account.library.deletions(ofPhotos: [id], server: bench.account.server)
        #expect(stored.map(\.state) == [.purged])
        #expect(await bench.push(dryRun: true).item("a.jpg")?.state == .planned)
        #expect(await bench.push().states == ["a.jpg": .uploaded, "b.jpg": .present])
    }

    @Test func anAcceptedDeletionStaysAcceptedAfterTheDefect() async throws {
        try await listAll(bench)
        #expect(try await forget(bench, id) == ["forgotten "])
        try await OwnPhotos(bench.account).remember(isOwned: false)
        #expect(await bench.push().item("a.jpg")?.state == .forgotten)
    }
}
