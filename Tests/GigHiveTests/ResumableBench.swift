import Foundation
import MediaCore
import MediaCrypto
import MediaFiles
import MediaStore
import MediaTransport
import Synchronization
import TestSupport
import Testing
import Tus

@testable import GigHive

/// A machine that uploads to a sandbox in small chunks over tus.
struct ResumableBench: UploadBench {
    static let chunkBytes: Int64 = 64 << 10

    let sandbox: SandboxProcess
    let temporary: TemporaryDirectory
    let directory: DataDirectory
    let store: TokenStore
    let client: GigHiveClient
    var options: UploadOptions

    /// Requests go through the address of a proxy, if one is specified.
    init(
        _ sandbox: SandboxProcess,
        user: String? = "uploader",
        retries: Int = 0,
        through proxy: String? = nil
    ) throws {
        self.sandbox = sandbox
        temporary = try TemporaryDirectory()
        directory = try DataDirectory.open(temporary.file("data"))
        store = try TokenStore(in: directory)
        let server = try ServerURL(proxy ?? sandbox.baseURL)
        client = GigHiveClient(
            server: server,
            http: try HTTPClient(configuration: HTTPClientConfiguration(retry: RetryPolicy(retries: 0))),
            authorization: user.map { .basic(user: $0, password: $0, for: server.origin) }
        )
        options = Self.options(retries: retries)
    }

    static func options(retries: Int = 0) -> UploadOptions {
        UploadOptions(
            retry: RetryPolicy(retries: retries, base: .milliseconds(1), retryAfterCap: .milliseconds(1)),
            processingTime: .milliseconds(300),
            transport: .tus,
            chunks: TusSendOptions(
                chunkBytes: chunkBytes,
                minimumChunkBytes: chunkBytes,
                maximumChunkBytes: chunkBytes,
                lock: .quickLock
            )
        )
    }

    var uploader: Uploader {
        var uploader = Uploader(
            client: client,
            store: store,
            directory: directory,
            options: options,
            schedule: OutcomeInquiry.Schedule(pauses: [.milliseconds(20)], finishedChecks: 2),
            finalizeRetry: RetryPolicy(delays: Array(repeating: .milliseconds(50), count: 40))
        )
        uploader.raceRetry.delays = [.zero]
        return uploader
    }

    // MARK: Files

    /// A file of this many bytes, different for each seed.
    func file(_ byteCount: Int = 640 << 10, seed: UInt8 = 7, name: String = "clip.mp4") throws -> [UInt8] {
        let path = try temporary.write(name, randomBytes(byteCount, seed: Int(seed)))
        return Array(path.utf8)
    }

    /// The bench, and a file.
    func withFile() throws -> (bench: ResumableBench, path: [UInt8]) { (self, try file()) }

    /// As printed by `sha256sum`.
    func checksum(_ path: [UInt8]) throws -> String {
        let result = try ChildProcess.run("sha256sum", ["-b", String(decoding: path, as: UTF8.self)])
        return String(result.output.prefix(64))
    }

    // MARK: Interruptions

    /// Uploads a file until more than this many chunks are acknowledged, then stops. When this returns, the server has
    /// processed everything that was sent: bytes that arrive later would interfere with a resumption.
    func stopped(_ upload: PreparedUpload, afterChunks count: Int = 3) async throws -> UploadResult {
        let control = TransferControl()
        let result = await uploader.upload(upload, control: control) { event in
            guard case .progress(let progress) = event, progress.bytesAcknowledged > Int64(count) * Self.chunkBytes
            else { return }
            control.stop()
        }
        let begun = Int((result.bytesSent + Self.chunkBytes - 1) / Self.chunkBytes)
        var idleChecks = 0
        try await sandbox.waitForRequests { seen in
            let patches = seen.filter { $0.method == "PATCH" }
            guard patches.allSatisfy(\.isOver) else { return false }
            if patches.count >= begun { return true }
            // The kernel may drop the start of a chunk together with its connection; the server then never receives
            // it. The server may also have received it and not read it yet.
            idleChecks = serverHasUnreadEnds ? 0 : idleChecks + 1
            return idleChecks == 50
        }
        return result
    }

    /// A file whose upload was stopped after its first chunks, and its row in the journal.
    func interrupted() async throws -> (path: [UInt8], row: UploadRecord) {
        let path = try file()
        _ = try await stopped(try prepare(path))
        return (path, try #require(try row()))
    }

    /// Whether a connection to the sandbox has been closed by this side but not yet by the sandbox (state CLOSE_WAIT
    /// of proc_net(5)).
    private var serverHasUnreadEnds: Bool {
        let table = (try? String(contentsOfFile: "/proc/net/tcp", encoding: .ascii)) ?? ""
        let hex = String(sandbox.port, radix: 16, uppercase: true)
        let port = ":" + String(repeating: "0", count: 4 - hex.count) + hex
        return table.split(separator: "\n").dropFirst().contains { line in
            let columns = line.split(separator: " ")
            return columns.count > 3 && columns[1].hasSuffix(port) && columns[3] == "08"
        }
    }

    // MARK: The server

    /// Digests of the files on the server, from the listing.
    func stored() async throws -> [String] {
        let admin = GigHiveClient(
            server: client.server,
            http: client.http,
            authorization: .basic(user: "admin", password: "admin", for: client.server.origin)
        )
        return try await admin.listing(view: .librarian).entries.compactMap { entry in
            entry.fileName.map { String($0.prefix(64)) }
        }
    }

    /// Sends a request to the sandbox's control route and returns the response's text.
    @discardableResult
    func control(_ method: HTTPMethod, _ path: String) async throws -> String {
        let request = HTTPRequest(method, client.server.resource("/__sandbox/\(path)"), repeatability: .atMostOnce)
        return String(decoding: try await client.http.execute(request).body, as: UTF8.self)
    }

    /// Titles in the listing.
    func titles() async throws -> [String] {
        let request = client.request(.get, "/db/database.php", [("format", "json")])
        let body = try await client.http.execute(request).body
        return ResponseText.content(of: body).members["entries"]?.elements.compactMap { $0.members?.text("song_title") }
            ?? []
    }

    func count(_ method: String, _ path: String) async throws -> Int {
        try await sandbox.requests().count { $0.method == method && $0.path.hasPrefix(path) }
    }

    /// Body bytes that the server received in all PATCH requests.
    func patchedBytes() async throws -> Int64 {
        try await sandbox.requests().filter { $0.method == "PATCH" }.reduce(0) { $0 + Int64($1.bodyBytesRead) }
    }
}

/// The events of an upload while it runs.
final class EventLog: Sendable {
    private let events = Mutex<[UploadEvent]>([])

    var all: [UploadEvent] { events.withLock { $0 } }

    @Sendable func add(_ event: UploadEvent) {
        events.withLock { $0.append(event) }
    }

    func contains(_ matches: (UploadEvent) -> Bool) -> Bool { all.contains(where: matches) }

    /// The reason for each restart.
    var restarts: [OutcomeCode] { all.compactMap { if case .restarting(let error) = $0 { error.code } else { nil } } }

    /// Whether an unfinished upload was left on the server.
    var hasLeftUnfinished: Bool { contains { if case .leavingUnfinished = $0 { true } else { false } } }

    /// Whether the upload waited until the server could no longer be processing a request.
    var hasWaitedForServer: Bool { contains { if case .waitingForServer = $0 { true } else { false } } }
}

extension RetryPolicy {
    /// The client waits for locks as in the product, with an initial delay of a millisecond.
    static let quickLock = RetryPolicy(delays: [.milliseconds(1)], cap: .seconds(30), totalDelay: .seconds(300))
}
