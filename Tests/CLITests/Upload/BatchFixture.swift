import Foundation
import TestSupport
import Testing

@testable import MediaCLI

/// The built program, the real sandbox, and files to upload.
struct BatchFixture {
    let runner: BinaryRunner
    let sandbox: SandboxProcess
    let login: [String]

    init(faults: [String] = [], arguments: [String] = []) async throws {
        sandbox = try await SandboxProcess.start(faults: faults, arguments: arguments)
        var runner = try BinaryRunner()
        runner.environment.merge(["MEDIACTL_SERVER": sandbox.baseURL, "MEDIACTL_PASSWORD": "uploader"]) { $1 }
        self.runner = runner
        login = ["--server", sandbox.baseURL, "--user", "uploader"]
    }

    /// A file with unique content below the home directory.
    @discardableResult
    func file(_ name: String, byteCount: Int = 2_000) throws -> String {
        let path = runner.home.file(name)
        let directory = URL(fileURLWithPath: path).deletingLastPathComponent()
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        // An ISO base media file begins with a box of type ftyp (ISO/IEC 14496-12 section 4.3).
        var bytes: [UInt8] = [0, 0, 0, 0x18] + Array("ftypisom".utf8) + [0, 0, 2, 0] + Array("isomiso2".utf8)
        bytes += Array(name.utf8)
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        try #require(truncate(path, off_t(byteCount)) == 0)
        return path
    }

    static func withFile(
        _ name: String,
        byteCount: Int = 2_000,
        faults: [String] = []
    ) async throws -> (fixture: BatchFixture, file: String) {
        let fixture = try await BatchFixture(faults: faults)
        return (fixture, try fixture.file(name, byteCount: byteCount))
    }

    func text(_ name: String, _ content: String) throws -> String {
        try runner.home.write(name, content.utf8)
    }

    func upload(_ arguments: [String], input: String = "", extra: [String: String] = [:]) async throws -> ChildResult {
        try await runner.run(["upload"] + arguments + login, input: input, extra: extra)
    }

    static func report(_ path: String) throws -> [String: Any] {
        let value = try JSONSerialization.jsonObject(with: Data(contentsOf: URL(fileURLWithPath: path)))
        return try #require(value as? [String: Any])
    }

    /// Uploads over tus in small chunks until Ctrl-C after the first ones; the server does not read the fourth.
    func interruptedUpload(
        _ arguments: [String],
        by program: BinaryRunner? = nil,
        through wrapper: [String] = []
    ) async throws -> ChildResult {
        try await sandbox.addFaults("tus-patch:stall,skip=3")
        let earlier = try await sandbox.requests().count { $0.method == "PATCH" }
        let command = ["upload"] + arguments + ["--chunk-size", "64K"]
        let child = try (program ?? runner).start(command, through: wrapper)
        try await sandbox.waitForRequests { $0.count { $0.method == "PATCH" } >= earlier + 3 }
        child.signal(SIGINT)
        let result = try await child.finish()
        #expect(result.exitCode == 130, "\(result)")
        try await sandbox.clearFaults()
        return result
    }

    /// Uploads until the server has the requests, kills the program, and returns the ID of the upload in the journal.
    func killedUpload(
        _ arguments: [String],
        at moment: @escaping @Sendable ([SandboxProcess.SeenRequest]) -> Bool
    ) async throws -> String {
        let child = try runner.start(["upload"] + arguments + login)
        try await sandbox.waitForRequests(moment)
        child.signal(SIGKILL)
        #expect(try await child.finish().signal == SIGKILL)
        let known = try await runner.run(["uploads", "status", "--dry-run", "--json"])
        return try #require(try known.records().first?["upload_id"] as? String)
    }

    /// A netrc file with the login of the uploader on this machine, for servers without credentials in the environment.
    func netrc() throws -> String {
        let path = try text("netrc", "machine 127.0.0.1 login uploader password uploader\n")
        chmod(path, 0o600)
        return path
    }

    /// Calls the sandbox's control route.
    func control(_ method: String, _ path: String, _ body: String = "") async throws -> String {
        let result = try await ChildProcess.run(
            "curl",
            ["-sf", "-X", method, "-d", body, "\(sandbox.baseURL)/__sandbox/\(path)"]
        )
        try #require(result.exitCode == 0)
        return result.output
    }

    /// A new event link for the sandbox.
    func eventLink() async throws -> String {
        let response = try await control("POST", "event-links", "2026-03-01,Tus,wedding")
        let object = try JSONSerialization.jsonObject(with: Data(response.utf8)) as? [String: Any]
        return "\(sandbox.baseURL)/upload/\(try #require(object?["token"] as? String))"
    }
}
