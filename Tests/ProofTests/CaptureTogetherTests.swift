import Foundation
import MediaStore
import TestSupport
import Testing

/// All processes share a device's counter, and a clock may be wrong.
@Suite struct CaptureTogetherTests {
    @Test func twoProcessesShareACounter() async throws {
        let bench = try await CaptureBench.registered()
        let photos = try (0..<8).map { try bench.photo("\($0).jpg", seed: $0) }
        let children = try [photos[..<4], photos[4...]].map {
            try bench.runner.start(["hash-only", "send"] + $0 + ["--no-depth", "--json"])
        }
        for child in children {
            child.closeInput()
            let result = try await child.finish()
            #expect(result.exitCode == 0 && result.states == Array(repeating: "accepted", count: 4), "\(result.output)")
        }
        try await bench.expectAscendingCounters()
        let counters = try await bench.submissions().map(\.counter)
        #expect(counters.count == 8, "nothing was rejected and sent again")
        #expect(try await bench.sandbox.captures().map(\.mediaHash).sorted() == bench.sha256(photos).sorted())
        #expect(try bench.records().compactMap(\.counter).sorted() == counters)
        let file = try #require(try Tree(bench.dataPath + "/capture-counters").files.values.first)
        #expect(file.content == Data("\(try #require(counters.last))\n".utf8))
    }

    @Test(arguments: [600, -600]) func wrongClockIsCorrectedOnce(seconds: Int) async throws {
        let bench = try await CaptureBench.registered(arguments: ["--capture-clock=\(seconds)"])
        let photo = try bench.photo("a.jpg", seed: 1)
        let sent = try await bench.run(bench.sending(photo) + ["--captured-at", "2026-05-01T18:30:00Z"])
        #expect(sent.exitCode == 0 && sent.states == ["accepted"], "\(sent.output)")
        #expect(sent.errors.contains("clock"), "\(sent.errors)")
        let notices = sent.items.first?["notices"] as? [[String: String]]
        #expect(notices?.contains { $0["code"] == "clock_differs" } == true, "\(notices ?? [])")
        // A request rejected for its time was not parsed.
        #expect(try await bench.submissions().map(\.capturedAt) == ["2026-05-01T18:30:00Z"])
        let statuses = try await bench.sandbox.requests().filter { $0.path.hasSuffix("/hash-only") }.map(\.status)
        #expect(statuses == [401, 202])
        // The query is corrected as well.
        try await bench.succeed("verify", photo)
    }
}
