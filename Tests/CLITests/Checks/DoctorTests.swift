import Foundation
import TestSupport
import Testing

/// `mediactl doctor` against real servers: it looks, and changes nothing.
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
        for name in ["name", "health", "login", "role", "limits", "clock"] {
            #expect(statuses[name] == "passed", "\(name)")
        }
        #expect(statuses["tls"] == "skipped")
        for line in report.result.lines { try JSONSchemaTests.expectExactShape(line, schema: "doctor") }
    }

    @Test func aFileMayBeAsLargeAsTusAllows() async throws {
        let sandbox = try await SandboxProcess.start(arguments: ["--tus-max-size", "2000000000"])
        let limits = Self.values("detail", try await Self.doctor(sandbox.baseURL))["limits"]
        #expect(limits?.hasPrefix("2000000000 bytes a file; ") == true)
    }

    @Test func nothingIsWritten() async throws {
        let sandbox = try await SandboxProcess.start()
        _ = try await Self.doctor(sandbox.baseURL)
        let methods = Set(try await sandbox.requests().map(\.method))
        #expect(!methods.isEmpty && methods.isSubset(of: ["GET", "HEAD", "OPTIONS"]))
    }

    /// The server's own cache serves a day old health without a changing query (trap T18).
    @Test func healthIsAskedAroundTheCache() async throws {
        let sandbox = try await SandboxProcess.start()
        _ = try await Self.doctor(sandbox.baseURL)
        let health = try await sandbox.requests().filter { $0.path.hasPrefix("/db/health.php") }
        #expect(!health.isEmpty && health.allSatisfy { $0.path.contains("?t=") })
    }

    @Test(arguments: [
        ("viewer", "viewer", "passed", "failed", "this user may not upload"),
        ("uploader", "wrong", "failed", "skipped", "the login was refused"),
        ("admin", "admin", "passed", "passed", "tus 1.0.0: "),
    ])
    func loginAndRoleAreToldApart(
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

    @Test func withoutALoginTheRestIsLookedAt() async throws {
        let sandbox = try await SandboxProcess.start()
        let result = try await BinaryRunner().run(["doctor", "--json", "--server", sandbox.baseURL, "--no-input"])
        let statuses = Self.statuses(CheckReport(result))
        #expect(result.exitCode == 0)
        #expect(statuses["login"] == "skipped" && statuses["health"] == "passed")
    }

    @Test func aSickServerFails() async throws {
        let sandbox = try await SandboxProcess.start(faults: ["health:status=500"])
        let report = try await Self.doctor(sandbox.baseURL)
        #expect(report.result.exitCode == 7)
        #expect(Self.statuses(report)["health"] == "failed")
        #expect(Self.statuses(report)["login"] == "passed")
    }

    @Test func aDeadAddressFails() async throws {
        let listener = try DeafListener()
        let report = try await Self.doctor("http://127.0.0.1:\(listener.port)", ["--timeout", "0.5"])
        #expect(report.result.exitCode == 6)
        let last = try #require(report.records.last)
        #expect(last["type"] as? String == "summary" && last["exit_code"] as? Int == 6)
        #expect(Self.statuses(report).count == 8)
    }
}
