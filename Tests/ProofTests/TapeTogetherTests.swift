import Foundation
import MediaStore
import TestSupport
import Testing

/// Several processes using one tape, and one library (tapes contract R2.3, 10).
@Suite struct TapeTogetherTests {
    @Test func concurrentAddsCreateOneAlbum() async throws {
        let bench = try TapeBench()
        let names = (0..<8).map { "\($0).jpg" }
        let paths = try names.map(bench.photo)
        let before = try bench.witness()
        try await bench.succeed("create", "together")
        let children = try paths.map { try bench.runner.start(["tapes", "add", "together", $0, "--json"]) }
        for child in children {
            child.closeInput()
            let result = try await child.finish()
            #expect(result.exitCode == 0, "\(result.output)\(result.errors)")
        }
        try bench.expectComplete("together", names, "8 processes")
        #expect(try bench.witness() == before)
    }

    @Test func processesThatCreateTheLibraryConcurrentlyCreateOne() async throws {
        let bench = try TapeBench()
        let paths = try (0..<6).map { try bench.photo("\($0).jpg") }
        for number in paths.indices { try await bench.succeed("create", "tape \(number)") }
        let children = try paths.enumerated().map { number, path in
            try bench.runner.start(["tapes", "add", "tape \(number)", path, "--json"])
        }
        for child in children {
            child.closeInput()
            let result = try await child.finish()
            #expect(result.exitCode == 0, "\(result.output)\(result.errors)")
        }
        for number in paths.indices { try bench.expectComplete("tape \(number)", ["\(number).jpg"], "tape \(number)") }
    }
}
