import Foundation
import TestSupport
import Testing

/// Two instances of the built program in one data directory.
@Suite struct SyncTogetherTests {
    /// Runs this many instances of the same command concurrently.
    private func together(_ count: Int, _ command: [String], _ bench: PhotoBench) async throws -> [ChildResult] {
        let children = try (0..<count).map { _ in try bench.runner.start(command) }
        for child in children { child.closeInput() }
        var results: [ChildResult] = []
        for child in children { results.append(try await child.finish()) }
        return results
    }

    /// A process that finds another one running may report it.
    private func expectSensible(_ results: [ChildResult]) {
        #expect(results.contains { $0.exitCode == 0 })
        for result in results {
            let isBusy = result.exitCode == 10 && result.output.contains(#""code":"busy""#)
            #expect(result.exitCode == 0 || isBusy, "\(result.output) \(result.errors)")
        }
    }

    @Test func pulls() async throws {
        let bench = try await PhotoBench.loggedIn()
        try await bench.sandbox.addPhotos(#"{"count":1200}"#)
        for command in [["sync", "--json"], ["sync", "--full", "--json"]] {
            expectSensible(try await together(3, command, bench))
            let ids = try await bench.index()
            #expect(ids.count == 1200 && Set(ids).count == 1200)
            #expect(try await bench.verifiedCopies() == 0)
        }
        let status = try await bench.succeed("sync", "status", "--json")
        #expect(status.records.last?["unfinished"] as? Bool == false)
    }

    @Test func pushes() async throws {
        let bench = try await PhotoBench.loggedIn()
        for number in 0..<12 { try bench.picture("\(number).jpg", Array("photo number \(number)".utf8)) }
        let originals = try Tree(bench.pictures)
        let results = try await together(2, ["sync", "push", bench.pictures, "--json"], bench)
        expectSensible(results)
        for result in results where result.exitCode == 0 {
            #expect(result.states.count == 12 && Set(result.states).isSubset(of: ["uploaded", "present"]))
        }
        let photos = try await bench.sandbox.photos()
        #expect(photos.count == 12 && Set(photos.map(\.fileHash)).count == 12)
        #expect(try await bench.sandbox.requests().count { $0.path == "/api/photos/upload" } == 12)
        try await bench.succeed("sync")
        #expect(try await bench.verifiedCopies() == 12)
        #expect(try Tree(bench.pictures) == originals)
    }

    /// All photos have one name: two concurrent downloads must not become one file.
    @Test func downloads() async throws {
        let bench = try await PhotoBench.loggedIn()
        let bodies = (0..<8).map { String(repeating: "photo \($0) ", count: 30_000) }
        for body in bodies {
            try await bench.sandbox.addPhotos(
                #"{"content":"\#(body)","originalFilename":"IMG.jpg","dateTaken":"2024-03-05T10:20:30Z"}"#
            )
        }
        try await bench.succeed("sync")
        let command = ["sync", "download", "--missing", "--output", bench.target]
        let results = try await together(2, command + ["--json"], bench)
        for result in results {
            #expect([0, 3, 10].contains(result.exitCode), "\(result.output)")
            #expect(Set(result.states).isSubset(of: ["verified", "present", "failed"]), "\(result.output)")
        }
        // The next run downloads the photos that are still missing.
        let last = try await bench.runner.run(command + ["--json"])
        #expect(last.exitCode == 0 && last.states.allSatisfy { $0 == "verified" || $0 == "present" })
        let files = try Tree(bench.target).contents
        #expect(files.count == 8 && Set(files.values) == Set(bodies.map { Data($0.utf8) }), "\(files.keys)")
        #expect(try await bench.verifiedCopies() == 8)
        #expect(try bench.leftovers().isEmpty)
    }
}
