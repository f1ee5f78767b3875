import Foundation
import TestSupport
import Testing

@testable import MediaCLI

/// Ctrl-C during the upload of several files.
@Suite(.prompt) struct BatchInterruptionTests {
    @Test func interruptedBatchReportsWhatWasNotStarted() async throws {
        let fixture = try await BatchFixture(faults: ["upload:stall,after=1000,skip=1"])
        let files = try (0..<5).map { try fixture.file("\($0).mp4", byteCount: 24_000_000) }
        let report = fixture.runner.home.file("report.json")
        let child = try fixture.runner.start(
            ["upload"] + files + ["-j", "2", "--json", "--progress-events", "--report", report] + fixture.login
        )
        // The first upload to an event runs alone, and is stored; then two run in parallel. Any file may be the first.
        var started: Set<String> = []
        while started.count < 3 {
            let line = try #require(try await child.nextLine())
            if line.contains(#""phase":"connecting""#) { started.formUnion(files.filter(line.contains)) }
        }
        child.signal(SIGINT)
        let result = try await child.finish()
        #expect(result.exitCode == 130)
        let last = try #require(result.lines.last)
        try JSONSchemaTests.expectExactShape(last, schema: "upload")
        #expect(last.contains(#""cancelled":2"#) && last.contains(#""not_started":2"#))
        #expect(last.contains(#""signal":"SIGINT","exit_code":130"#))
        let items = try #require(try BatchFixture.report(report)["items"] as? [[String: Any]])
        #expect(items.count { $0["state"] as? String == "not_started" } == 2)
    }

    @Test func secondInterruptAbandonsTheBatch() async throws {
        let fixture = try await BatchFixture(faults: ["upload:delay-response=600"])
        let files = try (0..<2).map { try fixture.file("\($0).mp4") }
        let child = try fixture.runner.start(["upload"] + files + ["--json", "--progress-events"] + fixture.login)
        try await child.signal(SIGINT, after: #""phase":"processing""#)
        try await child.wait(for: "press Ctrl-C again to abandon it")
        try await child.repeatSignal(SIGINT)
        let result = try await child.finish()
        #expect(result.exitCode == 130)
        let last = try #require(result.lines.last)
        #expect(last.contains(#""type":"summary""#) || last.contains(#""type":"error""#))
    }
}
