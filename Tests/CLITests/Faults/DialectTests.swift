import Foundation
import MediaStore
import TestSupport
import Testing

/// The three dialects of the protocol (gighive contract section 0), without any configuration.
@Suite struct DialectTests {
    static let dialects = ["d1", "d2", "d3"]

    /// The second deletion gets a 403 for its token.
    @Test(arguments: dialects)
    func uploadAndDeleteTwice(_ dialect: String) async throws {
        let sandbox = try await SandboxProcess.start(dialect: dialect)
        let fixture = try FaultFixture(sandbox.baseURL)
        try await fixture.upload(["--label", "One"]).expectSuccess("done")
        let entry = try #require(try fixture.tokens().first)
        #expect(try fixture.tokens().map(\.fileID) == [1])
        #expect(try sandbox.storedFiles().count == 1)
        try await fixture.delete(["1", "--yes"]).expectSuccess("deleted")
        #expect(try sandbox.storedFiles().isEmpty)
        #expect(try fixture.tokens().isEmpty)
        // The entry comes back, as from an older copy of the store.
        try FileManager.default.removeItem(atPath: fixture.dataDirectory)
        #expect(try !fixture.store().add([entry]).contains(.known))
        try await fixture.delete(["1", "--yes"]).expectSuccess("gone")
        #expect(try fixture.tokens().isEmpty)
    }

    /// An admin does not need an option: without a usable token, the file is compared and then deleted with admin
    /// rights. An uploader cannot delete a file this way.
    @Test(arguments: dialects, [[], ["--as-admin"]])
    func onlyAnAdminDeletesByTheListing(_ dialect: String, _ option: [String]) async throws {
        let sandbox = try await SandboxProcess.start(dialect: dialect)
        var fixture = try FaultFixture(sandbox.baseURL)
        try await fixture.upload().expectSuccess("done")
        let command = ["uploads", "delete", "1", "--yes", "--json", "--user"]
        let refused = FaultReport(try await fixture.runner.run(command + ["uploader", "--as-admin"]))
        refused.expect(ExpectedFault(4, "forbidden", "Expected JSON body", hint: "only the administrator can do this"))
        #expect(try fixture.tokens().count == 1)
        fixture.runner.environment["MEDIACTL_PASSWORD"] = "admin"
        FaultReport(try await fixture.runner.run(command + ["admin"] + option)).expectSuccess("deleted")
        #expect(try sandbox.storedFiles().isEmpty)
        #expect(try fixture.tokens().isEmpty)
    }

    /// The same bytes are uploaded from a machine without a record of them. For the same event, D2 and D3 refuse them,
    /// and D1 accepts them without a token. For a different event, D2 refuses them, and D1 and D3 accept them without a
    /// token (trap T15).
    @Test(arguments: [
        ("d1", "2026-03-01", "duplicate"), ("d2", "2026-03-01", "duplicate"), ("d3", "2026-03-01", "duplicate"),
        ("d1", "2026-03-02", "linked"), ("d2", "2026-03-02", "refused_duplicate"), ("d3", "2026-03-02", "linked"),
    ])
    func duplicateFromAnotherMachine(_ dialect: String, _ date: String, _ state: String) async throws {
        let sandbox = try await SandboxProcess.start(dialect: dialect)
        try await FaultFixture(sandbox.baseURL).upload(["--event-date", "2026-03-01"]).expectSuccess("done")
        let fixture = try FaultFixture(sandbox.baseURL)
        let report = try await fixture.upload(["--event-date", date])
        #expect(report.items.map(\.state) == [state])
        #expect(report.result.exitCode == (state == "refused_duplicate" ? 10 : 0))
        #expect(try report.item().fileId == 1)
        #expect(try report.item().hasDeleteToken == false)
        #expect(try report.item().deletableDuplicate == false)
        // "Uploaded, but no token" belongs to a 201, not to a 409.
        let isCreated = dialect == "d1" || state == "linked"
        #expect(report.result.errors.contains("no delete token was discovered") == isCreated)
        #expect(try fixture.tokens().isEmpty)
        #expect(try sandbox.storedFiles().count == 1)
    }

    /// The same bytes uploaded again from here can be deleted, regardless of the response.
    @Test(arguments: dialects, ["2026-03-01", "2026-03-02"])
    func duplicateFromHere(_ dialect: String, _ date: String) async throws {
        let sandbox = try await SandboxProcess.start(dialect: dialect)
        let fixture = try FaultFixture(sandbox.baseURL)
        try await fixture.upload(["--event-date", "2026-03-01"]).expectSuccess("done")
        let token = try fixture.tokens().map(\.token)
        let report = try await fixture.upload(["--event-date", date, "--force"])
        let isSameEvent = date == "2026-03-01"
        let state = isSameEvent ? "duplicate" : dialect == "d2" ? "refused_duplicate" : "linked"
        #expect(report.items.map(\.state) == [state])
        #expect(report.result.exitCode == (state == "refused_duplicate" ? 10 : 0))
        #expect(try report.item().fileId == 1)
        #expect(try report.item().hasDeleteToken == true)
        #expect(!report.result.errors.contains("no delete token was discovered"))
        #expect(try fixture.tokens().map(\.token) == token, "a missing token never overwrites a token")
        if state == "linked" {
            let message = "the last upload added 1, which the server already had, to another event"
            try await fixture.delete(["--last", "--yes"])
                .expect(ExpectedFault(11, "no_delete_token", message, hint: "mediactl uploads delete 1"))
        }
        try await fixture.delete(["1", "--yes"]).expectSuccess("deleted")
        #expect(try sandbox.storedFiles().isEmpty)
    }

    /// The loser of a race gets a 500 that reports the winner (trap T19).
    @Test(arguments: dialects)
    func duplicateEntry(_ dialect: String) async throws {
        let sandbox = try await SandboxProcess.start(dialect: dialect, faults: ["upload:1062"])
        let fixture = try FaultFixture(sandbox.baseURL)
        let report = try await fixture.upload(["--retries", "3"])
        report.expectSuccess("duplicate")
        #expect(try report.item().fileId == 1)
        #expect(try fixture.states() == [.duplicate])
        #expect(try await sandbox.posts() == 1)
    }

    @Test(arguments: dialects)
    func lostResponse(_ dialect: String) async throws {
        let sandbox = try await SandboxProcess.start(dialect: dialect, faults: ["upload:drop-response"])
        let fixture = try FaultFixture(sandbox.baseURL)
        let report = try await fixture.upload()
        report.expect(ExpectedFault(11, "token_lost", "on the server as 1"))
        #expect(try fixture.states() == [.tokenLost])
    }
}
