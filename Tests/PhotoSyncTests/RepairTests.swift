import Foundation
import MediaStore
import MediaTransport
import TestSupport
import Testing

@testable import PhotoSync

/// `SyncDamageTests` tests the command itself.
@Suite struct RepairTests {
    /// The digest may match the photo although the file no longer does.
    @Test func aFileThatChangesWhileItIsReadIsNotRepaired() async throws {
        let bench = try await PushBench()
        let path = try bench.write("a.jpg", "before")
        let id = try #require(await bench.push().item("a.jpg")?.photoID)
        var item = Repair.Item(
            photo: try #require(try bench.account.photosByID([id])[id]),
            problem: .serverMissing,
            state: .planned
        )
        item.path = path
        let plan = [item]
        var results: [Repair.Item] = []
        try await whileGrowing(bench.photos.file("a.jpg")) {
            _ = try await Repair(bench.account).run(plan) { results.append($0) }
        }
        #expect(results.map(\.state) == [.failed] && results.first?.error?.code == .sourceChanged)
        #expect(results.first?.isDeleted == false)
    }

    /// The server may have stored bytes that differ from those of the deleted photo.
    @Test func aFileThatChangesDuringItsUploadIsNotRepaired() async throws {
        let bench = try await PushBench()
        let path = try bench.write("a.jpg", "before")
        let id = try #require(await bench.push().item("a.jpg")?.photoID)
        let photo = try #require(try bench.account.photosByID([id])[id])
        var item = Repair.Item(photo: photo, problem: .serverMissing, state: .planned)
        (item.path, item.isDeleted) = (path, true)
        let count = try await bench.uploads.count
        try await bench.sandbox.addFaults("photos-upload:status=503")
        let plan = [item]
        let work = Task {
            let results = Noted<[Repair.Item]>([])
            let repair = Repair(bench.account, retry: RetryPolicy(retries: 100_000, base: .zero))
            _ = try await repair.run(plan) { item in results.change { $0.append(item) } }
            return results.value
        }
        while try await bench.uploads.count == count { await Task.yield() }
        let file = try FileHandle(forWritingTo: URL(fileURLWithPath: bench.photos.file("a.jpg")))
        try file.write(contentsOf: Data("after!".utf8))
        try file.close()
        try await bench.sandbox.clearFaults()
        let results = try await work.value
        #expect(results.map(\.state) == [.failed] && results.first?.error?.code == .sourceChanged)
        #expect(results.first?.isDeleted == true)
        #expect(try bench.copies.map(\.photoID) == [id])
    }
}
