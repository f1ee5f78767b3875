import Foundation
import MediaStore
import TestSupport
import Testing

/// Deletions that fail or seem to fail: a token is removed from the store only if its file is verified as deleted, or
/// if the user confirms it.
@Suite struct DeletionFaultTests {
    /// A server with one file uploaded from this machine.
    private struct Fixture: Sendable {
        let sandbox: SandboxProcess
        let client: FaultFixture

        init(faults: [String] = []) async throws {
            sandbox = try await SandboxProcess.start(faults: faults)
            client = try FaultFixture(sandbox.baseURL)
            try await client.upload(["--label", "One"]).expectSuccess("done")
        }

        /// Adds another entry for the ID, as happens when a server is rebuilt or a store is edited.
        func add(
            host: String? = nil,
            fileID: Int64 = 1,
            checksum: String,
            sizeBytes: Int64? = nil,
            at age: TimeInterval = 0
        ) throws {
            let real = try #require(try client.tokens().first)
            let entry = TokenEntry(
                host: host ?? real.host,
                fileID: fileID,
                token: try #require(DeleteToken(String(repeating: "cd", count: 32))),
                createdAt: real.createdAt.addingTimeInterval(age),
                eventDate: "2025-01-01",
                orgName: "Old",
                eventType: "band",
                label: "Other",
                fileName: "other.mp4",
                fileType: "video",
                checksumSHA256: checksum,
                sizeBytes: sizeBytes ?? real.sizeBytes,
                baseURL: host.map { "https://\($0)" } ?? real.baseURL
            )
            #expect(try !client.store().add([entry]).contains(.known))
        }

        func removeRealEntry() throws {
            let real = try #require(try client.tokens().last)
            try client.store().remove(real)
        }

        /// Checks that nothing was deleted, and that the file can still be deleted.
        func expectUntouched(posts: Int, sourceLocation: SourceLocation = #_sourceLocation) async throws {
            #expect(try sandbox.storedFiles().count == 1, sourceLocation: sourceLocation)
            #expect(try client.tokens().contains { $0.fileID == 1 }, sourceLocation: sourceLocation)
            // One of the requests is the upload.
            #expect(try await sandbox.posts() == posts + 1, sourceLocation: sourceLocation)
        }

        func expectDeleted(posts: Int, sourceLocation: SourceLocation = #_sourceLocation) async throws {
            #expect(try sandbox.storedFiles().isEmpty, sourceLocation: sourceLocation)
            #expect(try client.tokens().isEmpty, sourceLocation: sourceLocation)
            #expect(try await sandbox.posts() == posts + 1, sourceLocation: sourceLocation)
        }
    }

    private static let other = String(repeating: "0", count: 64)

    // MARK: The local entry

    /// The next deletion finds that the file is gone, and removes the entry.
    @Test(arguments: ["uploads", "media"])
    func anEntryThatStaysIsAnError(_ noun: String) async throws {
        let fixture = try await Fixture()
        let database = fixture.client.dataDirectory + "/tokens.sqlite"
        func change(_ sql: String) async throws {
            let script = "import sqlite3,sys; sqlite3.connect(sys.argv[1]).executescript(sys.argv[2])"
            let python = try await ChildProcess.run("python3", ["-c", script, database, sql])
            #expect(python.status == 0, "\(python.errors)")
        }
        try await change("CREATE TRIGGER no BEFORE DELETE ON tokens BEGIN SELECT RAISE(ABORT, 'no'); END")
        let user = noun == "media" ? "admin" : "uploader"
        func delete() async throws -> FaultReport {
            FaultReport(
                try await fixture.client.runner.run(
                    [noun, "delete", "1", "--yes", "--json", "--user", user],
                    extra: ["MEDIACTL_PASSWORD": user]
                )
            )
        }
        let report = try await delete()
        report.expect(ExpectedFault(12, "store_unusable", "the local entry of 1 was not removed: "))
        #expect(report.items.map(\.state) == ["deleted"])
        #expect(try fixture.sandbox.storedFiles().isEmpty)
        #expect(try fixture.client.tokens().count == 1)
        guard noun == "uploads" else { return }
        let again = try await fixture.client.runner.run(["uploads", "delete", "1", "--yes", "--user", user])
        #expect(again.exitCode == 12, "\(again.errors)")
        #expect(again.output.contains("was already deleted from") && !again.output.contains("removed the local entry"))
        try await change("DROP TRIGGER no")
        try await delete().expectSuccess("gone")
        #expect(try fixture.client.tokens().isEmpty)
    }

    // MARK: Rejected tokens

    @Test(arguments: [[], ["--on-invalid-token", "keep"]])
    func rejectedTokenIsKept(_ choice: [String]) async throws {
        let fixture = try await Fixture(faults: ["upload:odd-token"])
        let report = try await fixture.client.delete(["1", "--yes"] + choice)
        let hint = "--on-invalid-token remove"
        report.expect(ExpectedFault(11, "invalid_delete_token", "rejects the delete token of 1", hint: hint))
        #expect(report.failure?.httpStatus == 403)
        try await fixture.expectUntouched(posts: 1)
    }

    @Test func rejectedTokenIsRemovedOnRequest() async throws {
        let fixture = try await Fixture(faults: ["upload:odd-token"])
        let report = try await fixture.client.delete(["1", "--yes", "--on-invalid-token", "remove"])
        report.expectSuccess("entry_removed")
        #expect(try fixture.client.tokens().isEmpty)
        #expect(try fixture.sandbox.storedFiles().count == 1)
    }

    @Test(arguments: [("remove", 0, 0), ("keep", 11, 1), ("", 11, 1)] as [(String, Int32, Int)])
    func rejectedTokenPromptsForItsRemoval(_ response: String, _ exitCode: Int32, _ left: Int) async throws {
        let fixture = try await Fixture(faults: ["upload:odd-token"])
        let child = try fixture.client.runner.start(
            ["uploads", "delete", "1", "--yes", "--user", "uploader"],
            streams: .terminal(columns: 100)
        )
        try await child.respond(to: "Remove the local entry or keep it? [remove/keep] ", with: response + "\n")
        let result = try await child.finish()
        #expect(result.exitCode == exitCode)
        let removal = "removed the local entry of 1 \"One\"; the file is still on "
        let words = result.output.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        #expect(words.contains(removal) == (response == "remove"))
        #expect(try fixture.client.tokens().count == left)
        #expect(try fixture.sandbox.storedFiles().count == 1)
    }

    /// Only the application's own 404 proves that a file is deleted; an HTML page comes from a proxy or a wrong
    /// address.
    @Test(arguments: [403, 502])
    func htmlNotFoundDoesNotProveADeletion(_ status: Int) async throws {
        let site = try ScriptedSite(
            posts: { connection, head in
                try connection.readBody(of: head)
                let isUpload = head.hasPrefix("POST /api/uploads.php ")
                let rejection = #"{"success":false,"error":"Forbidden","message":"Invalid delete token"}"#
                try connection.respond(isUpload ? 201 : status, isUpload ? ScriptedSite.success : rejection)
            },
            queries: { connection, _ in
                try connection.respond(404, ScriptedSite.page("404 Not Found"), type: "text/html")
            }
        )
        let client = try FaultFixture(site.address)
        #expect(try await client.upload().result.exitCode == 0)
        let report = try await client.delete(["18", "--yes", "--on-invalid-token", "remove"])
        #expect([5, 6].contains(report.result.exitCode))
        #expect(report.items.map(\.state) == ["failed"])
        #expect(try client.tokens().map(\.fileID) == [18])
        #expect(site.posts == 2)
    }

    @Test func htmlInsteadOfTheAssetDoesNotProveADeletion() async throws {
        let fixture = try await Fixture(faults: ["upload:odd-token", "asset:status=502"])
        let report = try await fixture.client.delete(["1", "--yes", "--on-invalid-token", "remove"])
        report.expect(ExpectedFault(7, "server_error", "(502)"))
        try await fixture.expectUntouched(posts: 1)
    }

    // MARK: Lost and malformed responses

    @Test(arguments: ["delete:drop-response", "delete:truncate=5", "delete:stall,after=response-headers"])
    func lostResponseOfADeletionIsResolved(_ fault: String) async throws {
        let fixture = try await Fixture(faults: [fault])
        let report = try await fixture.client.delete(["1", "--yes", "--stall-timeout", "1s"])
        report.expectSuccess("deleted")
        try await fixture.expectDeleted(posts: 1)
    }

    @Test(arguments: [
        ("delete:status=500", ExpectedFault(7, "server_error", "the server failed (500)")),
        ("delete:status=503", ExpectedFault(7, "server_unavailable", "server unavailable (503)")),
        ("delete:status=429,retry-after=9", ExpectedFault(6, "rate_limited", "rate limited", hint: "in 9 s")),
        ("delete:status=423", ExpectedFault(10, "locked", "locked on the server (423)")),
        ("delete:status=403", ExpectedFault(4, "forbidden", "does not allow this (403)", hint: "uploader or admin")),
        ("delete:status=404", ExpectedFault(5, "not_found", "(404)", hint: "check --server")),
    ])
    func deletionThatDidNotHappen(_ text: String, _ fault: ExpectedFault) async throws {
        let fixture = try await Fixture(faults: [text])
        let report = try await fixture.client.delete(["1", "--yes", "--response-timeout", "1s"])
        report.expect(fault)
        #expect(try report.item().state == "failed")
        try await fixture.expectUntouched(posts: 1)
    }

    /// The file is still there, but the server may still be deleting it.
    @Test(arguments: ["delete:reset,after=body", "delete:stall,after=body"])
    func deletionWithoutAResponseIsUnknown(_ text: String) async throws {
        let fixture = try await Fixture(faults: [text])
        let report = try await fixture.client.delete(["1", "--yes", "--response-timeout", "1s"])
        let message = "whether the server has deleted 1 is unknown"
        report.expect(ExpectedFault(6, "unknown_outcome", message, hint: "run the same command again"))
        #expect(try report.item().state == "failed")
        try await fixture.expectUntouched(posts: 1)
    }

    @Test(arguments: [("drop-response", ""), ("status-after=500", " (500)")])
    func noUsefulResponseAndNoQuery(_ fault: String, _ status: String) async throws {
        let fixture = try await Fixture(faults: ["delete:\(fault)", "asset:status=503"])
        let report = try await fixture.client.delete(["1", "--yes"])
        let message = "whether the server has deleted 1 is unknown\(status): "
        report.expect(ExpectedFault(6, "unknown_outcome", message, hint: "run the same command again"))
        #expect(try fixture.client.tokens().count == 1, "kept until its status is known")
        try await fixture.sandbox.clearFaults()
        try await fixture.client.delete(["1", "--yes"]).expectSuccess("gone")
        #expect(try fixture.client.tokens().isEmpty)
    }

    @Test func wrongPassword() async throws {
        let fixture = try await Fixture()
        let report = try await fixture.client.delete(["1", "--yes"], extra: ["MEDIACTL_PASSWORD": "canary"])
        report.expect(ExpectedFault(4, "unauthorized", "wrong user name or password", hint: "--user"))
        try await fixture.expectUntouched(posts: 1)
    }

    // MARK: Other files

    @Test func alreadyGone() async throws {
        let fixture = try await Fixture()
        let other = try FaultFixture(fixture.sandbox.baseURL)
        try makeDirectory(other.runner.home.file("data"))
        try FileManager.default.copyItem(atPath: fixture.client.dataDirectory, toPath: other.dataDirectory)
        try await other.delete(["1", "--yes"]).expectSuccess("deleted")
        let report = try await fixture.client.delete(["1", "--yes"])
        report.expectSuccess("gone")
        try await fixture.expectDeleted(posts: 2)
    }

    /// The checksum of the entry, whether an administrator deletes the file, and the failure.
    @Test(arguments: [
        (
            other, false,
            ExpectedFault(11, "id_reused", "has a different file with the ID 1", hint: "mediactl media show 1")
        ),
        (other, true, ExpectedFault(11, "id_reused", "nothing was deleted")),
        ("", true, ExpectedFault(1, "admin_unverified", "still the same file", hint: "mediactl media show 1")),
    ])
    func idOfAnotherFile(_ checksum: String, _ isAdmin: Bool, _ fault: ExpectedFault) async throws {
        let fixture = try await Fixture()
        try fixture.add(checksum: checksum, at: 60)
        try fixture.removeRealEntry()
        let report =
            isAdmin
            ? try await fixture.client.deleteAsAdmin(["1", "--yes"]) : try await fixture.client.delete(["1", "--yes"])
        report.expect(fault)
        try await fixture.expectUntouched(posts: isAdmin ? 0 : 1)
    }

    @Test(arguments: [[], ["--dry-run"], ["--as-admin"]])
    func aWrongChecksumIsAUsageError(_ more: [String]) async throws {
        let fixture = try await Fixture()
        let checksum = try #require(try fixture.client.tokens().first?.checksumSHA256)
        let report = try await fixture.client.delete(["1", "--yes", "--sha256", Self.other] + more)
        report.expect(
            ExpectedFault(2, "usage", "1 has a different checksum: \(checksum)", hint: "mediactl uploads show 1")
        )
        try await fixture.expectUntouched(posts: 0)
    }

    /// Two rows for one ID: the server's checksum selects the row, not the time.
    @Test func rowThatMatchesTheServerIsUsed() async throws {
        let fixture = try await Fixture()
        try fixture.add(checksum: Self.other, at: 60)
        let report = try await fixture.client.delete(["1", "--yes"])
        report.expectSuccess("deleted")
        #expect(try fixture.sandbox.storedFiles().isEmpty)
        #expect(try fixture.client.tokens().map(\.label) == ["Other"])
    }

    @Test(arguments: [[], ["--as-admin"]]) func anIDOfSeveralHostsRequiresAServer(_ options: [String]) async throws {
        let fixture = try await Fixture()
        try fixture.add(host: "other.example", checksum: Self.other)
        let report = try await fixture.client.delete(["1", "--yes"] + options, extra: ["MEDIACTL_SERVER": ""])
        let command = (["mediactl uploads delete 1"] + options + ["--server"]).joined(separator: " ")
        report.expect(ExpectedFault(2, "usage", "several servers have a file 1", hint: command))
        try await fixture.expectUntouched(posts: 0)
    }

    @Test func idOfAnotherHost() async throws {
        let fixture = try await Fixture()
        let site = try ScriptedSite()
        let report = try await fixture.client.delete(["1", "--yes", "--server", site.address])
        let message = "1 on \(fixture.sandbox.scope) is a different file"
        report.expect(ExpectedFault(11, "no_delete_token", message, hint: "mediactl uploads list"))
        #expect(!report.result.errors.contains("uploads delete"))
        #expect(site.posts == 0)
        try await fixture.expectUntouched(posts: 0)
    }

    /// A token is sent only to the server that issued it: neither `--server` nor admin rights cause it to be sent to a
    /// different one.
    @Test(arguments: [["1"], ["1", "--as-admin"], ["--last"]])
    func aTokenIsNotSentToAnotherServer(_ arguments: [String]) async throws {
        let fixture = try await Fixture()
        let other = try await SandboxProcess.start()
        // The other server has a file with the same ID.
        try await FaultFixture(other.baseURL).upload().expectSuccess("done")
        let before = try await other.requests().count
        let report = try await fixture.client.delete(
            arguments + ["--yes", "--host", fixture.sandbox.scope, "--server", other.baseURL]
        )
        report.expect(
            ExpectedFault(
                2,
                "usage",
                "--host \(fixture.sandbox.scope) and --server \(other.baseURL) are different servers"
            )
        )
        #expect(try await other.requests().count == before)
        try await fixture.expectUntouched(posts: 0)
    }

    @Test func theHostOfTheServerMayBeSpecified() async throws {
        let fixture = try await Fixture()
        try await fixture.client.delete([
            "1", "--yes", "--host", fixture.sandbox.scope, "--server", fixture.sandbox.baseURL,
        ])
        .expectSuccess("deleted")
    }

    @Test func idWithoutToken() async throws {
        let fixture = try await Fixture()
        let report = try await fixture.client.delete(["7", "--yes", "--server", fixture.sandbox.baseURL])
        let hint = "mediactl uploads delete 7 --as-admin"
        report.expect(ExpectedFault(11, "no_delete_token", "no stored delete token for 7", hint: hint))
        try await fixture.expectUntouched(posts: 0)
    }

    /// A file that was deleted earlier does not require an administrator.
    @Test func aFileThatWasDeletedEarlier() async throws {
        let fixture = try await Fixture()
        try await fixture.client.delete(["1", "--yes", "--server", fixture.sandbox.baseURL]).expectSuccess("deleted")
        let expected = ExpectedFault(
            11,
            "no_delete_token",
            "no stored delete token for 1: its entry on \(fixture.sandbox.scope) was removed",
            hint: "mediactl media show 1"
        )
        for line in [["--server", fixture.sandbox.baseURL], ["--host", fixture.sandbox.scope], ["--dry-run"], []] {
            try await fixture.client.delete(["1", "--yes"] + line).expect(expected)
        }
        let shown = try await fixture.client.runner.run(["uploads", "show", "1"])
        #expect(shown.exitCode == 11 && shown.errors.contains("was removed, for example by a deletion"), "\(shown)")
        #expect(!shown.errors.contains("--as-admin"))
    }

    /// An entry from a copied response, from a server that does not report sizes.
    @Test func adminAndAnEntryWithoutASize() async throws {
        let fixture = try await Fixture()
        let entry = try #require(try fixture.client.tokens().first)
        try fixture.add(checksum: entry.checksumSHA256, sizeBytes: 0, at: 60)
        try await fixture.client.deleteAsAdmin(["1", "--yes"]).expectSuccess("deleted")
    }

    // MARK: Admin

    /// Admin deletions do not need a token: a token that the server would reject does not prevent the deletion.
    @Test func adminDeletesWhatIsVerified() async throws {
        let fixture = try await Fixture(faults: ["upload:odd-token"])
        let report = try await fixture.client.deleteAsAdmin(["1", "--yes"])
        report.expectSuccess("deleted")
        try await fixture.expectDeleted(posts: 1)
    }

    // MARK: Prompts and queries

    @Test func lastUploadOnly() async throws {
        let fixture = try await Fixture()
        let second = try fixture.client.movie("second.mp4")
        try await fixture.client.upload(path: second).expectSuccess("done")
        let report = try await fixture.client.delete(["--last", "--yes"])
        report.expectSuccess("deleted")
        #expect(try report.item().fileId == 2)
        #expect(try fixture.client.tokens().map(\.fileID) == [1])
        #expect(try fixture.sandbox.storedFiles().count == 1)
    }

    /// An older file must not be deleted in place of the last one.
    @Test(arguments: ["no-token", "drop-response"])
    func lastUploadWithoutAToken(_ fault: String) async throws {
        let fixture = try await Fixture()
        let second = try fixture.client.movie("second.mp4")
        try await fixture.sandbox.addFaults("upload:\(fault),times=1")
        _ = try await fixture.client.upload(path: second)
        let report = try await fixture.client.delete(["--last", "--yes"])
        let message = "no stored delete token for 2"
        report.expect(ExpectedFault(11, "no_delete_token", message, hint: "mediactl uploads delete 2 --as-admin"))
        #expect(try fixture.client.tokens().map(\.fileID) == [1])
        #expect(try fixture.sandbox.storedFiles().count == 2)
        try await fixture.client.deleteAsAdmin(["2", "--yes"]).expectSuccess("deleted")
        #expect(try await fixture.client.delete(["--last", "--yes"]).item().fileId == 1)
    }

    @Test func lastWithoutAnyUpload() async throws {
        let site = try ScriptedSite()
        let report = try await FaultFixture(site.address).delete(["--last", "--yes"])
        report.expect(ExpectedFault(11, "no_delete_token", "no stored delete tokens"))
        #expect(site.connections == 0)
    }

    @Test func severalIDsHaveSeparateResults() async throws {
        let fixture = try await Fixture()
        let report = try await fixture.client.delete(["1", "7", "1", "--yes", "--server", fixture.sandbox.baseURL])
        #expect(report.result.exitCode == 3)
        #expect(report.items.map(\.fileId) == [1, 7], "each ID once")
        #expect(report.items.map(\.state) == ["deleted", "failed"])
        #expect(report.items.map(\.exitCode) == [0, 11])
        try await fixture.expectDeleted(posts: 1)
    }

    /// Nil stands for Ctrl-C.
    @Test(arguments: [("n\n", "1"), ("\n", "--last"), ("\u{4}", "1"), (nil, "1")] as [(String?, String)])
    func aDeclinedPromptDeletesNothing(_ response: String?, _ file: String) async throws {
        let fixture = try await Fixture()
        let child = try fixture.client.runner.start(
            ["uploads", "delete", file, "--user", "uploader"],
            streams: .terminal(columns: 100)
        )
        try await child.wait(for: "Delete it? [y/N] ")
        if let response { child.write(response) } else { child.signal(SIGINT) }
        let result = try await child.finish()
        #expect(result.exitCode == (response == nil ? 130 : 1))
        #expect(result.output.contains("from every event:"))
        #expect(result.output.contains("1 \"One\" was not deleted") || response == nil)
        try await fixture.expectUntouched(posts: 0)
    }

    @Test(arguments: [["1"], ["--last"], ["1", "--no-input"]])
    func noTerminalToPrompt(_ arguments: [String]) async throws {
        let fixture = try await Fixture()
        let report = try await fixture.client.delete(arguments)
        report.expect(ExpectedFault(2, "usage", "not a terminal; confirmation required", hint: "--yes"))
        try await fixture.expectUntouched(posts: 0)
    }

    @Test func dryRunPromptsForNothingAndSendsNothing() async throws {
        let fixture = try await Fixture()
        let before = try await fixture.sandbox.requests().count
        let report = try await fixture.client.delete(["1", "--dry-run"])
        report.expectSuccess("planned")
        #expect(try await fixture.sandbox.requests().count == before)
        try await fixture.expectUntouched(posts: 0)
    }
}

extension FaultFixture {
    /// `mediactl uploads delete … --as-admin --json` as admin.
    fileprivate func deleteAsAdmin(_ arguments: [String]) async throws -> FaultReport {
        let command = ["uploads", "delete", "--json", "--user", "admin", "--as-admin"]
        return FaultReport(try await runner.run(command + arguments, extra: ["MEDIACTL_PASSWORD": "admin"]))
    }
}
