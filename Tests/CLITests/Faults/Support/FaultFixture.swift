import Foundation
import MediaStore
import TestSupport
import Testing

/// The built program, a file to upload, a server's address, and the token store for inspection afterwards. One
/// attempt only, and the query after a lost response lasts 0.3 seconds instead of 330.
struct FaultFixture: Sendable {
    /// Runs `mediactl`; its environment may be changed.
    var runner: BinaryRunner
    /// A file that starts like a real MP4.
    let file: String
    /// The value of `--server`. The credentials in the environment apply to this server as well.
    var server: String {
        didSet { runner.environment["MEDIACTL_SERVER"] = server }
    }

    init(_ server: String, byteCount: Int = 26_182) throws {
        self.server = server
        runner = try BinaryRunner()
        runner.environment.merge(
            [
                "MEDIACTL_SERVER": server, "MEDIACTL_PASSWORD": "uploader", "MEDIACTL_RETRIES": "0",
                "MEDIACTL_SETTLE_TIMEOUT": "0.3",
            ]
        ) { $1 }
        file = runner.home.file("clip.mp4")
        try Self.writeMovie(to: file, byteCount: byteCount, seed: 0)
    }

    /// An ISO base media file starts with a box of type ftyp (ISO/IEC 14496-12 section 4.3). The rest of the file is
    /// a hole.
    static func writeMovie(to path: String, byteCount: Int, seed: UInt8) throws {
        var bytes: [UInt8] = [0, 0, 0, 0x18] + Array("ftypisom".utf8) + [0, 0, 2, 0] + Array("isomiso2".utf8)
        bytes += (bytes.count..<min(byteCount, 20_000)).map { UInt8(truncatingIfNeeded: $0 &* 31) &+ seed }
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        try #require(truncate(path, byteCount) == 0)
    }

    /// Another file to upload, in the home directory.
    func movie(_ name: String) throws -> String {
        let path = runner.home.file(name)
        try Self.writeMovie(to: path, byteCount: 26_182, seed: 1)
        return path
    }

    /// The store's directory, as set by the runner's environment.
    var dataDirectory: String { runner.home.file("data/mediactl") }

    var login: [String] { ["--server", server, "--user", "uploader"] }

    /// Runs `mediactl upload FILE --json` to completion.
    func upload(
        _ more: [String] = [],
        path: String? = nil,
        extra: [String: String] = [:]
    ) async throws -> FaultReport {
        FaultReport(try await runner.run(["upload", path ?? file, "--json"] + login + more, extra: extra))
    }

    /// Starts `mediactl upload FILE --json --progress-events`.
    func startUpload(_ more: [String] = [], extra: [String: String] = [:]) throws -> ChildProcess {
        try runner.start(["upload", file, "--json", "--progress-events"] + login + more, extra: extra)
    }

    /// Runs `mediactl uploads delete … --json` to completion.
    func delete(_ arguments: [String], extra: [String: String] = [:]) async throws -> FaultReport {
        FaultReport(
            try await runner.run(
                ["uploads", "delete", "--json", "--user", "uploader"] + arguments,
                extra: extra
            )
        )
    }

    // MARK: The store

    /// Every upload in the journal, newest first.
    func journal() throws -> [UploadRecord] {
        try store().uploads(states: Set(UploadState.allCases), host: nil)
    }

    /// The states of the journal, newest first.
    func states() throws -> [UploadState] { try journal().map(\.state) }

    /// Every entry with a token.
    func tokens() throws -> [TokenEntry] { try store().tokens(host: nil) }

    func store() throws -> TokenStore {
        try TokenStore(in: try DataDirectory.open(dataDirectory))
    }
}

extension SandboxProcess {
    /// Host and port, as in the token store.
    var scope: String { String(baseURL.dropFirst("http://".count)) }

    /// Uploads and deletions that arrived.
    func posts() async throws -> Int {
        try await requests().count { $0.method == "POST" }
    }

    /// Stored files, by name.
    func storedFiles() throws -> [String] {
        try ["video", "audio"].flatMap {
            try FileManager.default.contentsOfDirectory(atPath: data.file("media/" + $0))
        }
    }
}
