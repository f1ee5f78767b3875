import Foundation
import MediaStore
import TestSupport
import Testing

/// The sandbox stores the file and then sends a malformed response. Values that could be read are saved; the rest is
/// determined by queries, never by sending again.
@Suite struct OddResponseTests {
    /// The file is stored, but the JSON of the response ends early, or the response is a 500 (traps T7 and T19), is
    /// lost, is too long (the connection is closed), or stalls (the stall limit applies again). The server is queried
    /// for the file, which is not sent again.
    @Test(arguments: [
        "upload:truncate=0", "upload:truncate=1", "upload:truncate=40", "upload:truncate=400",
        "upload:500-after-store", "upload:drop-response", "upload:whitespace=20000000",
        "upload:stall,after=response-headers",
    ])
    func aStoredFileIsFoundByAQuery(_ fault: String) async throws {
        let sandbox = try await SandboxProcess.start(faults: [fault])
        let fixture = try FaultFixture(sandbox.baseURL)
        let options = fault.contains("stall") ? ["--stall-timeout", "1s"] : ["--retries", "3"]
        let report = try await fixture.upload(fault.contains("truncate") ? [] : options)
        let message = "the file is on the server as 1, but its delete token is lost"
        report.expect(ExpectedFault(11, "token_lost", message, hint: "--as-admin"))
        #expect(try report.item().state == "token_lost")
        #expect(try report.item().fileId == 1)
        #expect(try fixture.states() == [.tokenLost])
        #expect(try fixture.tokens().isEmpty)
        #expect(try sandbox.storedFiles().count == 1)
        #expect(try await sandbox.posts() == 1)
    }

    /// The token is complete, so it is saved regardless of the form of the response.
    @Test(arguments: ["upload:wrong-length", "upload:wrong-types", "upload:html", "upload:whitespace=1048576"])
    func tokenIsSavedFromABrokenResponse(_ fault: String) async throws {
        let sandbox = try await SandboxProcess.start(faults: [fault])
        let fixture = try FaultFixture(sandbox.baseURL)
        let report = try await fixture.upload()
        report.expectSuccess("done")
        #expect(try report.item().fileId == 1)
        #expect(try report.item().hasDeleteToken == true)
        #expect(try fixture.states() == [.done])
        #expect(try fixture.tokens().map(\.fileID) == [1])
        #expect(try await sandbox.posts() == 1)
        try await sandbox.clearFaults()
        #expect(try await fixture.delete(["1", "--yes"]).result.exitCode == 0)
        #expect(try sandbox.storedFiles().isEmpty)
    }

    @Test func responseWithoutToken() async throws {
        let sandbox = try await SandboxProcess.start(faults: ["upload:no-token"])
        let fixture = try FaultFixture(sandbox.baseURL)
        let report = try await fixture.upload([
            "--event-date", "2026-03-01", "--org-name", "Tus", "--event-type", "wedding", "--label", "One",
        ])
        report.expectSuccess("done")
        let required =
            "File uploaded successfully, but no delete token was discovered. This upload can't be deleted from the "
            + "server via the app. Contact contactgighive@gmail.com to request a manual deletion. You will need to "
            + "submit the following information: event_date, org_name, event_type, label or file name."
        #expect(try report.item().warnings?.map(\.message) == [required])
        let lines = report.result.errors.split(separator: "\n").map(String.init)
        let expected = [
            "mediactl: warning: " + required, "  event_date: 2026-03-01", "  org_name: Tus", "  event_type: wedding",
            "  label: One",
            "  file name: clip.mp4",
        ]
        #expect(expected.allSatisfy(lines.contains))
        #expect(try report.item().hasDeleteToken == false)
        #expect(try fixture.tokens().isEmpty)
        #expect(try fixture.states() == [.done])
    }

    @Test func contactOfTheMessageIsASetting() async throws {
        let sandbox = try await SandboxProcess.start(faults: ["upload:no-token"])
        let fixture = try FaultFixture(sandbox.baseURL)
        let result = try await fixture.runner.run(
            ["upload", fixture.file] + fixture.login,
            extra: ["MEDIACTL_CONTACT": "ops@media.example"]
        )
        #expect(result.errors.contains("Contact ops@media.example to request a manual deletion."))
        #expect(result.errors.contains("  event_type: band\n"))
        #expect(!result.output.contains("to delete:"))
    }

    @Test(arguments: [("upload:odd-token", "odd_token"), ("upload:no-checksum", "not_verified")])
    func unusualSuccessIsAWarning(_ fault: String, _ warning: String) async throws {
        let sandbox = try await SandboxProcess.start(faults: [fault])
        let fixture = try FaultFixture(sandbox.baseURL)
        let report = try await fixture.upload()
        report.expectSuccess("done")
        #expect(try report.item().warnings?.map(\.code) == [warning])
        #expect(try fixture.tokens().count == 1)
        if warning == "odd_token" {
            #expect(report.result.errors.contains("mediactl: warning: the delete token has an unexpected format"))
            #expect(try fixture.tokens().map(\.token.secret) == ["not-a-token"])
        }
    }

    /// No command can store a token without an ID; the leftover is reported at every start.
    @Test func tokenWithoutAnIDIsKeptAndReported() async throws {
        let site = try ScriptedSite(respondingWith: 201, ScriptedSite.success.replacing("18", with: "7.5"))
        let fixture = try FaultFixture(site.address)
        let report = try await fixture.upload()
        report.expect(
            ExpectedFault(12, "token_not_stored", "contains a token but no ID", hint: "checksum to the operator")
        )
        #expect(try report.item().state == "finalized")
        #expect(report.failure?.hint?.contains("/rescue-") == true)
        #expect(report.failure?.hint?.contains("free some space") == false)
        let list = try await fixture.runner.run(["uploads", "list"])
        #expect(list.exitCode == 0)
        #expect(list.errors.contains("a delete token is stored in "), "\(list)")
    }

    @Test func invalidTokenIsReportedAndKept() async throws {
        let response = #"{"id":18,"file_type":"video","delete_token":"a\u001b[31m"}"#
        let site = try ScriptedSite(respondingWith: 201, response)
        let fixture = try FaultFixture(site.address)
        let report = try await fixture.upload()
        report.expect(ExpectedFault(12, "token_not_stored", "the server sent an invalid token", hint: "/rescue-"))
        #expect(try report.item().warnings?.map(\.code).contains("unusable_token") == true)
        #expect(try fixture.states() == [.done])
        #expect(try fixture.tokens().isEmpty)
    }

    @Test func damagedCopyIsReportedAndCanBeDeleted() async throws {
        let sandbox = try await SandboxProcess.start(faults: ["upload:corrupt"])
        let fixture = try FaultFixture(sandbox.baseURL)
        let report = try await fixture.upload()
        report.expect(
            ExpectedFault(8, "checksum_mismatch", "the server's copy differs", hint: "mediactl uploads delete 1")
        )
        #expect(try fixture.states() == [.failed])
        #expect(try fixture.tokens().map(\.fileID) == [1])
        #expect(try report.item().hasDeleteToken == true)
    }
}
