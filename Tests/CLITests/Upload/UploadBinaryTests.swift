import Foundation
import TestSupport
import Testing

@testable import MediaCLI

/// The built program against the real sandbox: files are uploaded and read back.
@Suite(.prompt) struct UploadBinaryTests {
    @Test func uploadListDelete() async throws {
        let (fixture, file) = try await BatchFixture.withFile("clip.mp4", byteCount: 26_182)
        let upload = try await fixture.upload([file, "--label", "One"])
        #expect(upload.exitCode == 0)
        #expect(upload.lines.count == 3)
        #expect(upload.lines[0] == "uploaded \(file) as 1 (26.2 kB, checksum matches)")
        #expect(upload.lines[1].hasPrefix("  \(fixture.sandbox.baseURL)/video/"))
        #expect(upload.lines[2] == "  to delete: mediactl uploads delete 1 --server \(fixture.sandbox.baseURL)")
        #expect(upload.errors.isEmpty)

        let list = try await fixture.runner.run(["uploads", "list"])
        #expect(list.lines.count == 2)
        #expect(list.lines[1].contains("One") && list.lines[1].hasSuffix(fixture.sandbox.scope))

        let delete = try await fixture.runner.run(["uploads", "delete", "1", "--user", "uploader", "--yes"])
        #expect(delete.exitCode == 0)
        #expect(delete.output == "deleted 1 \"One\" from \(fixture.sandbox.scope)\n")
        #expect(try await fixture.runner.run(["uploads", "list", "-q"]).output.isEmpty)
    }

    @Test func everyRecordOfARealRunHasTheDocumentedShape() async throws {
        let (fixture, file) = try await BatchFixture.withFile("clip.mp4")
        let commands: [(schema: String, arguments: [String])] = [
            ("upload", ["upload", file, "/no/such.mp4", "--progress-events"] + fixture.login),
            ("upload", ["upload", file, "--dry-run"] + fixture.login),
            ("upload", ["upload", file] + fixture.login), ("uploads-list", ["uploads", "list"]),
            ("uploads-show", ["uploads", "show", "1", "--show-token"]), ("uploads-show", ["uploads", "show", "7"]),
            ("uploads-status", ["uploads", "status"]),
            ("uploads-delete", ["uploads", "delete", "1", "--dry-run"]),
            ("uploads-delete", ["uploads", "delete", "1", "7", "--yes", "--user", "uploader"]),
            ("uploads-clear", ["uploads", "clear", "--all", "--yes"]),
        ]
        for (schema, arguments) in commands {
            let result = try await fixture.runner.run(arguments + ["--json"])
            try result.expectShapes(schema)
            let lasts = result.lines.filter { $0.contains(#""type":"summary""#) || $0.contains(#""type":"error""#) }
            #expect(lasts == [result.lines.last], "\(arguments)")
            let last = try result.records("summary").last ?? result.records("error").last
            #expect(last?["exit_code"] as? Int == result.exitCode.map { Int($0) })
        }
    }

    @Test func tokensAreShownOnlyOnRequest() async throws {
        let (fixture, file) = try await BatchFixture.withFile("clip.mp4")
        let upload = try await fixture.upload([file, "--json", "-vv"])
        let shown = try await fixture.runner.run(["uploads", "show", "1", "--show-token", "--json"])
        let token = try #require(try shown.records().first?["delete_token"] as? String)
        #expect(token.count == 64)
        for arguments in [["uploads", "list"], ["uploads", "show", "1"], ["uploads", "list", "--json"]] {
            let result = try await fixture.runner.run(arguments)
            #expect(!(result.output + result.errors).contains(token))
        }
        #expect(!(upload.output + upload.errors).contains(token))
    }

    @Test func duplicateFromHereIsDeletable() async throws {
        let (fixture, file) = try await BatchFixture.withFile("clip.mp4")
        _ = try await fixture.upload([file])
        let before = try await fixture.sandbox.posts()
        let again = try await fixture.upload([file])
        #expect(again.exitCode == 0)
        #expect(again.lines.first == "\(file): already in this event as 1")
        #expect(try await fixture.sandbox.posts() == before)
    }

    @Test func standardInputIsUploadedUnderItsName() async throws {
        let fixture = try await BatchFixture()
        let child = try fixture.runner.start(["upload", "-", "--stdin-name", "piped.mp4", "--json"] + fixture.login)
        child.write(String(repeating: "x", count: 100_000))
        child.closeInput()
        let result = try await child.finish()
        #expect(result.exitCode == 0)
        #expect(result.output.contains(#""path":"-""#) && result.output.contains(#""label":"piped""#))
        #expect(result.output.contains(#""size_bytes":100000"#))
    }

    @Test func closedOutputDoesNotAbortAnUpload() async throws {
        let (fixture, file) = try await BatchFixture.withFile("clip.mp4")
        let result = try await fixture.runner.run(["upload", file] + fixture.login, streams: .closedOutput)
        #expect(result.exitCode == 0)
        #expect(try await fixture.runner.run(["uploads", "list"]).lines.count == 2)
    }

    @Test func terminalShowsProgressAndErasesIt() async throws {
        let (fixture, file) = try await BatchFixture.withFile("clip.mp4", faults: ["upload:delay-response=600"])
        var runner = fixture.runner
        runner.environment["TERM"] = "xterm"
        let child = try runner.start(["upload", file] + fixture.login, streams: .terminal(columns: 100))
        try await child.signal(SIGUSR1, after: "server is processing")
        try await fixture.sandbox.clearFaults()
        let result = try await child.finish()
        #expect(result.exitCode == 0)
        #expect(result.output.contains("\u{1b}[32muploaded\u{1b}[0m"))
        let shown = try #require(result.output.components(separatedBy: "\u{1b}[J").last)
        #expect(!shown.contains("processing"))
    }

    @Test func traceShowsRequestsAndNoSecrets() async throws {
        let (fixture, file) = try await BatchFixture.withFile("clip.mp4")
        let result = try await fixture.upload([file, "-v"])
        let posts = result.errors.split(separator: "\n").filter {
            $0.contains("trace: POST \(fixture.sandbox.baseURL)/")
        }
        #expect(posts.count == 1)
        #expect(posts.first?.contains(": 201, ") == true)
        // printf uploader:uploader | base64
        #expect(!result.errors.contains("dXBsb2FkZXI6dXBsb2FkZXI") && !result.errors.contains("Authorization"))
    }

    @Test func statusSignalIsHandledEvenWhenQuiet() async throws {
        let (fixture, file) = try await BatchFixture.withFile("clip.mp4", faults: ["upload:delay-response=600"])
        let child = try fixture.runner.start(
            ["upload", file, "-q", "--json", "--progress-events"] + fixture.login
        )
        try await child.signal(SIGUSR1, after: #""phase":"processing""#)
        try await child.wait(for: "server is processing (")
        try await fixture.sandbox.clearFaults()
        let result = try await child.finish()
        #expect(result.exitCode == 0)
        #expect(!result.errors.contains("\r"))
    }

    @Test func pathsNeedNotBeUTF8() async throws {
        let (fixture, file) = try await BatchFixture.withFile("clip.mp4")
        let name = Array(fixture.runner.home.path.utf8) + [0x2f, 0x61, 0xff] + Array(".mp4".utf8)
        let bytes = try Data(contentsOf: URL(fileURLWithPath: file))
        let descriptor = (name + [0]).withUnsafeBytes { path in
            path.bindMemory(to: CChar.self).baseAddress.map { open($0, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600) } ?? -1
        }
        defer { close(descriptor) }
        #expect(bytes.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) } == bytes.count)
        let result = try await fixture.runner.run(
            rawArguments: [Array("upload".utf8), name] + fixture.login.map { Array($0.utf8) }
        )
        #expect(result.exitCode == 0)
        #expect(result.lines.first?.contains("/a\\xff.mp4 as 1") == true)
    }

    @Test func hangupDuringADeletionWaitsForItsResponse() async throws {
        let (fixture, file) = try await BatchFixture.withFile("clip.mp4", faults: ["delete:delay-response=600"])
        _ = try await fixture.upload([file])
        let child = try fixture.runner.start(["uploads", "delete", "1", "--yes", "--user", "uploader", "--json"])
        try await fixture.sandbox.waitForRequests { $0.count { $0.method == "POST" } >= 2 }
        child.signal(SIGHUP)
        try await child.wait(for: "mediactl: waiting up to 30 s for the server's response")
        try await fixture.sandbox.clearFaults()
        let result = try await child.finish()
        #expect(result.exitCode == 129)
        #expect(result.output.contains(#""state":"deleted""#))
        #expect(try await fixture.runner.run(["uploads", "list"]).output.isEmpty)
    }

    @Test func clearListsTheExistingHosts() async throws {
        let (fixture, file) = try await BatchFixture.withFile("clip.mp4")
        _ = try await fixture.upload([file])
        let nothing = try await fixture.runner.run(["uploads", "clear", "--server", "nohost", "--yes"])
        #expect(nothing.exitCode == 0 && nothing.output.isEmpty)
        let warning = "no stored delete tokens for nohost; hosts with stored tokens: \(fixture.sandbox.scope)"
        #expect(nothing.errors == "mediactl: warning: \(warning)\n")
        let declined = try fixture.runner.start(
            ["uploads", "clear", "--server", fixture.sandbox.scope],
            streams: .terminal(columns: 80)
        )
        try await declined.respond(to: "Remove the tokens?", with: "n\n")
        let result = try await declined.finish()
        #expect(result.exitCode == 1 && result.lines.last == "nothing was removed")
        #expect(try await fixture.runner.run(["uploads", "list"]).lines.count == 2)
    }

    /// SQLite writes to a moved database as before; the next command opens a different one.
    @Test func aTokenIsKeptIfTheStoreIsMovedDuringTheUpload() async throws {
        let (fixture, file) = try await BatchFixture.withFile("clip.mp4", faults: ["upload:delay-response=600"])
        let child = try fixture.runner.start(["upload", file] + fixture.login)
        try await fixture.sandbox.waitForRequests { $0.contains { $0.method == "POST" } }
        let store = fixture.runner.home.file("data/mediactl/tokens.sqlite")
        for suffix in ["", "-wal", "-shm"] {
            try? FileManager.default.moveItem(atPath: store + suffix, toPath: store + ".old" + suffix)
        }
        try await fixture.sandbox.clearFaults()
        let result = try await child.finish()
        #expect(result.exitCode == 12 && !result.output.contains("uploaded"), "\(result)")
        #expect(result.errors.contains("it was moved, replaced or removed while in use"), "\(result)")
        let list = try await fixture.runner.run(["uploads", "list"])
        #expect(list.errors.contains("warning: a delete token is stored in "), "\(list)")
    }

    /// Without `--server`, the printed command would delete a file with the same ID on the configured server.
    @Test func aHintOfStatusNamesTheServerOfTheUpload() async throws {
        let (fixture, file) = try await BatchFixture.withFile("clip.mp4", faults: ["upload:delay-response=600"])
        let child = try fixture.runner.start(["upload", file, "--json", "--progress-events"] + fixture.login)
        try await child.signal(SIGKILL, after: #""phase":"processing""#)
        #expect(try await child.finish().signal == SIGKILL)
        let other = try await SandboxProcess.start()
        let status = try await fixture.runner.run(
            ["uploads", "status"],
            extra: ["MEDIACTL_SERVER": other.baseURL, "MEDIACTL_PASSWORD": "", "NETRC": try fixture.netrc()]
        )
        #expect(status.exitCode == 11, "\(status)")
        #expect(status.errors.contains("delete 1 --as-admin --server \(fixture.sandbox.baseURL)\n"), "\(status)")
    }

    @Test func clearRemovesTheRecordsOfDeletedTokens() async throws {
        let (fixture, file) = try await BatchFixture.withFile("clip.mp4")
        _ = try await fixture.upload([file])
        #expect(try await fixture.runner.run(["uploads", "delete", "1", "--yes"] + fixture.login).exitCode == 0)
        let clear = ["uploads", "clear", "--server", fixture.sandbox.scope, "--yes"]
        let records = "the records of deleted tokens and finished uploads for \(fixture.sandbox.scope)"
        #expect(try await fixture.runner.run(clear + ["--dry-run"]).output == "\(records) would be removed\n")
        #expect(try await fixture.runner.run(clear).output == "removed \(records)\n")
        #expect(try await fixture.runner.run(clear).output.isEmpty)
    }

    @Test func loosePermissionsAreReportedOnce() async throws {
        let fixture = try await BatchFixture()
        _ = try await fixture.runner.run(["uploads", "list"])
        chmod(fixture.runner.home.file("data/mediactl"), 0o755)
        let result = try await fixture.runner.run(["uploads", "list", "-q"])
        #expect(result.errors.components(separatedBy: "tightened").count == 2)
    }

    @Test func statusResolvesUploadsOfAKilledProcess() async throws {
        let (fixture, file) = try await BatchFixture.withFile("clip.mp4", faults: ["upload:delay-response=600"])
        let child = try fixture.runner.start(["upload", file, "--json", "--progress-events"] + fixture.login)
        try await child.signal(SIGKILL, after: #""phase":"processing""#)
        #expect(try await child.finish().signal == SIGKILL)
        let before = try await fixture.runner.run(["uploads", "status", "--dry-run", "--json"])
        #expect(before.lines.count == 3 && before.exitCode == 6)
        let after = try await fixture.runner.run(["uploads", "status", "--user", "uploader", "--json"])
        #expect(after.exitCode == 11)
        #expect(after.lines.first?.hasSuffix(#""type":"start","items":1,"dry_run":false}"#) == true)
        #expect(after.lines.dropFirst().first?.contains(#""state":"token_lost""#) == true)
        #expect(
            after.errors.contains("mediactl: note: checking whether \(fixture.sandbox.baseURL) has \"\(file)\"")
        )
        try before.expectShapes("uploads-status")
        try after.expectShapes("uploads-status")
    }
}
