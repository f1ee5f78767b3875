import Foundation
import Outcomes
import TestSupport
import Testing

/// `mediactl doctor` against the sandbox and scripted servers: it checks, and changes nothing.
@Suite struct DoctorTests {
    private static func doctor(
        _ server: String,
        user: String = "uploader",
        password: String? = nil,
        _ more: [String] = []
    ) async throws -> CheckReport {
        var runner = try BinaryRunner()
        runner.environment["MEDIACTL_PASSWORD"] = password ?? user
        runner.environment["MEDIACTL_RETRIES"] = "0"
        return CheckReport(try await runner.run(["doctor", "--json", "--server", server, "--user", user] + more))
    }

    private static func statuses(_ report: CheckReport) -> [String: String] { values("status", report) }

    /// A member of each check, by the check's name.
    private static func values(_ member: String, _ report: CheckReport) -> [String: String] {
        let items = report.records.filter { $0["type"] as? String == "item" }
        return Dictionary(
            uniqueKeysWithValues: items.map { ($0["name"] as? String ?? "", $0[member] as? String ?? "") }
        )
    }

    @Test func aHealthyServerPasses() async throws {
        let sandbox = try await SandboxProcess.start()
        let report = try await Self.doctor(sandbox.baseURL)
        #expect(report.result.exitCode == 0)
        let statuses = Self.statuses(report)
        for name in ["name", "kind", "health", "login", "role", "limits", "clock"] {
            #expect(statuses[name] == "passed", "\(name)")
        }
        #expect(statuses["tls"] == "skipped")
        try report.result.expectShapes("doctor")
    }

    /// A file in two events is listed twice.
    @Test func theEntriesOfTheListingAreCounted() async throws {
        let (fixture, file) = try await BatchFixture.withFile("a.mp4")
        for (date, entries) in [("2026-03-01", "1 entry"), ("2026-03-02", "2 entries")] {
            #expect(try await fixture.upload([file, "--event-date", date]).exitCode == 0)
            let doctor = try await fixture.runner.run(["doctor"] + fixture.login)
            #expect(doctor.output.contains("the server lists \(entries)\n"), "\(doctor)")
        }
    }

    @Test func aFileMayBeAsLargeAsTusAllows() async throws {
        let sandbox = try await SandboxProcess.start(arguments: ["--tus-max-size", "2000000000"])
        let limits = Self.values("detail", try await Self.doctor(sandbox.baseURL))["limits"]
        #expect(limits == "2.00 GB per file; 1.07 GB per multipart request")
    }

    @Test func withoutASecureConnectionNothingElseIsChecked() async throws {
        let sandbox = try await SandboxProcess.start()
        let report = try await Self.doctor("https" + sandbox.baseURL.dropFirst(4))
        #expect(report.result.exitCode == 6)
        let details = Self.values("detail", report)
        let skipped = Self.statuses(report).filter { $0.value == "skipped" }.keys
        #expect(skipped.count == 7, "\(details)")
        for name in skipped { #expect(details[name] == "not checked: no secure connection", "\(name)") }
    }

    @Test func nothingIsWritten() async throws {
        let sandbox = try await SandboxProcess.start()
        _ = try await Self.doctor(sandbox.baseURL)
        let methods = Set(try await sandbox.requests().map(\.method))
        #expect(!methods.isEmpty && methods.isSubset(of: ["GET", "HEAD", "OPTIONS"]))
    }

    /// The server's own cache serves a day-old health response unless the query changes (trap T18).
    @Test func healthIsQueriedPastTheCache() async throws {
        let sandbox = try await SandboxProcess.start()
        _ = try await Self.doctor(sandbox.baseURL)
        let health = try await sandbox.requests().filter { $0.path.hasPrefix("/db/health.php") }
        #expect(!health.isEmpty && health.allSatisfy { $0.path.contains("?t=") })
    }

    @Test(arguments: [
        ("viewer", "viewer", "passed", "failed", "not checked: this user cannot upload"),
        ("uploader", "wrong", "failed", "skipped", "not checked: login failed"),
        ("admin", "admin", "passed", "passed", "tus 1.0.0: "),
    ])
    func loginFailureAndMissingRoleAreDistinguished(
        user: String,
        password: String,
        login: String,
        role: String,
        tus: String
    ) async throws {
        let sandbox = try await SandboxProcess.start()
        let report = try await Self.doctor(sandbox.baseURL, user: user, password: password)
        let statuses = Self.statuses(report)
        #expect(statuses["login"] == login && statuses["role"] == role)
        #expect(Self.values("detail", report)["tus"]?.hasPrefix(tus) == true)
        #expect(report.result.exitCode == (role == "passed" ? 0 : 4))
    }

    /// The permissions in the contract's table of paths (gighive contract section 1).
    @Test(arguments: [
        ("uploader", "uploader: can upload, and delete files with their tokens"),
        ("admin", "admin: can upload, and delete any file"),
    ])
    func theRoleIsReportedWithItsAbilities(user: String, ability: String) async throws {
        let sandbox = try await SandboxProcess.start()
        let report = try await Self.doctor(sandbox.baseURL, user: user)
        #expect(Self.values("detail", report)["role"] == ability)
    }

    /// D1 has no pages below `/admin/`. A deletion without IDs deletes nothing, and its response shows the role
    /// (gighive contract 5.4).
    @Test(arguments: [
        ("uploader", "uploader: can upload, and delete files with their tokens"),
        ("admin", "admin: can upload, and delete any file"),
        ("viewer", "viewer or guest: can list and download, but not upload or delete"),
    ])
    func theRoleIsDeterminedWithoutAdminPages(user: String, ability: String) async throws {
        let sandbox = try await SandboxProcess.start(dialect: "d1")
        try await FaultFixture(sandbox.baseURL).upload().expectSuccess("done")
        let before = try await sandbox.posts()
        let report = try await Self.doctor(sandbox.baseURL, user: user)
        let role = report.records.first { $0["name"] as? String == "role" }
        #expect(role?["detail"] as? String == ability)
        #expect(try await sandbox.posts() == before + (user == "viewer" ? 0 : 1))
        #expect(try sandbox.storedFiles().count == 1)
    }

    /// On a server that allows everyone below `/admin/`, an uploader is not reported as admin.
    @Test func anOpenAdminPageProvesNothing() async throws {
        let server = try Self.server { request in
            switch request {
            case _ where request.hasPrefix("GET /db/health.php"): (200, #"{"status":"ok","message":"fine"}"#)
            case _ where request.hasPrefix("GET /api/uploads/"): (404, #"{"error":"Not Found"}"#)
            case _ where request.hasPrefix("GET /db/database.php"): (200, #"{"pagination":{"total":0},"entries":[]}"#)
            default: (200, "")
            }
        }
        let report = try await Self.doctor(server.address, user: "uploader")
        #expect(Self.values("detail", report)["role"]?.hasPrefix("uploader or admin: ") == true)
    }

    struct Kind: Sendable {
        var name: String
        var path: String
        var status = 200
        var body: String
    }

    /// Responses of each kind of server without a login (contracts: gighive section 7, photosync section 2, setup gate,
    /// hash-only section 1.4).
    @Test(arguments: [
        Kind(name: "photosync", path: "/api/health", body: #"{"status":"healthy","timestamp":"2026-01-01T00:00:00Z"}"#),
        Kind(
            name: "photosync",
            path: "/",
            status: 503,
            body: #"{"error":"Setup required","message":"x","setupUrl":"/setup"}"#
        ),
        Kind(
            name: "capture",
            path: "/api/v1/verify/",
            status: 404,
            body: #"{"error":{"code":"CAPTURE_NOT_FOUND","message":"x"},"meta":{"request_id":"r","timestamp":"t"}}"#
        ),
        Kind(name: "", path: "/nowhere", body: ""),
    ])
    func otherServicesAreNotSentGigHiveRequests(kind: Kind) async throws {
        let server = try Self.server { request in
            let path = request.split(separator: " ").dropFirst().first ?? ""
            return path.hasPrefix(kind.path) ? (kind.status, kind.body) : (404, "<html></html>")
        }
        let report = try await Self.doctor(server.address)
        let statuses = Self.statuses(report)
        for name in ["health", "login", "role", "tus", "limits", "clock"] { #expect(statuses[name] == "skipped") }
        #expect(statuses["kind"] == (kind.name.isEmpty ? "failed" : "passed"))
        #expect(report.result.exitCode == (kind.name.isEmpty ? 7 : 0))
        let check = report.records.first { $0["name"] as? String == "kind" }
        let facts = check?["facts"] as? [[String: String]]
        #expect(facts?.first { $0["name"] == "kind" }?["value"] == (kind.name.isEmpty ? nil : kind.name))
        let pages = try Self.harmlessPages
        #expect(Set(OutcomeTable.servers.flatMap(\.pages).map(\.path)) == Set(pages))
        for request in server.requests.map(\.head) {
            #expect(!request.lowercased().contains("authorization:"))
            let queries = pages.map { "GET \($0)?t=" }
            #expect(queries.contains { request.hasPrefix($0) }, "\(request)")
        }
    }

    /// Pages that the servers show to everyone, and that change nothing (gighive contract section 7, photosync contract
    /// section 2, hash-only contract 6.3): a file per type of server, a line per page.
    private static var harmlessPages: [String] {
        get throws {
            let directory = Repository.root.appending(path: "fixtures/pages")
            return try FileManager.default.contentsOfDirectory(at: directory, includingPropertiesForKeys: nil).flatMap {
                try String(contentsOf: $0, encoding: .utf8).split(separator: "\n").map(String.init)
            }
        }
    }

    private static func server(_ response: @escaping @Sendable (String) -> (Int, String)) throws -> RecordingServer {
        try RecordingServer { request, _ in
            let (status, body) = response(request.head)
            return .init(status: status, body: request.head.hasPrefix("HEAD") ? "" : body)
        }
    }

    private static let photoServer = #"{"status":"healthy","timestamp":"2026-01-01T00:00:00Z"}"#

    /// `login` and `sync` accept such an address.
    @Test(arguments: [("/api/health", photoServer, 0), ("/db/health.php", #"{"status":"ok"}"#, 2)])
    func aServerBelowAPathIsChecked(page: String, body: String, exitCode: Int32) async throws {
        let server = try Self.server { request in
            return request.hasPrefix("GET /photos\(page)") ? (200, body) : (404, "<html></html>")
        }
        var runner = try BinaryRunner()
        runner.environment["MEDIACTL_PASSWORD"] = "secret"
        let command = ["doctor", "--json", "--server", server.address + "/photos/"]
        let report = CheckReport(try await runner.run(command))
        #expect(report.result.exitCode == exitCode, "\(report.result)")
        #expect(Self.statuses(report)["kind"] == (exitCode == 0 ? "passed" : "failed"))
        #expect(exitCode == 0 || report.result.output.contains("has no path; use \(server.address)"))
        let requests = server.requests.map(\.head)
        #expect(!requests.isEmpty)
        for request in requests {
            #expect(request.hasPrefix("GET /photos/") && !request.lowercased().contains("authorization:"), "\(request)")
        }
        // A server of this kind does not receive credentials, so options that specify credentials are refused.
        #expect(try await runner.run(command + ["--user", "uploader"]).exitCode == 2)
    }

    /// The address that `sync` or `hash-only` uses, if no upload server is configured.
    @Test(arguments: ["MEDIACTL_SYNC_URL", "MEDIACTL_CAPTURE_URL"])
    func anyConfiguredServerIsChecked(variable: String) async throws {
        let server = try Self.server { request in
            request.hasPrefix("GET /api/health") ? (200, Self.photoServer) : (404, "<html></html>")
        }
        var runner = try BinaryRunner()
        runner.environment[variable] = server.address
        let report = CheckReport(try await runner.run(["doctor", "--json"]))
        #expect(report.result.exitCode == 0 && Self.statuses(report)["kind"] == "passed", "\(report.result)")
        let sandbox = try await SandboxProcess.start()
        runner.environment["MEDIACTL_SERVER"] = sandbox.baseURL
        let both = try await runner.run(["doctor", "--no-input"])
        #expect(both.exitCode == 0 && both.output.contains("GigHive server"), "\(both)")
        #expect(both.errors.contains("to check it: mediactl doctor --server \(server.address)\n"), "\(both.errors)")
    }

    @Test func withoutALoginTheOtherChecksRun() async throws {
        let sandbox = try await SandboxProcess.start()
        let result = try await BinaryRunner().run(["doctor", "--json", "--server", sandbox.baseURL, "--no-input"])
        let statuses = Self.statuses(CheckReport(result))
        #expect(result.exitCode == 0)
        #expect(statuses["login"] == "skipped" && statuses["health"] == "passed")
    }

    /// An unavailable server sends Retry-After in every response (trap T24); doctor does not wait.
    @Test func anUnavailableServerIsReportedAtOnce() async throws {
        let server = try RecordingServer { request, _ in
            let body = request.head.hasPrefix("HEAD") ? "" : "<html></html>"
            return .init(status: 503, body: body, headers: ["Retry-After: 60"])
        }
        var runner = try BinaryRunner()
        runner.environment["MEDIACTL_PASSWORD"] = "uploader"
        let report = CheckReport(
            try await runner.run(["doctor", "--json", "--server", server.address, "--user", "uploader"])
        )
        #expect(report.result.exitCode == 7)
        #expect(Self.statuses(report)["kind"] == "failed")
        #expect(report.result.output.contains("the server failed (503): server unavailable"))
        for name in ["health", "login", "role", "tus", "limits", "clock"] {
            #expect(Self.statuses(report)[name] == "skipped")
            #expect(Self.values("detail", report)[name] == "not checked: server unavailable (503)")
        }
        #expect(server.requests.count == 1)
    }

    @Test func warningsAreNotPassedChecks() async throws {
        let sandbox = try await SandboxProcess.start(arguments: ["--no-tus"])
        var runner = try BinaryRunner()
        runner.environment["MEDIACTL_PASSWORD"] = "uploader"
        let result = try await runner.run(["doctor", "--server", sandbox.baseURL, "--user", "uploader"])
        #expect(result.exitCode == 0)
        #expect(result.errors.hasSuffix("note: 7 of 9 checks passed, 1 warning, 1 skipped\n"))
    }

    @Test func anUnhealthyServerFails() async throws {
        let sandbox = try await SandboxProcess.start(faults: ["health:status=500"])
        let report = try await Self.doctor(sandbox.baseURL)
        #expect(report.result.exitCode == 7)
        #expect(Self.statuses(report)["health"] == "failed")
        #expect(Self.statuses(report)["login"] == "passed")
    }

    @Test func anUnreachableAddressFails() async throws {
        let listener = try SilentListener()
        let report = try await Self.doctor("http://127.0.0.1:\(listener.port)", ["--timeout", "0.5"])
        #expect(report.result.exitCode == 6)
        let last = try #require(report.records.last)
        #expect(last["type"] as? String == "summary" && last["exit_code"] as? Int == 6)
        #expect(Self.statuses(report).count == 9)
    }
}
