import Foundation
import TestSupport
import Testing

@testable import MediaCLI

/// Compares the files that a run reports as stored with the server's listing.
@Suite struct UploadVerifyTests {
    @Test func aBatchIsComparedWithTheListing() async throws {
        let fixture = try await BatchFixture()
        let files = try (0..<3).map { try fixture.file("\($0).mp4") }
        let report = fixture.runner.home.file("report.json")
        let result = try await fixture.upload(files + ["--json", "--report", report])
        #expect(result.exitCode == 0)
        let record = try #require(try result.records("verification").first)
        #expect(record["asked"] as? Bool == true && record["confirmed"] as? Int == 3)
        try result.expectShapes("upload")
        let items = try #require(try BatchFixture.report(report)["items"] as? [[String: Any]])
        #expect(items.allSatisfy { $0["verified"] as? Bool == true })
        #expect(result.errors.contains("3 of 3 files on the server, 3 verified by its listing"))
    }

    @Test func oneFileIsComparedOnlyOnRequest() async throws {
        let fixture = try await BatchFixture()
        let plain = try await fixture.upload([try fixture.file("a.mp4"), "--json"])
        #expect(try plain.records("verification").isEmpty)
        let requested = try await fixture.upload([try fixture.file("b.mp4"), "--json", "--verify"])
        #expect(try requested.records("verification").count == 1)
        let batch = try await fixture.upload([
            try fixture.file("c.mp4"), try fixture.file("d.mp4"), "--json", "--no-verify",
        ])
        #expect(try batch.records("verification").isEmpty)
    }

    @Test func anUnreadableListingIsAWarningAndNothingIsReportedAsVerified() async throws {
        let fixture = try await BatchFixture(faults: ["listing:status=500"])
        let files = try (0..<2).map { try fixture.file("\($0).mp4") }
        let report = fixture.runner.home.file("report.json")
        let result = try await fixture.upload(files + ["--report", report, "--retries", "0"])
        #expect(result.exitCode == 0)
        #expect(result.errors.contains("warning: cannot verify the files against the server's listing"))
        #expect(!result.errors.contains("verified by its listing"))
        let items = try #require(try BatchFixture.report(report)["items"] as? [[String: Any]])
        #expect(items.allSatisfy { $0["verified"] is NSNull })
    }

    /// Files that were not uploaded are neither listed nor missing.
    @Test func filesThatWereNotUploadedAreNotCompared() async throws {
        let fixture = try await BatchFixture()
        let report = fixture.runner.home.file("report.json")
        let files = [try fixture.file("a.mp4"), fixture.runner.home.file("none.mp4")]
        #expect(try await fixture.upload(files + ["--report", report]).exitCode == 3)
        let items = try #require(try BatchFixture.report(report)["items"] as? [[String: Any]])
        #expect(items.map { $0["verified"] as? Bool } == [true, nil])
        let result = try await fixture.runner.run(["uploads", "verify", "--report", report] + fixture.login)
        #expect(result.exitCode == 0 && result.output == "the server lists 1 of 1 upload in its event\n", "\(result)")
        #expect(result.errors.contains("warning: not checked: 1 file whose upload did not succeed\n"), "\(result)")
        let retry = "mediactl upload --retry-failed \(report) --server \(fixture.sandbox.baseURL)"
        #expect(result.errors.contains("hint: \(retry)"), "\(result)")
    }

    @Test func verifyReportsFilesLostByTheServer() async throws {
        let fixture = try await BatchFixture()
        let report = fixture.runner.home.file("report.json")
        let files = try (0..<3).map { try fixture.file("\($0).mp4") }
        _ = try await fixture.upload(files + ["--report", report])
        let good = try await fixture.runner.run(["uploads", "verify", "--json"] + fixture.login)
        #expect(good.exitCode == 0)
        try good.expectShapes("uploads-verify")
        // An administrator deletes one of the files.
        let items = try #require(try BatchFixture.report(report)["items"] as? [[String: Any]])
        let lost = try #require(items[1]["file_id"] as? Int)
        let deletion = try await ChildProcess.run(
            "curl",
            [
                "-sf", "-u", "admin:admin", "-H", "Content-Type: application/json", "-d",
                #"{"asset_ids":[\#(lost)],"file_ids":[\#(lost)]}"#,
                "\(fixture.sandbox.baseURL)/db/delete_media_files.php",
            ]
        )
        try #require(deletion.exitCode == 0)
        for arguments in [["uploads", "verify"], ["uploads", "verify", "--report", report]] {
            let result = try await fixture.runner.run(arguments + fixture.login)
            #expect(result.exitCode == 3)
            #expect(result.output.contains("the server lists 2 of 3 uploads in their events"))
            #expect(result.errors.contains("the server does not list \(lost) in its event"))
        }
    }

    /// A report specifies its server. Credentials in the environment apply only to MEDIACTL_SERVER.
    @Test func aReportIsVerifiedAtItsServer() async throws {
        let fixture = try await BatchFixture()
        let report = fixture.runner.home.file("report.json")
        _ = try await fixture.upload([try fixture.file("a.mp4"), "--report", report])
        var runner = fixture.runner
        runner.environment["MEDIACTL_SERVER"] = "http://127.0.0.1:9"
        let command = ["uploads", "verify", "--report", report]
        let refused = try await runner.run(command)
        #expect(refused.exitCode == 4)
        #expect(refused.errors.contains("no credentials for \(fixture.sandbox.baseURL)"))
        let hint = "mediactl: hint: mediactl uploads verify --report \(report) --server \(fixture.sandbox.baseURL)\n"
        #expect(refused.errors.contains(hint))
        runner.environment["NETRC"] = try fixture.netrc()
        let result = try await runner.run(command)
        #expect(result.exitCode == 0 && result.output == "the server lists 1 of 1 upload in its event\n")
        let other = try await runner.run(command + ["--server", "http://127.0.0.1:9"])
        #expect(other.exitCode == 2)
        #expect(other.errors.contains("hint: omit --server: mediactl uploads verify --report \(report)\n"))
    }
}
