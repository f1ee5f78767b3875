import Foundation
import TestSupport
import Testing

/// `kill -9` between the two requests of a repair: the original is the only copy then, and the next push or repair must
/// upload it.
@Suite struct RepairKillTests {
    @Test(arguments: ["push", "repair", "repair without a listing"])
    func anInterruptedRepairIsFinished(by command: String) async throws {
        let bench = try await PhotoBench.loggedIn()
        try bench.addPictures("a.jpg")
        try await bench.succeed("sync", "push", bench.pictures)
        let photo = try #require(try await bench.sandbox.photos().first)
        try await bench.sandbox.photoSync("POST", "photos/\(photo.id)/file", #"{"action":"remove"}"#)
        try await bench.die(["sync", "repair", "--yes"], at: "repairDeleted", after: 0)
        #expect(try await bench.sandbox.photos().isEmpty)

        if command != "repair without a listing" { try await bench.succeed("sync", "--full") }
        if command == "push" {
            try await bench.succeed("sync", "push", bench.pictures)
        } else {
            try await bench.succeed("sync", "repair", "--yes")
        }
        let photos = try await bench.sandbox.photos()
        #expect(photos.map(\.fileHash) == [photo.fileHash])
        #expect(photos.map(\.originalFilename) == ["a.jpg"])
        try await bench.succeed("sync", "repair", "--yes")
        #expect(try await bench.sandbox.photos().map(\.id) == photos.map(\.id))
        try await bench.succeed("sync", "verify")
    }
}
