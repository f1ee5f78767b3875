import Foundation
import MediaStore
import Synchronization
import TestSupport
import Testing

/// Connections that break or stall in the middle of an upload.
@Suite struct BrokenConnectionTests {
    /// The lengths of an upload's body: before the file, the file, and after it.
    private struct BodyShape {
        var header: Int
        let file = 26_182
        var footer: Int

        var total: Int { header + file + footer }

        /// The ends of the body and of the file, one byte on both sides of them, and the middle of the file.
        var boundaries: [Int] {
            [
                0, 1, header - 1, header, header + 1, header + file / 2, header + file - 1, header + file,
                header + file + 1, total - 1,
            ]
        }

        /// Reads one body with a separate server. Every boundary line has the same length, so another body with the
        /// same fields has the same shape.
        static func measured() async throws -> BodyShape {
            let shape = Mutex(BodyShape(header: 0, footer: 0))
            let site = try ScriptedSite { connection, head in
                let body = try connection.readBody(ScriptedServer.Connection.contentLength(of: head))
                let start = try #require(body.firstRange(of: Array("\0\0\0\u{18}ftypisom".utf8))).lowerBound
                shape.withLock {
                    $0.header = start
                    $0.footer = body.count - start - $0.file
                }
                try connection.respond(400, "{}")
            }
            _ = try await FaultFixture(site.address).upload()
            return shape.withLock { $0 }
        }
    }

    /// The first attempt is interrupted at each place; nothing is stored and no upload is reported as stored. The
    /// second attempt stores one file.
    @Test func resetAtEveryBoundary() async throws {
        let shape = try await BodyShape.measured()
        #expect(shape.header > 300 && shape.footer > 20)
        let sandbox = try await SandboxProcess.start()
        for (index, moment) in (shape.boundaries.map { "\($0)" } + ["body"]).enumerated() {
            var fixture = try FaultFixture(sandbox.baseURL)
            fixture.runner.environment["MEDIACTL_SETTLE_TIMEOUT"] = "0.1"
            try FaultFixture.writeMovie(to: fixture.file, byteCount: shape.file, seed: UInt8(index))
            try await sandbox.addFaults("upload:reset,after=\(moment),times=1")
            let cut = try await fixture.upload()
            cut.expect(ExpectedFault(6, "connection_lost", "the connection was lost", hint: "retry"))
            #expect(cut.failure?.retryable == true)
            #expect(try fixture.states() == [.failed])
            #expect(try fixture.tokens().isEmpty)
            #expect(try await sandbox.posts() == 2 * index + 1)
            #expect(try sandbox.storedFiles().count == index)

            let again = try await fixture.upload()
            again.expectSuccess("done")
            #expect(try fixture.states() == [.done, .failed])
            #expect(try fixture.tokens().count == 1)
            #expect(try sandbox.storedFiles().count == index + 1)
        }
    }

    /// A retry within the same run, where part of the body was missing or a query showed that nothing was stored.
    @Test(arguments: ["0", "1000", "body"])
    func resetIsResolvedByARetry(_ moment: String) async throws {
        let sandbox = try await SandboxProcess.start(faults: ["upload:reset,after=\(moment),times=1"])
        let fixture = try FaultFixture(sandbox.baseURL)
        let report = try await fixture.upload(["--retries", "1"])
        report.expectSuccess("done")
        #expect(try report.item().attempts == 2)
        #expect(try sandbox.storedFiles().count == 1)
        #expect(try fixture.tokens().count == 1)
        #expect(try fixture.states() == [.done])
    }

    /// After the body, the stall limit does not apply (trap T20), but the response timeout does.
    @Test(arguments: [
        ("0", ["--stall-timeout", "0.5s"], "--stall-timeout"),
        ("4000000", ["--stall-timeout", "0.5s"], "--stall-timeout"),
        ("body", ["--stall-timeout", "0.2s", "--response-timeout", "1s"], "--response-timeout"),
    ])
    func theConnectionStalls(_ moment: String, _ options: [String], _ hint: String) async throws {
        let sandbox = try await SandboxProcess.start(faults: ["upload:stall,after=\(moment)"])
        let fixture = try FaultFixture(sandbox.baseURL, byteCount: moment == "body" ? 26_182 : 24_000_000)
        let report = try await fixture.upload(options)
        report.expect(ExpectedFault(6, "network_timeout", "network timeout", hint: hint))
        #expect(try fixture.states() == [.failed])
        if moment != "body" { #expect(try report.item().bytesSent ?? .max < 24_000_000) }
        #expect(try sandbox.storedFiles().isEmpty)
        #expect(try await sandbox.posts() == 1)
    }

    /// The server is unavailable when queried: the outcome is unknown, and nothing is sent again until it is known.
    @Test func outcomeStaysUnknownUntilTheServerResponds() async throws {
        let sandbox = try await SandboxProcess.start(faults: [
            "upload:drop-response", "media:status=503", "listing:status=503",
        ])
        let fixture = try FaultFixture(sandbox.baseURL)
        let report = try await fixture.upload(["--retries", "1"])
        report.expect(
            ExpectedFault(6, "unknown_outcome", "whether the server has the file is unknown", hint: "uploads status")
        )
        #expect(try fixture.states() == [.unknownOutcome])
        let again = try await fixture.upload()
        again.expect(ExpectedFault(6, "unknown_outcome", "is unknown", hint: "uploads status"))
        #expect(try await sandbox.posts() == 1)
        #expect(try fixture.states() == [.unknownOutcome])

        try await sandbox.clearFaults()
        let status = FaultReport(try await fixture.runner.run(["uploads", "status", "--user", "uploader", "--json"]))
        #expect(status.result.exitCode == 11)
        #expect(status.items.map(\.state) == ["token_lost"])
        #expect(try fixture.states() == [.tokenLost])
        #expect(try await sandbox.posts() == 1)
    }
}
