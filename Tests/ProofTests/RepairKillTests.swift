import Foundation
import TestSupport
import Testing

/// `kill -9` between the two requests of a repair: the original is the only copy then, and the next push must upload it.
@Suite struct RepairKillTests {
    @Test func anInterruptedRepairIsFinishedByPush() async throws {
        let bench = try await PhotoBench.loggedIn()
        try bench.addPictures("a.jpg")
        try await bench.succeed("sync", "push", bench.pictures)
        let photo = try #require(try await bench.sandbox.photos().first)
        try await bench.sandbox.photoSync("POST", "photos/\(photo.id)/file", #"{"action":"remove"}"#)
        try await bench.die(["sync", "repair", "--yes"], at: "repairDeleted", after: 0)
        #expect(try await bench.sandbox.photos().isEmpty)

        try await bench.succeed("sync", "--full")
        try await bench.succeed("sync", "push", bench.pictures)
        let photos = try await bench.sandbox.photos()
        #expect(photos.map(\.fileHash) == [photo.fileHash])
    }
}
