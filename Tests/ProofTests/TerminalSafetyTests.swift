import Foundation
import TestSupport
import Testing

/// Text from servers and file names cannot drive the terminal.
@Suite struct TerminalSafetyTests {
    /// Escape sequences, a line that overwrites itself, C1 controls, and text that runs backwards.
    private static let hostile = "a\u{1b}[2Jb\rc\u{9b}31md\u{202e}e\u{2066}f\u{7}g\u{8}h"
    private static let hostileJSON = #"a\u001b[2Jb\rc\u009b31md\u202ee\u2066f\u0007g\bh"#

    private func expectSafe(_ result: ChildResult) {
        for scalar in (result.output + result.errors).unicodeScalars where scalar != "\n" {
            let isControl = scalar.value < 0x20 || (0x7f...0x9f).contains(scalar.value)
            let isBidi =
                [0x61c, 0x200e, 0x200f].contains(scalar.value) || (0x202a...0x202e).contains(scalar.value)
                || (0x2066...0x2069).contains(scalar.value)
            #expect(!isControl && !isBidi, "U+\(String(scalar.value, radix: 16)) in \(result.output + result.errors)")
        }
    }

    /// Status, type and body of an answer to an upload.
    static let responses: [(Int, String, String)] = [
        (400, "application/json", #"{"error":"Bad Request","message":"\#(hostileJSON)"}"#),
        (403, "text/html", "<html><title>\(hostile)</title></html>"),
        (201, "application/json", #"{"message":"\#(hostileJSON)"}"#),
        (
            201, "application/json",
            #"{"id":18,"file_type":"\#(hostileJSON)","checksum_sha256":"\#(hostileJSON)","#
                + #""delete_token":"\#(hostileJSON)","label":"\#(hostileJSON)"}"#
        ),
        (409, "application/json", #"{"error":"\#(hostileJSON)","message":"\#(hostileJSON)","existing_file_id":18}"#),
    ]

    @Test(arguments: responses) func responseOfAServer(status: Int, type: String, body: String) async throws {
        let server = try ProofServer { connection, _, _ in try connection.respond(status, body, type: type) }
        let bench = try Bench(server.address)
        let file = try bench.file()
        expectSafe(try await bench.runner.run(["upload", file, "-vv"] + bench.login))
        expectSafe(try await bench.runner.run(["uploads", "list", "--show-token"]))
        expectSafe(try await bench.runner.run(["uploads", "show", "18", "--show-token"]))
        expectSafe(try await bench.runner.run(["uploads", "delete", "18", "--yes", "-vv"] + bench.login))
    }

    @Test func nameOfAFile() async throws {
        let sandbox = try await SandboxProcess.start()
        let bench = try Bench(sandbox.baseURL)
        let file = try bench.movie(5000, name: Self.hostile + ".mp4")
        let upload = try await bench.runner.run(["upload", file, "--label", "x", "-vv"] + bench.login)
        #expect(upload.exitCode == 0)
        expectSafe(upload)
        expectSafe(try await bench.runner.run(["upload", file] + bench.login))
        expectSafe(try await bench.runner.run(["uploads", "show", "1"]))
        let failures = [
            ["upload", file + ".missing.mp4"], ["upload", bench.runner.home.path + "/x\(Self.hostile)"],
            ["upload", file, "--event-type", Self.hostile], ["upload", file, "--event-date", Self.hostile],
            ["upload", file, "--label", Self.hostile, "--dry-run"],
        ]
        for arguments in failures {
            expectSafe(try await bench.runner.run(arguments + bench.login))
        }
        expectSafe(try await bench.runner.run(["up\(Self.hostile)"]))
        expectSafe(try await bench.runner.run(["uploads", "list", "--data-dir", "/proc/x\(Self.hostile)"]))
        expectSafe(try await bench.runner.run(["uploads", "list", "--server", "x\(Self.hostile)"]))
        expectSafe(try await bench.runner.run(["upload", file, "--server", "http://\(Self.hostile)"]))
        expectSafe(try await bench.runner.run(["config", "show", "--user", Self.hostile]))
    }
}
