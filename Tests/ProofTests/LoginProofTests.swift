import Foundation
import TestSupport
import Testing

/// Logins of upload servers, tested against GigHive's drafts (gighive-d4 contract section 12), which the sandbox
/// follows.
@Suite struct LoginProofTests {
    private static let user = "contributor@example.org"

    private static func sandbox(_ more: [String] = [], dialect: String = "d4") async throws -> SandboxProcess {
        try await SandboxProcess.start(dialect: dialect, arguments: ["--auth", "bearer"] + more)
    }

    private static func bench(_ server: String) throws -> Bench {
        var bench = try Bench(server)
        bench.runner.environment["MEDIACTL_PASSWORD"] = nil
        bench.runner.environment["MEDIACTL_RETRIES"] = "0"
        return bench
    }

    /// Logs in from standard input, as this suite's user or in another role.
    private func logIn(_ bench: Bench, _ more: [String] = [], role: String = "contributor") async throws -> ChildResult
    {
        try await bench.runner.run(
            ["login", "--server", bench.server, "--user", "\(role)@example.org", "--password-stdin"] + more,
            input: "\(role)\n"
        )
    }

    private func error(_ result: ChildResult) -> [String: Any] {
        result.records.last?["error"] as? [String: Any] ?? [:]
    }

    private func stored(_ bench: Bench) throws -> String {
        try String(contentsOfFile: bench.dataPath + "/logins.json", encoding: .utf8)
    }

    private func token(_ bench: Bench) throws -> String {
        try #require(try stored(bench).firstMatch(of: /"token":"([^"]+)"/)).1.description
    }

    private func basicRequests(_ sandbox: SandboxProcess) async throws -> Int {
        try await sandbox.requests().count { $0.credentials.contains("basic") }
    }

    // MARK: Never Basic again

    private static let requests: [[String]] = [
        ["upload", "FILE"], ["upload", "FILE", "--transport", "tus"], ["media", "list"],
        ["media", "delete", "1", "--yes"], ["uploads", "verify"], ["smoke"], ["doctor"],
    ]

    /// Every kind of request recognizes the 401, and the next process does not send a password.
    @Test(arguments: requests, ["d3", "d4"])
    func noPasswordAfterTheServerRequiresALogin(command: [String], dialect: String) async throws {
        let sandbox = try await Self.sandbox(dialect: dialect)
        let bench = try Self.bench(sandbox.baseURL)
        let path = try bench.movie(100_000)
        let words = command.map { $0 == "FILE" ? path : $0 } + bench.login + ["--json"]
        let password = ["MEDIACTL_PASSWORD": "uploader"]
        let hint = "mediactl login --server \(sandbox.baseURL)"
        let first = try await bench.runner.run(words, extra: password)
        let errors = first.records.compactMap { $0["error"] as? [String: Any] }
        #expect(first.exitCode == 4, "\(first.output) \(first.errors)")
        let refusal = errors.first { $0["code"] as? String == "login_required" }
        #expect(refusal?["hint"] as? String == hint && refusal?["retryable"] as? Bool == false, "\(first.output)")
        #expect(try await basicRequests(sandbox) == 1)
        for extra in [password, [:]] {
            let again = try await bench.runner.run(words, extra: extra)
            #expect(again.exitCode == (command == ["doctor"] ? 0 : 4), "\(again.output)")
            if command != ["doctor"] { #expect(error(again)["hint"] as? String == hint) }
        }
        let file = try bench.runner.home.write("secret", "uploader".utf8)
        let flagged = try await bench.runner.run(words + ["--password-file", file])
        if command != ["doctor"] { #expect(error(flagged)["code"] as? String == "login_required") }
        #expect(try await basicRequests(sandbox) == 1)
        #expect(try stored(bench).contains(#""requires_login":true"#))
    }

    /// The uploads that run in parallel send nothing after the first response.
    @Test(arguments: ["multipart", "tus"]) func parallelUploadsStop(transport: String) async throws {
        let sandbox = try await Self.sandbox()
        let bench = try Self.bench(sandbox.baseURL)
        let files = try (0..<16).map { try bench.movie(20_000, seed: $0, name: "clip-\($0).mp4") }
        let result = try await bench.runner.run(
            ["upload", "-j", "8", "--transport", transport, "--json"] + files + bench.login,
            extra: ["MEDIACTL_PASSWORD": "uploader"]
        )
        #expect(result.exitCode == 4)
        #expect(try await basicRequests(sandbox) == 1)
        #expect(try await sandbox.requests().allSatisfy { ($0.status ?? 0) >= 400 || $0.credentials.isEmpty })
    }

    /// Current servers refuse a wrong password, and the next run sends the new one.
    @Test(arguments: ["d1", "d2", "d3", "d4"]) func aWrongPasswordIsReportedAsSuch(dialect: String) async throws {
        let sandbox = try await SandboxProcess.start(dialect: dialect)
        let bench = try Self.bench(sandbox.baseURL)
        let words = ["upload", try bench.movie(5000), "--json"] + bench.login
        let wrong = try await bench.runner.run(words, extra: ["MEDIACTL_PASSWORD": "wrong"])
        let errors = wrong.records.compactMap { $0["error"] as? [String: Any] }
        #expect(wrong.exitCode == 4 && errors.first?["code"] as? String == "unauthorized")
        let right = try await bench.runner.run(words, extra: ["MEDIACTL_PASSWORD": "uploader"])
        #expect(right.exitCode == 0, "\(right.output)")
    }

    /// A 401 in JSON to a request with an upload token is about the token.
    @Test func anInvalidEventLinkIsReportedAsSuch() async throws {
        let token = String(repeating: "t", count: 43)
        let server = try ScriptedServer { connection, _ in
            while true {
                let head = try connection.readRequest().head
                if head.hasPrefix("GET /api/upload-token.php") {
                    try connection.respond(
                        200,
                        #"{"event_id":1,"event_date":"2026-06-13","org_name":"The Larks","event_type":"band"}"#
                    )
                } else {
                    try connection.respond(
                        401,
                        #"{"error":"Invalid or expired upload token"}"#,
                        headers: ["Content-Type: application/json"]
                    )
                }
            }
        }
        let bench = try Self.bench(server.address)
        let link = try bench.runner.home.write("link", "\(server.address)/upload/\(token)\n".utf8)
        chmod(link, 0o600)
        let result = try await bench.runner.run(
            ["upload", try bench.movie(5000), "--event-link-file", link, "--accept-terms", "--json"]
        )
        let errors = result.records.compactMap { $0["error"] as? [String: Any] }
        #expect(errors.contains { $0["code"] as? String == "invalid_event_link" }, "\(result.output)")
        #expect(!FileManager.default.fileExists(atPath: bench.dataPath + "/logins.json"))
    }

    // MARK: The login

    @Test func aLoginIsUsedUntilLogout() async throws {
        let sandbox = try await Self.sandbox()
        let bench = try Self.bench(sandbox.baseURL)
        let login = try await logIn(bench, ["--json"])
        let summary = try #require(login.records.last)
        #expect(login.exitCode == 0 && summary["logged_in"] as? Bool == true, "\(login.output) \(login.errors)")
        #expect(summary["scheme"] as? String == "bearer" && summary["role"] as? String == "contributor")
        #expect(summary["email"] as? String == Self.user && summary["expires_at"] is String)
        let attributes = try FileManager.default.attributesOfItem(atPath: bench.dataPath + "/logins.json")
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        let secret = try token(bench)
        #expect(secret.hasPrefix("53414e44424f5821"), "SecretWatch searches for it in every run")

        for transport in ["multipart", "tus"] {
            let upload = try await bench.runner.run(
                ["upload", try bench.movie(70_000, seed: transport.count, name: "\(transport).mp4"), "-vv"]
                    + ["--server", sandbox.baseURL, "--transport", transport],
                // Left over from the use of passwords.
                extra: ["MEDIACTL_PASSWORD": "uploader"]
            )
            #expect(upload.exitCode == 0, "\(upload.output) \(upload.errors)")
        }
        let status = try await bench.runner.run(["login", "status", "--json"])
        #expect(status.exitCode == 0 && status.items.count == 1)
        #expect(status.items.first?["server"] as? String == sandbox.baseURL)
        #expect(status.items.first?["expired"] as? Bool == false)
        let doctor = try await bench.runner.run(["doctor", "--server", sandbox.baseURL, "--json"])
        let checks = doctor.items.filter { $0["name"] as? String != "tls" }
        #expect(doctor.exitCode == 0 && checks.allSatisfy { $0["status"] as? String == "passed" }, "\(doctor.output)")
        #expect(try await basicRequests(sandbox) == 0)
        #expect(try await sandbox.requests().allSatisfy { $0.credentials.count <= 1 }, "one credential per request")

        let logout = try await bench.runner.run(["logout", "--server", sandbox.baseURL])
        #expect(logout.exitCode == 0)
        #expect(bench.files(containing: secret).isEmpty)
        let after = try await bench.runner.run(["media", "list", "--server", sandbox.baseURL, "--json"])
        #expect(after.exitCode == 4 && error(after)["code"] as? String == "login_required")
        #expect(try await bench.runner.run(["login", "status"]).exitCode == 4)
    }

    @Test func anExpiredLoginSendsNothing() async throws {
        let sandbox = try await Self.sandbox(["--login-lifetime", "3600"])
        let bench = try Self.bench(sandbox.baseURL)
        #expect(try await logIn(bench).exitCode == 0)
        let valid = try stored(bench)
        // 2026-01-01T00:00:00Z
        let expired = valid.replacing(/"expires_at":[0-9]+/, with: #""expires_at":1767225600"#)
        try Data(expired.utf8).write(to: URL(fileURLWithPath: bench.dataPath + "/logins.json"))
        let before = try await sandbox.requests().count
        for command in [["media", "list"], ["upload", try bench.movie(5000)], ["smoke"]] {
            let result = try await bench.runner.run(command + ["--server", sandbox.baseURL, "--json"])
            #expect(result.exitCode == 4 && error(result)["code"] as? String == "login_expired", "\(result.output)")
            let message = "the login for \(sandbox.baseURL) expired on 2026-01-01T00:00:00Z"
            #expect(error(result)["message"] as? String == message)
            #expect(error(result)["hint"] as? String == "mediactl login --server \(sandbox.baseURL)")
        }
        #expect(try await sandbox.requests().count == before)
        #expect(try await bench.runner.run(["login", "status"]).exitCode == 4)
        let doctor = try await bench.runner.run(["doctor", "--server", sandbox.baseURL, "--json"])
        let check = doctor.items.first { $0["name"] as? String == "login" }
        #expect(doctor.exitCode == 4 && check?["status"] as? String == "failed")
        #expect(
            facts(check) == [
                "required_scheme": "bearer", "configured_scheme": "bearer", "login_expires_at": "2026-01-01T00:00:00Z",
            ]
        )
        // The next login replaces the expired one.
        #expect(try await logIn(bench).exitCode == 0)
        #expect(try await bench.runner.run(["media", "list", "--server", sandbox.baseURL]).exitCode == 0)
    }

    private func facts(_ check: [String: Any]?) -> [String: String] {
        let list = check?["facts"] as? [[String: String]] ?? []
        return Dictionary(uniqueKeysWithValues: list.map { ($0["name"] ?? "", $0["value"] ?? "") })
    }

    @Test func aRevokedLoginRequiresANewOne() async throws {
        let sandbox = try await Self.sandbox()
        let bench = try Self.bench(sandbox.baseURL)
        #expect(try await logIn(bench).exitCode == 0)
        try await sandbox.revokeLogins()
        let result = try await bench.runner.run(["media", "list", "--server", sandbox.baseURL, "--json"])
        #expect(result.exitCode == 4 && error(result)["code"] as? String == "login_required")
        #expect(error(result)["hint"] as? String == "mediactl login --server \(sandbox.baseURL)")
    }

    /// 403 is about the role: a new login would not help this user.
    @Test func aMissingPermissionDoesNotRequireALogin() async throws {
        let sandbox = try await Self.sandbox()
        let bench = try Self.bench(sandbox.baseURL)
        #expect(try await logIn(bench, role: "viewer").exitCode == 0)
        let upload = try await bench.runner.run(
            ["upload", try bench.movie(5000), "--server", sandbox.baseURL, "--json"]
        )
        let errors = upload.records.compactMap { $0["error"] as? [String: Any] }
        #expect(upload.exitCode == 4 && errors.first?["code"] as? String == "forbidden", "\(upload.output)")
        let doctor = try await bench.runner.run(["doctor", "--server", sandbox.baseURL, "--json"])
        let checks = Dictionary(
            uniqueKeysWithValues: doctor.items.map { ($0["name"] as? String ?? "", $0["status"] as? String ?? "") }
        )
        #expect(checks["login"] == "passed" && checks["role"] == "failed")
    }

    @Test(arguments: [
        ("contributor@example.org", "wrong", "unauthorized", 4), ("contributor", "x", "bad_request", 2),
        ("disabled@example.org", "locked-out", "forbidden", 4),
    ])
    func aRejectedLoginStoresNothing(user: String, password: String, code: String, exitCode: Int32) async throws {
        let sandbox = try await Self.sandbox(["--user", "disabled@example.org:locked-out"])
        let bench = try Self.bench(sandbox.baseURL)
        let result = try await bench.runner.run(
            ["login", "--server", sandbox.baseURL, "--user", user, "--password-stdin", "--json"],
            input: password
        )
        #expect(result.exitCode == exitCode && error(result)["code"] as? String == code, "\(result.output)")
        #expect(!FileManager.default.fileExists(atPath: bench.dataPath + "/logins.json"))
    }

    /// Today's servers have no logins: Basic authentication remains possible, even after a response that suggested
    /// otherwise.
    @Test func aServerWithoutLoginsAcceptsPasswords() async throws {
        let sandbox = try await SandboxProcess.start(dialect: "d4")
        let bench = try Self.bench(sandbox.baseURL)
        try makeDirectory(bench.dataPath)
        let mark = #"{"version":1,"servers":{"\#(sandbox.baseURL)":{"requires_login":true}}}"#
        try Data(mark.utf8).write(to: URL(fileURLWithPath: bench.dataPath + "/logins.json"))
        let words = ["media", "list", "--json"] + bench.login
        let password = ["MEDIACTL_PASSWORD": "uploader"]
        #expect(try await bench.runner.run(words, extra: password).exitCode == 4)
        let login = try await logIn(bench, ["--json"])
        #expect(login.exitCode == 5 && error(login)["code"] as? String == "login_unavailable", "\(login.output)")
        #expect(try await bench.runner.run(words, extra: password).exitCode == 0)
    }

    @Test func aLoginIsSentToNoOtherServer() async throws {
        let sandbox = try await Self.sandbox()
        let other = try await Self.sandbox()
        let bench = try Self.bench(sandbox.baseURL)
        #expect(try await logIn(bench).exitCode == 0)
        let result = try await bench.runner.run(["media", "list", "--server", other.baseURL, "--no-input"])
        #expect(result.exitCode == 4)
        #expect(try await other.requests().allSatisfy { $0.credentials.isEmpty })
        // The same port under a different name is a different origin.
        let named = "http://localhost:\(sandbox.port)"
        let before = try await sandbox.requests().count
        #expect(try await bench.runner.run(["media", "list", "--server", named, "--no-input"]).exitCode == 4)
        #expect(try await sandbox.requests().dropFirst(before).allSatisfy { $0.credentials.isEmpty })
    }

    @Test func plainHTTPToAnotherMachineIsRefused() async throws {
        let bench = try Self.bench("http://192.0.2.1")
        let result = try await logIn(bench, ["--json"])
        #expect(result.exitCode == 2 && (error(result)["hint"] as? String)?.contains("--allow-http") == true)
    }

    @Test func everythingIsLoggedOut() async throws {
        let (one, two) = (try await Self.sandbox(), try await Self.sandbox())
        let bench = try Self.bench(one.baseURL)
        for server in [one, two] {
            let login = ["login", "--server", server.baseURL, "--user", Self.user, "--password-stdin"]
            #expect(try await bench.runner.run(login, input: "contributor").exitCode == 0)
        }
        let photos = try await SandboxProcess.start()
        let key = ["login", "--server", photos.baseURL, "--api-key-stdin"]
        #expect(try await bench.runner.run(key, input: SandboxProcess.aliceKey).exitCode == 0)
        let planned = try await bench.runner.run(["logout", "--all", "--dry-run", "--json"])
        #expect((planned.records.last?["servers"] as? [String])?.count == 3)
        #expect(try await bench.runner.run(["login", "status", "--json"]).items.count == 3)
        #expect(try await bench.runner.run(["logout", "--all"]).exitCode == 0)
        let status = try await bench.runner.run(["login", "status", "--json"])
        #expect(status.exitCode == 4 && status.items.allSatisfy { $0["scheme"] is NSNull })
        #expect(try !stored(bench).contains("token"))
    }

    /// Without --user, a server that is known to require a login is an upload server.
    @Test func theHintWorksWhenPasted() async throws {
        let sandbox = try await Self.sandbox()
        let bench = try Self.bench(sandbox.baseURL)
        let first = try await bench.runner.run(
            ["media", "list", "--json"] + bench.login,
            extra: ["MEDIACTL_PASSWORD": "uploader"]
        )
        let hint = try #require(error(first)["hint"] as? String)
        let words = hint.split(separator: " ").dropFirst().map(String.init)
        let login = try await bench.runner.run(
            words,
            extra: ["MEDIACTL_USER": Self.user, "MEDIACTL_PASSWORD": "contributor"]
        )
        #expect(login.exitCode == 0, "\(login.errors)")
        #expect(try await bench.runner.run(["media", "list", "--server", sandbox.baseURL]).exitCode == 0)
    }
}
