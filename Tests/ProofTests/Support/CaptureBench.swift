import Foundation
import MediaStore
import TestSupport
import Testing

/// One machine that submits captures to a sandbox, and the built program on it. Nothing is retried.
struct CaptureBench {
    let sandbox: SandboxProcess
    var runner: BinaryRunner

    /// A machine that is not registered with any server.
    init(_ sandbox: SandboxProcess) throws {
        self.sandbox = sandbox
        runner = try BinaryRunner()
        runner.environment.merge(["MEDIACTL_CAPTURE_URL": sandbox.baseURL, "MEDIACTL_RETRIES": "0"]) { $1 }
    }

    /// A registered machine with its own sandbox.
    static func registered(faults: [String] = [], arguments: [String] = []) async throws -> CaptureBench {
        let bench = try CaptureBench(try await SandboxProcess.start(faults: faults, arguments: arguments))
        try await bench.succeed("register")
        return bench
    }

    var dataPath: String { runner.home.file("data/mediactl") }
    var vaultPath: String { dataPath + "/captures" }

    // MARK: Files

    /// A photo with content unique to the seed, and its depth map: nine numbers from the same seed.
    @discardableResult
    func photo(_ name: String, seed: Int, byteCount: Int = 5000) throws -> String {
        let random = randomBytes(byteCount - 4 + 18, seed: seed)
        let bytes: [UInt8] = [0xFF, 0xD8, 0xFF, 0xE0] + random.dropLast(18)
        let path = try runner.home.write(name, bytes)
        let rest = Array(random.suffix(18))
        let samples = (0..<9).map { 1 + Float(rest[2 * $0]) / 64 + Float(rest[2 * $0 + 1]) / 16_411 }
        try samples.withUnsafeBytes { Data($0) }.write(to: URL(fileURLWithPath: path + ".f32"))
        return path
    }

    /// The arguments that submit a photo created by `photo`.
    func sending(_ path: String) -> [String] { ["send", path, "--depth", path + ".f32", "--depth-size", "3x3"] }

    /// The output of `sha256sum` for files.
    func sha256(_ paths: [String]) async throws -> [String] {
        try await ChildProcess.run("/usr/bin/sha256sum", paths).lines.map { String($0.prefix(64)) }
    }

    // MARK: Commands

    /// Runs a command of `hash-only` to completion.
    func run(
        _ arguments: [String],
        extra: [String: String] = [:],
        through wrapper: [String] = []
    ) async throws -> ChildResult {
        try await runner.run(["hash-only"] + arguments + ["--json"], extra: extra, through: wrapper)
    }

    /// Runs a command that must succeed.
    @discardableResult
    func succeed(_ arguments: String...) async throws -> ChildResult {
        let result = try await run(arguments)
        try #require(result.exitCode == 0, "\(arguments): \(result.output)\(result.errors)")
        return result
    }

    /// Runs a command that is killed with SIGKILL at a failpoint.
    func die(_ arguments: [String], at place: String) async throws {
        let result = try await run(arguments, extra: ["MEDIACTL_KILL_AT": place])
        #expect(result.signal == SIGKILL, "\(place) was not reached: \(result.output)\(result.errors)")
        #expect(!result.output.contains("accepted"))
    }

    /// Runs a command that must fail with this exit code, and report the reason.
    func fail(_ arguments: [String], _ exitCode: Int32, naming words: String) async throws {
        let result = try await run(arguments)
        #expect(result.exitCode == exitCode, "\(arguments): \(result.output)\(result.errors)")
        #expect(result.errors.contains(words), "\(result.errors)")
    }

    /// The records, read by the library, newest first.
    func records() throws -> [CaptureRecord] { try LibraryStore(in: DataDirectory.open(dataPath)).captures() }

    // MARK: Leftovers

    /// Everything in the vault except its key, as paths below it, sorted.
    func kept() throws -> [String] { try Tree(vaultPath).files.keys.filter { $0 != "vault.key" }.sorted() }

    /// The vault contains the media and the depth map of each record, but no draft and no partial file.
    func expectWholeVault() throws {
        let expected = try records().flatMap { ["\($0.id)/depth", "\($0.id)/media"] }.sorted()
        #expect(try kept() == expected)
        #expect(Set(try Tree(vaultPath).directories.keys) == Set(try records().map(\.id)))
        // There are no counters before the first submission.
        let counters = try? FileManager.default.contentsOfDirectory(atPath: dataPath + "/capture-counters")
        #expect(counters?.count ?? 0 <= 1)
    }

    // MARK: The server

    /// The submissions that have reached the server, regardless of their outcome, oldest first.
    func submissions() async throws -> [SeenSubmission] {
        try await sandbox.captureBodies().filter { $0.path.hasSuffix("/hash-only") }.map { try SeenSubmission($0.body) }
    }

    /// The counters of all submissions are ascending.
    func expectAscendingCounters() async throws {
        let counters = try await submissions().map(\.counter)
        #expect(zip(counters, counters.dropFirst()).allSatisfy { $0 < $1 }, "\(counters)")
    }
}

/// A hash-only body as received by a server, parsed without the code that created it.
struct SeenSubmission {
    let body: [String: Any]
    let text: String
    /// The counter of the assertion: the last four of the 37 bytes of authenticator data, which follow 58 25 in CBOR
    /// (RFC 8949 section 3).
    let counter: UInt32

    init(_ bytes: [UInt8]) throws {
        text = String(decoding: bytes, as: UTF8.self)
        body = try #require(try JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any])
        let assertion = try #require((body["assertion"] as? String).flatMap { Data(base64Encoded: $0) })
        let start = try #require(assertion.range(of: Data([0x58, 0x25]))?.upperBound)
        counter = assertion[start + 33..<start + 37].reduce(0) { $0 << 8 | UInt32($1) }
    }

    var mediaHash: String { body["media_hash"] as? String ?? "" }
    var capturedAt: String { body["captured_at"] as? String ?? "" }
    var assertion: String { body["assertion"] as? String ?? "" }
}
