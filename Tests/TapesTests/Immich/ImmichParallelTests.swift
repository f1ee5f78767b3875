import Foundation
import MediaStore
import TestSupport
import Testing

@testable import Tapes

/// Parallel uploads, and uploads that are temporarily rejected (contract 6.3, 6.4).
@Suite("parallel and postponed uploads to Immich")
struct ImmichParallelTests {
    private func clips(_ bench: ImmichBench, _ count: Int) throws -> [ClipRecord] {
        try (0..<count).map { try bench.clip("\($0).jpg", "content \($0)") }
    }

    // The server responds only when three uploads have arrived: sequential ones would time out.
    @Test("the number of parallel uploads is the number of jobs", arguments: [1, 3])
    func jobs(_ jobs: Int) async throws {
        let bench = try await ImmichBench(gather: jobs)
        let clips = try clips(bench, 7)
        let found = try await bench.library(jobs: jobs).resolveAssets(clips, mayUpload: true)
        let report = try await bench.report()
        #expect(report.mostUploads == jobs)
        let ids = Dictionary(uniqueKeysWithValues: report.assets.map { ($0.name, $0.id) })
        #expect(found.map(\.assetID) == (0..<7).map { ids["\($0).jpg"] })
    }

    @Test("each file is sent once, even if several clips and live photos have the same bytes")
    func once() async throws {
        let bench = try await ImmichBench()
        var live = try bench.clip("l.heic", "still", kind: .live)
        live.pairedSource = try bench.clip("l.mov", "video").source
        var other = try bench.clip("m.heic", "another still", kind: .live)
        other.pairedSource = live.pairedSource
        let clips = [
            try bench.clip("a.jpg", "same"), try bench.clip("b.jpg", "same"), live, other,
            try bench.clip("v.mov", "video", kind: .video),
        ]
        let found = try await bench.library(jobs: 4).resolveAssets(clips, mayUpload: true)
        let report = try await bench.report()
        #expect(report.requests.filter { $0.line == "POST /assets" }.count == 4)
        #expect(report.assets.map(\.name).sorted() == ["a.jpg", "l.heic", "l.mov", "m.heic"])
        let ids = Dictionary(uniqueKeysWithValues: report.assets.map { ($0.name, $0.id) })
        #expect(found.map(\.assetID) == ["a.jpg", "a.jpg", "l.heic", "m.heic", "l.mov"].map { ids[$0] })
        #expect(report.assets.filter { $0.name.hasSuffix(".heic") }.map(\.video) == [ids["l.mov"], ids["l.mov"]])
    }

    @Test("6.4: a revoked key stops the run: uploads in progress finish, and no others start")
    func revoked() async throws {
        let bench = try await ImmichBench(gather: 2)
        try await bench.server.add(faults: [
            "path": "/assets$", "status": 401, "drain": true, "times": 9, "body": #"{"message":"Invalid API key"}"#,
        ])
        let clips = try clips(bench, 6)
        let error = await albumError {
            _ = try await bench.library(jobs: 2).resolveAssets(clips, mayUpload: true)
        }
        #expect(error?.kind == .unauthorized)
        // Two in parallel, and one that may have started before the first refusal arrived.
        #expect(try await bench.report().requests.filter { $0.line == "POST /assets" }.count <= 3)
    }

    // MARK: 413

    @Test("6.4: a file that is too large is postponed; larger ones are not sent in this run, smaller ones are")
    func tooLarge() async throws {
        let bench = try await ImmichBench()
        // The response from nginx, whose limit is 1 MiB by default.
        try await bench.server.add(faults: [
            "path": "/assets$", "status": 413, "drain": true, "type": "text/html",
            "body": "<html><head><title>413 Request Entity Too Large</title></head></html>",
        ])
        let clips = [
            try bench.clip("a.jpg", "twelve bytes"), try bench.clip("b.jpg", "more than twelve bytes"),
            try bench.clip("c.jpg", "few bytes"),
        ]
        let library = try bench.library()
        let found = try await library.resolveAssets(clips, mayUpload: true)
        #expect(found[0].failure?.kind == .tooLarge(byteCount: 12))
        #expect(found[0].failure?.httpStatus == 413)
        #expect(found[1].failure?.kind == .tooLarge(byteCount: 12))
        #expect(found[2].assetID != nil)
        #expect(try await bench.report().requests.filter { $0.line == "POST /assets" }.count == 2)
        // The next run retries: the limit may have been raised.
        #expect(try await bench.library().resolveAssets(clips, mayUpload: true).allSatisfy { $0.assetID != nil })
    }

    @Test("6.4: a proxy that responds with 413 to the length, and disconnects")
    func hangingUp() async throws {
        let server = try ScriptedServer { connection, _ in
            while true {
                let head = try connection.readHead()
                if head.hasPrefix("POST /api/assets ") {
                    try connection.write(
                        "HTTP/1.1 413 Payload Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
                    )
                    return
                }
                try connection.readBody(ScriptedServer.Connection.contentLength(of: head))
                try connection.respond(200, ImmichUploadTests.response(to: head))
            }
        }
        let (library, clip, directory) = try ImmichUploadTests.setUp(server, length: 32 << 20)
        let found = try await library.resolveAssets([clip], mayUpload: true)
        #expect(found.map(\.failure?.kind) == [.tooLarge(byteCount: 32 << 20)])
        withExtendedLifetime(directory) {}
    }

    @Test(
        "6.4, R9: the clip stays pending with its reason, and is uploaded after the limit was raised",
        arguments: [2, 3]
    )
    func postponed(major: Int) async throws {
        let bench = try ImmichTapeTests.Bench(try await ImmichBench(major: major))
        try await bench.immich.server.add(faults: ["path": "/assets$", "status": 413, "drain": true, "body": ""])
        let tape = try bench.tape("Summer", ["twelve bytes"])
        let first = try await bench.service().associate(tape)
        #expect(first.state == .partly && first.reason == .tooLarge && first.refusedByteCount == 12)
        let clip = try #require(try bench.immich.store.clips(of: tape).first)
        #expect(clip.association == .pending && clip.reason == .tooLarge && clip.attempts == 1)
        #expect(clip.nextAttemptAt != nil)
        let second = try await bench.service().associate(tape, isRequested: true)
        #expect(second.state == .associated && second.refusedByteCount == nil)
        #expect(try await bench.immich.report().albums.map(\.assets.count) == [1])
    }

    @Test("6.1: a tape waits for a supported version")
    func unsupported() async throws {
        let bench = try ImmichTapeTests.Bench(try await ImmichBench(major: 2, version: [1, 144, 1]))
        let tape = try bench.tape("Summer", ["a"])
        let outcome = try await bench.service().associate(tape)
        #expect(outcome.state == .pending && outcome.reason == .unsupported)
        #expect(try await bench.service().status().reason == .unsupported)
        #expect(try await bench.immich.lines().isEmpty)
    }
}
