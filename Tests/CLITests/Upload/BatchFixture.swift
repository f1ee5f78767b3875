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

    static func withFile(_ name: String, byteCount: Int = 2_000) async throws -> (fixture: BatchFixture, file: String) {
        let fixture = try await BatchFixture()
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

    func posts() async throws -> Int {
        try await sandbox.requests().count { $0.method == "POST" }
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
