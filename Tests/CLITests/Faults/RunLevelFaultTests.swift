import Foundation
import TestSupport
import Testing

@testable import MediaCLI

/// A failure of the login, the connection or the server stops a run of many files. The output is one error, the files
/// that were not started, and the command that continues.
@Suite(.prompt) struct RunLevelFaultTests {
    struct Row: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var faults: [String] = []
        var arguments: [String] = []
        /// A server address other than the sandbox's; SANDBOX stands for the sandbox's host and port.
        var server: String?
        var environment: [String: String] = [:]
        var fault: ExpectedFault
        /// The number of requests, over all attempts.
        var requests: Int
        /// The number of warnings, over all attempts.
        var warnings: Int

        init(
            _ name: String,
            _ faults: [String] = [],
            arguments: [String] = [],
            server: String? = nil,
            environment: [String: String] = [:],
            _ fault: ExpectedFault,
            requests: Int,
            warnings: Int = 0
        ) {
            (testDescription, self.faults, self.arguments, self.server) = (name, faults, arguments, server)
            (self.environment, self.fault, self.requests, self.warnings) = (environment, fault, requests, warnings)
        }
    }

    private static let tus = ["--transport", "tus"]
    private static let wrong = ["MEDIACTL_PASSWORD": "canary-wrong"]
    private static let unauthorized = ExpectedFault(4, "unauthorized", "login failed (401)")
    private static let unavailable = ExpectedFault(7, "server_unavailable", "server unavailable (503)")
    private static let noTus = ExpectedFault(7, "server_unavailable", "the tus server is unavailable (503)")

    static let rows: [Row] = [
        Row("wrong password, multipart", environment: wrong, unauthorized, requests: 1),
        Row("wrong password, tus", arguments: tus, environment: wrong, unauthorized, requests: 1),
        // Before each retry and at the end, two queries for the file: the application may have stored it.
        Row("PHP stopped", ["php:status=503"], unavailable, requests: 9, warnings: 2),
        Row("PHP stopped for an hour", ["php:status=503,retry-after=3600"], unavailable, requests: 1),
        Row("tus stopped", ["tus:status=503"], arguments: tus, noTus, requests: 3, warnings: 2),
        Row("no uploads over tus", ["tus-create:status=503"], arguments: tus, noTus, requests: 4, warnings: 2),
        Row(
            "refused connection",
            server: "http://127.0.0.1:1",
            ExpectedFault(6, "cannot_connect", "cannot connect to the server"),
            requests: 0,
            warnings: 2
        ),
        // RFC 2606 section 2: .invalid never resolves.
        Row(
            "unknown host",
            server: "https://no-such.invalid",
            ExpectedFault(6, "unknown_host", "cannot resolve host"),
            requests: 0,
            warnings: 2
        ),
        Row("no TLS", server: "https://SANDBOX", ExpectedFault(6, "tls_failed", "no secure connection"), requests: 0),
    ]

    @Test(arguments: rows) func endsARunWithOneError(_ row: Row) async throws {
        let fixture = try await BatchFixture(faults: row.faults)
        let files = try (0..<8).map { try fixture.file("\($0).mp4") }
        let address = String(fixture.sandbox.baseURL.dropFirst("http://".count))
        let server = row.server?.replacing("SANDBOX", with: address) ?? fixture.sandbox.baseURL
        let arguments = files + row.arguments + ["--server", server, "--user", "uploader", "--retries", "2"]
        let report = fixture.runner.home.file("report.json")
        let result = try await fixture.runner.run(
            ["upload"] + arguments + ["--json", "--report", report],
            extra: row.environment.merging(["MEDIACTL_SERVER": server]) { $1 }
        )
        #expect(result.exitCode == row.fault.exitCode, "\(result)")

        let items = try result.records()
        #expect(items.map { $0["state"] as? String } == ["failed"])
        #expect((items.first?["error"] as? [String: Any])?["code"] as? String == row.fault.code)
        let summary = try #require(try result.records("summary").first)
        let counts = ["items": 8, "failed": 1, "cancelled": 0, "not_started": 7, "exit_code": Int(row.fault.exitCode)]
        for (name, count) in counts { #expect(summary[name] as? Int == count, "\(name)") }
        let lines = try #require(try BatchFixture.report(report)["items"] as? [[String: Any]])
        #expect(lines.count { $0["state"] as? String == "not_started" } == 7)

        let errors = result.errors.split(separator: "\n").map(String.init)
        #expect(errors.count { $0.hasPrefix("mediactl: error: ") } == 1, "\(errors)")
        #expect(errors.contains { $0.hasPrefix("mediactl: error: \(row.fault.message)") }, "\(errors)")
        let note = errors.last { $0.hasPrefix("mediactl: note: 0 of 8 files on the server, ") }
        #expect(note?.hasSuffix(" sent, 7 not started") == true, "\(errors)")
        let command = ["mediactl", "upload"] + arguments + ["--json", "--report", report]
        #expect(errors.last == "mediactl: hint: to continue: \(command.joined(separator: " "))")
        #expect(errors.count { $0.contains("failed: ") && $0.contains("retrying in") } == row.warnings, "\(errors)")
        #expect(!result.errors.contains("canary"))
        let requests = try await fixture.sandbox.requests().filter { !$0.path.contains("__sandbox") }
        #expect(requests.count == row.requests, "\(requests)")
    }

    /// Earlier uploads are kept, and the exit code reports the failure.
    @Test func aServerThatDisappearsMidRun() async throws {
        let fixture = try await BatchFixture(faults: ["upload:status=503,skip=3"])
        let files = try (0..<8).map { try fixture.file("\($0).mp4") }
        let result = try await fixture.upload(files + ["--json", "--retries", "1", "-j", "1"])
        #expect(result.exitCode == 7)
        let summary = try #require(try result.records("summary").first)
        for (name, count) in ["done": 3, "failed": 1, "cancelled": 0, "not_started": 4] {
            #expect(summary[name] as? Int == count, "\(name)")
        }
        #expect(
            result.errors.contains("warning: cannot verify the files against the server's listing: server unavailable")
        )
        try await fixture.sandbox.clearFaults()
        let again = try await fixture.upload(files + ["--json"])
        #expect(again.exitCode == 0)
        #expect(try fixture.sandbox.storedFiles().count == 8)
    }

    /// A single 503 is handled by retrying the upload.
    @Test func aSingleFailureDoesNotEndTheRun() async throws {
        let fixture = try await BatchFixture(faults: ["upload:status=503,skip=2,times=1"])
        let files = try (0..<6).map { try fixture.file("\($0).mp4") }
        #expect(try await fixture.upload(files).exitCode == 0)
        #expect(try fixture.sandbox.storedFiles().count == 6)
    }

    /// The fault, the file, the options, the exit code, the error and the hint.
    @Test(
        arguments: [
            (
                "php:status=503", "my song.mp4", ["--retries", "0"], 7, "server unavailable (503)",
                "to continue: mediactl upload 'FILE' --retries 0 --server SERVER --user uploader"
            ),
            (
                "upload:file-limit=1000", "a.mp4", ["--transport", "multipart"], 2,
                "the file exceeds the server's upload limit (500): PHP upload_max_filesize or post_max_size",
                "upload it with --transport tus"
            ),
            (
                "tus:status=503", "a.mp4", ["--transport", "tus", "--retries", "0"], 7,
                "the tus server is unavailable (503)",
                "use --transport auto or --transport multipart, or run the same command again later"
            ),
        ] as [(String, String, [String], Int32, String, String)]
    )
    func theFailureOfASingleFileIsOneErrorAndOneHint(
        _ fault: String,
        _ name: String,
        _ options: [String],
        _ exitCode: Int32,
        _ error: String,
        _ hint: String
    ) async throws {
        let fixture = try await BatchFixture(faults: [fault])
        let file = try fixture.file(name)
        let result = try await fixture.upload([file] + options)
        #expect(result.exitCode == exitCode)
        let command = hint.replacing("FILE", with: file).replacing("SERVER", with: fixture.sandbox.baseURL)
        #expect(result.errors == "mediactl: error: \(error)\nmediactl: hint: \(command)\n")
    }

    /// After a failure of the whole server, the remaining uploads to it are not started.
    @Test func resumptionsEndAsWell() async throws {
        let fixture = try await BatchFixture(faults: ["tus-patch:status=503"])
        for name in ["a.mp4", "b.mp4", "c.mp4"] {
            _ = try await fixture.upload([try fixture.file(name), "--transport", "tus", "--retries", "0"])
        }
        let login = ["--user", "uploader", "--retries", "0", "--json"]
        let result = try await fixture.runner.run(["uploads", "resume", "--all"] + login)
        #expect(result.exitCode == 7)
        let summary = try #require(try result.records("summary").first)
        #expect(summary["items"] as? Int == 3 && summary["failed"] as? Int == 1 && summary["not_started"] as? Int == 2)
        #expect(result.errors.contains("hint: to continue: mediactl uploads resume --all --user uploader"))
        try await fixture.sandbox.clearFaults()
        #expect(try await fixture.runner.run(["uploads", "resume", "--all"] + login).exitCode == 0)
        #expect(try fixture.sandbox.storedFiles().count == 3)
    }

    /// A directory is no longer watched when nothing can be uploaded.
    @Test func aWatchEndsAsWell() async throws {
        let fixture = try await BatchFixture()
        try fixture.file("drop/a.mp4")
        let result = try await fixture.upload(
            ["--watch", fixture.runner.home.file("drop")],
            extra: ["MEDIACTL_PASSWORD": "canary-wrong"]
        )
        #expect(result.exitCode == 4)
        #expect(result.errors.contains("hint: to continue: mediactl upload --watch "))
    }

    // MARK: The command line in a hint

    @Test(
        arguments: [
            (["upload", "a.mp4"], 1, nil, "mediactl upload a.mp4"),
            (["upload", "it's $HOME", ""], 2, nil, #"mediactl upload 'it'\''s $HOME' ''"#),
            (["upload", "\u{1b}[2J1.mp4"], 1, nil, #"mediactl upload $'\033\1332J1.mp4'"#),
            (["upload", "Größe.mp4"], 1, nil, "mediactl upload 'Größe.mp4'"),
            (["upload", "-j", "2"], 9, nil, "run the same command again"),
            (
                ["upload", "--label", "x", "--server=https://h", "--password-stdin", "--user", "u"], 9,
                "my report.json",
                "run the same command again, or: mediactl upload --retry-failed 'my report.json' --server=https://h "
                    + "--password-stdin --user u"
            ),
            ([], 0, nil, "run the same command again"),
        ] as [([String], Int, String?, String)]
    )
    func theCommandIsQuotedForAShell(_ arguments: [String], _ paths: Int, _ report: String?, _ hint: String) {
        #expect(Continuation(arguments: arguments, pathCount: paths, report: report).hint == hint)
        #expect(Continuation(arguments: arguments, isPrivate: true).hint == "run the same command again")
    }

    /// A shell parses every quoted word to its original value.
    @Test func everyWordIsUnchangedByAShell() async throws {
        let words: [[UInt8]] = [
            Array("a b".utf8), Array("'".utf8), Array("\\n$x`y`\"".utf8), [0x61, 0xff, 0x31], [0x0a, 0x37],
            Array("\u{202e}x\u{301}".utf8),
        ]
        for word in words {
            let result = try await ChildProcess.run(
                "bash",
                ["-c", "printf %s " + ShellWord.quoted(word) + " | xxd -p"]
            )
            let hex = word.map { String(format: "%02x", $0) }.joined()
            #expect(result.output == hex + "\n", "\(word)")
        }
    }
}
