import Foundation
import TestSupport
import Testing

/// `login` and `logout` of the built program.
@Suite(.prompt) struct LoginTests {
    private static let key = SandboxProcess.aliceKey

    private func expectNoSecret(_ result: ChildResult) {
        for secret in [Self.key, SandboxProcess.bobKey, "alice-password"] {
            #expect(!result.output.contains(secret) && !result.errors.contains(secret))
        }
    }

    @Test func keyAndDeviceAreReadableOnlyByTheirOwner() async throws {
        let fixture = try await SyncFixture()
        let file = try fixture.secret(Self.key)
        let report = try await fixture.json("login", "--api-key-file", file, "--device-name", "Studio", "-vv")
        #expect(report.result.exitCode == 0)
        #expect(report.last["device_name"] as? String == "Studio" && report.last["logged_in"] as? Bool == true)
        expectNoSecret(report.result)
        let store = fixture.runner.home.file("data/mediactl/library.sqlite")
        let attributes = try FileManager.default.attributesOfItem(atPath: store)
        #expect(attributes[.posixPermissions] as? Int == 0o600)

        let status = try await fixture.json("sync", "status", "-vv")
        #expect(status.result.exitCode == 0)
        #expect(status.last["device_id"] as? String == report.last["device_id"] as? String)
        expectNoSecret(status.result)
    }

    @Test func everyWayToSpecifyAKeyWorks() async throws {
        let fixture = try await SyncFixture()
        let file = try fixture.secret(Self.key)
        let piped = try await fixture.runner.run(["login", "--api-key-stdin"], input: Self.key + "\r\n")
        #expect(piped.exitCode == 0)
        #expect(try await fixture.run("login", extra: ["MEDIACTL_API_KEY": Self.key]).exitCode == 0)
        #expect(try await fixture.run("login", extra: ["MEDIACTL_API_KEY_FILE": file]).exitCode == 0)
        #expect(try await fixture.run("logout").exitCode == 0)
        // The key in the environment is sufficient without a login.
        #expect(try await fixture.run("sync", "status", extra: ["MEDIACTL_API_KEY": Self.key]).exitCode == 0)
        // A password for another service is not a key.
        #expect(try await fixture.run("sync", "status", extra: ["MEDIACTL_PASSWORD": Self.key]).exitCode == 4)
    }

    /// A server does not rename a device.
    @Test(arguments: [("Studio", false), ("Desk", true)])
    func anotherNameOfARegisteredMachineIsNotIgnoredSilently(name: String, isNoted: Bool) async throws {
        let fixture = try await SyncFixture.loggedIn()
        let key = try fixture.secret(Self.key)
        let result = try await fixture.run("login", "--api-key-file", key, "--device-name", name)
        #expect(result.exitCode == 0)
        #expect(result.errors.contains("already registered; the server keeps its name \"Studio\"") == isNoted)
    }

    @Test func rejectedKeyKeepsTheEarlierLogin() async throws {
        let fixture = try await SyncFixture.loggedIn()
        let wrong = try fixture.secret(String(repeating: "f", count: 64))
        let report = try await fixture.json("login", "--api-key-file", wrong)
        #expect(report.result.exitCode == 4 && report.error["code"] as? String == "unauthorized")
        #expect((report.error["hint"] as? String)?.contains("another login by the same user") == true)
        #expect(!report.result.errors.contains("ffff"))
        #expect(try await fixture.run("sync", "status").exitCode == 0)
    }

    // Trap 9: there is no prompt without a terminal, and standard input is not read.
    @Test(arguments: [[], ["--no-input"], ["--email", "alice@example.test", "--yes"]])
    func thereIsNoPromptWithoutATerminal(more: [String]) async throws {
        let fixture = try await SyncFixture()
        let result = try await fixture.runner.run(["login"] + more, input: Self.key + "\n")
        #expect(result.exitCode == 4)
        #expect(result.errors.contains("mediactl: hint: "))
        #expect(try await fixture.sandbox.requests().isEmpty)
    }

    @Test func terminalPromptsWithoutEcho() async throws {
        let fixture = try await SyncFixture()
        let child = try fixture.runner.start(["login", "--device-name", "Desk"], streams: .terminal(columns: 100))
        try await child.respond(to: "API key for \(fixture.sandbox.baseURL): ", with: Self.key + "\n")
        let result = try await child.finish()
        #expect(result.exitCode == 0 && result.output.contains("as \"Desk\""))
        expectNoSecret(result)
    }

    // Trap 9: a login by email signs out all other devices.
    @Test func emailLoginRequiresYesWithoutATerminal() async throws {
        let fixture = try await SyncFixture()
        let arguments = ["login", "--email", "alice@example.test", "--password-stdin"]
        let result = try await fixture.runner.run(arguments, input: "alice\n")
        #expect(result.exitCode == 2 && result.errors.contains("--yes"))
        #expect(try await fixture.sandbox.requests().isEmpty)
    }

    // The previous key is void as soon as the server has responded, even if the response was lost.
    @Test(arguments: [
        ("login:content-type=text/plain,times=1", 0, nil),
        ("login:drop-response", 6, "may have issued a new API key"),
        ("login:status=401", 4, nil), ("devices:status=500,times=1", 7, "API key is stored"),
    ])
    func emailLoginReportsTheStateOfTheKey(fault: String, exitCode: Int32, warning: String?) async throws {
        let fixture = try await SyncFixture(faults: [fault])
        let arguments = ["login", "--email", "alice@example.test", "--password-stdin", "--yes"]
        let result = try await fixture.runner.run(arguments, input: "alice\n")
        #expect(result.exitCode == exitCode)
        #expect(result.errors.contains("new API key") == (warning != nil))
        if let warning { #expect(result.errors.contains(warning)) }
        let isKept = exitCode == 0 || exitCode == 7
        #expect(try await fixture.run("sync", "status").exitCode == (isKept ? 0 : 4))
    }

    // A server with Basic authentication, such as GigHive, is not a PhotoSync server.
    @Test func aServerWithPasswordsNeedsNoLogin() async throws {
        let sandbox = try await SandboxProcess.start()
        let runner = try BinaryRunner()
        let result = try await runner.run(["login", "--server", sandbox.baseURL], streams: .terminal(columns: 200))
        #expect(result.exitCode == 5 && !result.output.contains("API key for"), "\(result.output)")
        #expect(result.output.contains("it requires a user name and password"), "\(result.output)")

        let site = try ScriptedServer { connection, _ in
            _ = try connection.readRequest()
            try connection.write(
                "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"GigHive\"\r\nContent-Length: 0\r\n"
                    + "Connection: close\r\n\r\n"
            )
            connection.waitForClose()
        }
        for command in ["login", "sync"] {
            let report = try await runner.run(
                [command, "--server", "http://127.0.0.1:\(site.port)"],
                extra: ["MEDIACTL_API_KEY": Self.key]
            )
            #expect(report.exitCode == 4, "\(report.errors)")
            #expect(
                report.errors.contains("error: not a PhotoSync server (401): it requires a user name and password\n"),
                "\(report.errors)"
            )
        }
    }

    @Test func anUploadServerWithPasswordsDoesNotPreventALoginToAPhotoServer() async throws {
        let (uploads, photos) = (try await SandboxProcess.start(), try await SandboxProcess.start())
        let runner = try BinaryRunner()
        let child = try runner.start(
            ["login"],
            streams: .terminal(columns: 200),
            extra: ["MEDIACTL_UPLOADS_URL": uploads.baseURL, "MEDIACTL_SYNC_URL": photos.baseURL]
        )
        try await child.signal(SIGINT, after: "API key for \(photos.baseURL): ")
        #expect(try await child.finish().exitCode == 130)
    }

    @Test func emailLoginRotatesTheKey() async throws {
        let fixture = try await SyncFixture.loggedIn()
        let result = try await fixture.runner.run(
            ["login", "--email", "Alice@example.test", "--password-stdin", "--yes", "--json", "-vv"],
            input: "alice\n"
        )
        let report = try SyncFixture.report(of: result)
        #expect(result.exitCode == 0 && report.last["key_rotated"] as? Bool == true)
        #expect(report.last["email"] as? String == "alice@example.test")
        expectNoSecret(result)
        #expect(try await fixture.run("sync", "status").exitCode == 0)
        let old = try await fixture.run("sync", "status", extra: ["MEDIACTL_API_KEY": Self.key])
        #expect(old.exitCode == 4)
        #expect(try await fixture.requests("POST", "/api/mobile/auth/login") == 1)
    }

    @Test func emailLoginPromptsAndStatesTheConsequences() async throws {
        let fixture = try await SyncFixture()
        let child = try fixture.runner.start(
            ["login", "--email", "alice@example.test"],
            streams: .terminal(columns: 200)
        )
        try await child.respond(to: "Log in anyway?", with: "no\n")
        let result = try await child.finish()
        #expect(result.exitCode == 1)
        #expect(result.output.contains("every phone and program of this user loses its key"))
        #expect(try await fixture.sandbox.requests().isEmpty)
    }

    @Test func wrongPasswordIsNotReportedAsAWrongKey() async throws {
        let fixture = try await SyncFixture()
        let file = try fixture.secret("alice-password")
        let report = try await fixture.json("login", "--email", "alice@example.test", "--password-file", file, "--yes")
        #expect(report.result.exitCode == 4)
        #expect((report.error["message"] as? String)?.contains("email address or password") == true)
        expectNoSecret(report.result)
    }

    @Test func dryRunChangesNothing() async throws {
        let fixture = try await SyncFixture()
        let good = try await fixture.json("login", "--dry-run", extra: ["MEDIACTL_API_KEY": Self.key])
        #expect(good.result.exitCode == 0 && good.last["logged_in"] as? Bool == false)
        let mail = try await fixture.json("login", "--email", "alice@example.test", "--dry-run")
        #expect(mail.result.exitCode == 0)
        #expect(try await fixture.sandbox.requests().allSatisfy { $0.method == "GET" })
        #expect(try await fixture.run("sync", "status").exitCode == 4)
    }

    @Test func keyIsSentOnlyEncrypted() async throws {
        let fixture = try await SyncFixture()
        for command in [["login"], ["sync"], ["claim-legacy", "--list"]] {
            let result = try await fixture.runner.run(
                command + ["--server", "http://photos.invalid"],
                extra: ["MEDIACTL_API_KEY": Self.key]
            )
            #expect(result.exitCode == 2 && result.errors.contains("unencrypted"))
            expectNoSecret(result)
        }
    }

    @Test func logoutRemovesTheKeyAndMayBeRepeated() async throws {
        let fixture = try await SyncFixture.loggedIn()
        let before = try await fixture.sandbox.requests().count
        let dry = try await fixture.json("logout", "--dry-run")
        #expect(dry.last["was_logged_in"] as? Bool == true && dry.last["removed"] as? Bool == false)
        let first = try await fixture.json("logout")
        #expect(first.result.exitCode == 0 && first.last["removed"] as? Bool == true)
        let second = try await fixture.json("logout")
        #expect(second.result.exitCode == 0 && second.last["was_logged_in"] as? Bool == false)
        #expect(try await fixture.sandbox.requests().count == before)
        let status = try await fixture.json("sync", "status")
        #expect(status.result.exitCode == 4 && status.error["code"] as? String == "not_logged_in")
        #expect((status.error["hint"] as? String)?.contains("mediactl login") == true)
    }

    // A machine that logs in again is the same device (contract 1.3), and still owns its photos.
    @Test func deviceIsKeptAfterALogout() async throws {
        let fixture = try await SyncFixture.loggedIn()
        let before = try await fixture.json("sync", "status").last["device_id"] as? String
        _ = try await fixture.run("logout")
        let report = try await fixture.json("login", extra: ["MEDIACTL_API_KEY": Self.key])
        #expect(report.last["device_id"] as? String == before && before != nil)
    }

    @Test func serversBelowAPathAreSeparate() async throws {
        let fixture = try await SyncFixture(arguments: ["--base-path", "/photos"])
        let server = fixture.sandbox.baseURL + "/photos"
        let login = try await fixture.json(
            "login",
            "--server",
            server + "/",
            extra: ["MEDIACTL_API_KEY": Self.key]
        )
        #expect(login.result.exitCode == 0 && login.last["server"] as? String == server)
        #expect(try await fixture.run("sync", "--server", server).exitCode == 0)
        let other = try await fixture.run("sync", "--server", fixture.sandbox.baseURL)
        #expect(other.exitCode == 4)
        #expect(other.errors.contains("--server \(fixture.sandbox.baseURL) login, or set a key"), "\(other.errors)")
        // Upload servers are at the root of their host.
        let upload = try await fixture.run("upload", "/dev/null", "--server", server)
        #expect(upload.exitCode == 2 && upload.errors.contains("must not contain a path"))
    }

    // The stored device belongs to the user of the stored key, unless the server reports otherwise.
    @Test func anotherUsersKeyDoesNotGetThisDevice() async throws {
        let (fixture, directory) = try await SyncFixture.withPhotos("a.jpg")
        let bob = ["MEDIACTL_API_KEY": SandboxProcess.bobKey]
        let push = try await fixture.json("sync", "push", directory, extra: bob)
        #expect(push.result.exitCode == 4 && push.error["code"] as? String == "no_device")
        #expect(push.result.errors.contains("this machine is not registered for the user of this key"))
        #expect(try await fixture.sandbox.photos().isEmpty)
        let same = try await fixture.json("sync", "status", extra: ["MEDIACTL_API_KEY": Self.key])
        #expect(same.last["device_id"] as? String != nil)
    }

    @Test func unusableStoreIsExit12() async throws {
        let fixture = try await SyncFixture()
        let file = fixture.runner.home.file("file")
        try "x".write(toFile: file, atomically: true, encoding: .utf8)
        for command in [["login"], ["logout"], ["sync"], ["sync", "list"], ["claim-legacy", "--list"]] {
            let result = try await fixture.runner.run(command + ["--data-dir", file + "/below", "--json"])
            let report = try SyncFixture.report(of: result)
            #expect(result.exitCode == 12 && report.error["code"] as? String == "store_unusable")
        }
    }
}
