import Foundation
import MediaFiles
import MediaStore
import MediaTransport
import TestSupport

@testable import GigHive

/// The sandbox server as its own process, on a free port, with data of its own.
final class RunningSandbox: Sendable {
    let address: String
    private let data: TemporaryDirectory
    private let process: Process

    init(dialect: String = "d3", faults: [String] = []) throws {
        data = try TemporaryDirectory()
        process = Process()
        process.executableURL = Bundle.main.bundleURL.appendingPathComponent("mediactl-sandbox")
        process.arguments =
            ["--listen", "127.0.0.1:0", "--data", data.path, "--dialect", dialect]
            + faults.flatMap { ["--fault", $0] }
        let output = Pipe()
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        var line = ""
        while !line.hasSuffix("\n"), let byte = try output.fileHandleForReading.read(upToCount: 1), !byte.isEmpty {
            line += String(decoding: byte, as: UTF8.self)
        }
        address = String(line.dropFirst("listening on ".count).dropLast())
    }

    deinit {
        process.terminate()
        process.waitUntilExit()
    }

    /// A machine of its own that talks to this server.
    func bench(user: String = "uploader", retries: Int = 0) throws -> SandboxBench {
        try SandboxBench(self, user: user, retries: retries)
    }
}

/// A data directory, a client and files for one user of a sandbox.
struct SandboxBench {
    let sandbox: RunningSandbox
    let temporary: TemporaryDirectory
    let store: TokenStore
    let client: GigHiveClient
    let uploader: Uploader
    let deleter: Deleter

    init(_ sandbox: RunningSandbox, user: String, retries: Int) throws {
        self.sandbox = sandbox
        temporary = try TemporaryDirectory()
        let directory = try DataDirectory.open(temporary.file("data"))
        store = try TokenStore(in: directory)
        let server = try ServerURL(sandbox.address)
        client = GigHiveClient(
            server: server,
            http: try HTTPClient(configuration: HTTPClientConfiguration(retry: RetryPolicy(retries: 0))),
            authorization: .basic(user: user, password: user, for: server.origin)
        )
        uploader = Uploader(
            client: client,
            store: store,
            directory: directory,
            options: UploadOptions(
                retry: RetryPolicy(retries: retries, base: .milliseconds(1), retryAfterCap: .milliseconds(1)),
                settleTime: .milliseconds(200)
            ),
            schedule: OutcomeInquiry.Schedule(pauses: [.milliseconds(20)], settledLooks: 2)
        )
        deleter = Deleter(client: client, store: store, host: server.scope)
    }

    /// Uploads this content under this name.
    func upload(_ content: String = "abc", name: String = "clip.mp4", date: String = "2026-03-01") async throws
        -> UploadResult
    {
        try Data(content.utf8).write(to: URL(fileURLWithPath: temporary.file(name)))
        let details = try UploadDetails.validated(eventDate: date, orgName: "Band", eventType: "band", label: "one")
        return await uploader.upload(
            try uploader.prepare(.file(path: Array(temporary.file(name).utf8)), details: details)
        )
    }
}
