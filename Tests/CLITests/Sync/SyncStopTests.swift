import Foundation
import TestSupport
import Testing

/// Ctrl-C while the server does not respond: records of the documented shape, and one final record.
@Suite struct SyncStopTests {
    private struct Case: CustomTestStringConvertible, Sendable {
        var fault: String
        var command: [String]
        /// The output shortly before the stall.
        var sign: String

        var testDescription: String { "\(command.joined(separator: " ")) at \(fault)" }
    }

    private static let cases = [
        Case(
            fault: "photos-download:stall,after=response+5",
            command: ["sync", "download", "--missing", "--output", "out", "--progress-events"],
            sign: #""type":"progress""#
        ),
        Case(fault: "photos-list:stall", command: ["sync", "verify"], sign: #""type":"start""#),
        Case(fault: "photos-list:stall", command: ["sync", "pull"], sign: #""type":"start""#),
        Case(
            fault: "photos-claim:stall",
            command: ["claim-legacy", "--all", "--yes", "-v"],
            sign: "/api/sync/status: 200"
        ),
        Case(fault: "photos-status:stall", command: ["sync", "status", "-v"], sign: "trace: GET"),
    ]

    @Test(arguments: cases)
    private func interruptedCommandsEndWithOneRecord(stop: Case) async throws {
        let fixture = try await SyncFixture.loggedIn(arguments: ["--photosync-rewrite", "off"])
        try await fixture.sandbox.addPhotos(#"{"user":"alice@example.test","content":"a photo of some bytes"}"#)
        _ = try await fixture.run("sync")
        try await fixture.sandbox.addFaults(stop.fault)
        let target = stop.command.map { $0 == "out" ? fixture.runner.home.file("out") : $0 }
        let child = try fixture.runner.start(target + ["--json"])
        try await child.signal(SIGINT, after: stop.sign)
        // The report checks the records, and that one of them is the final one.
        let report = try SyncFixture.report(of: try await child.finish(deadline: .seconds(20)))
        #expect(report.result.exitCode == 130)
    }

    /// The trace shows a request only once it has ended, so the test waits for it at the server.
    @Test(arguments: [SIGINT, SIGTERM]) func aClaimStopsBeforeItsPlan(signal: Int32) async throws {
        let fixture = try await SyncFixture.loggedIn()
        try await fixture.sandbox.addFaults("photos-status:stall")
        let child = try fixture.runner.start(["claim-legacy", "--all", "--yes", "--json"])
        try await fixture.sandbox.waitForRequests { requests in
            requests.contains { $0.path.hasPrefix("/api/sync/status") && !$0.isOver }
        }
        child.signal(signal)
        let report = try SyncFixture.report(of: try await child.finish(deadline: .seconds(20)))
        #expect(report.result.exitCode == 128 + signal)
        #expect(try await fixture.requests("POST", "/api/sync/claim-legacy") == 0)
    }
}
