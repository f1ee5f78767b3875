import Foundation
import TestSupport
import Testing

/// Marked secrets are searched for in all output and files of the program, and in its arguments while it runs.
@Suite struct SecretCanaryTests {
    @Test func noSecretIsWritten() async throws {
        let password = "canary-PASSWORD-4711"
        let wrong = "canary-WRONG-0815"
        let sandbox = try await SandboxProcess.start(arguments: ["--user", "uploader:\(password)"])
        let noTLS = try ScriptedServer { connection, _ in try connection.write("no TLS here\r\n\r\n") }
        let bench = try Bench(sandbox.baseURL, password: password)
        let secretFile = bench.runner.home.path + "-password"
        try Data(password.utf8).write(to: URL(fileURLWithPath: secretFile))
        defer { try? FileManager.default.removeItem(atPath: secretFile) }
        let files = try (0..<3).map { try bench.movie(5000, seed: $0, name: "clip-\($0).mp4") }
        let witness = Witness(bench.runner)
        let home = bench.login
        try await witness.run(["upload", files[0], "-vv"] + home, expecting: 0)
        try await witness.run(["upload", files[1], "--json", "--progress-events", "-vv"] + home, expecting: 0)
        try await witness.run(
            ["upload", files[2], "-vv", "--password-file", secretFile] + home,
            expecting: 0,
            ["MEDIACTL_PASSWORD": ""]
        )
        for options in [["-vv"], ["--json", "-vv"]] {
            try await witness.run(
                ["upload", files[0], "--force"] + options + home,
                expecting: 4,
                ["MEDIACTL_PASSWORD": wrong]
            )
            try await witness.run(
                ["upload", files[0], "--server", "https://127.0.0.1:\(noTLS.port)", "--user", "uploader"] + options
                    + ["--retries", "0"],
                expecting: 6
            )
            try await witness.run(["uploads", "list"] + options, expecting: 0)
            try await witness.run(["uploads", "show", "1"] + options, expecting: 0)
            try await witness.run(["config", "show"] + options + home, expecting: 0)
        }
        // The tokens, from the only commands that may print them.
        let shown = try await bench.runner.run(["uploads", "list", "--show-token", "--json"])
        let tokens = shown.items.compactMap { $0["delete_token"] as? String }
        #expect(tokens.count == 3)
        try await witness.run(["uploads", "delete", "1", "--yes", "-vv"] + home, expecting: 0)
        try await witness.run(["uploads", "delete", "2", "--yes", "--json", "-vv"] + home, expecting: 0)
        try await witness.run(
            ["uploads", "delete", "3", "--yes", "-vv"] + home,
            expecting: 4,
            ["MEDIACTL_PASSWORD": wrong]
        )

        #expect(witness.written.contains("trace: POST"), "the run produced output")
        let basic = { (secret: String) in Data("uploader:\(secret)".utf8).base64EncodedString() }
        for canary in tokens + [password, wrong, basic(password), basic(wrong)] {
            #expect(!witness.written.contains(canary))
            let files = bench.files(containing: canary)
            #expect(files.allSatisfy { $0.contains("tokens.sqlite") }, "\(files) contain \(canary)")
        }
        #expect(bench.files(containing: "canary-").isEmpty, "the store keeps no passwords")
    }
}
