import Foundation
import MediaFiles
import MediaStore
import MediaTransport
import TestSupport

@testable import GigHive

extension SandboxProcess {
    /// A separate machine that uses this server.
    func bench(
        user: String = "uploader",
        retries: Int = 0,
        transport: UploadOptions.TransportChoice = .auto
    ) throws -> SandboxBench {
        try SandboxBench(self, user: user, retries: retries, transport: transport)
    }
}

/// A data directory, a client and files for one user of a sandbox.
struct SandboxBench: UploadBench {
    let sandbox: SandboxProcess
    let temporary: TemporaryDirectory
    let store: TokenStore
    let client: GigHiveClient
    var uploader: Uploader
    var hashes: HashCache?
    let deleter: Deleter

    init(
        _ sandbox: SandboxProcess,
        user: String,
        retries: Int,
        transport: UploadOptions.TransportChoice = .auto
    ) throws {
        self.sandbox = sandbox
        temporary = try TemporaryDirectory()
        let directory = try DataDirectory.open(temporary.file("data"))
        store = try TokenStore(in: directory)
        let server = try ServerURL(sandbox.baseURL)
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
                processingTime: .milliseconds(200),
                transport: transport
            ),
            schedule: OutcomeInquiry.Schedule(pauses: [.milliseconds(20)], finishedChecks: 2)
        )
        deleter = Deleter(client: client, store: store, host: server.scope)
    }

    /// Uploads this content under this name.
    func upload(
        _ content: String = "abc",
        name: String = "clip.mp4",
        date: String = "2026-03-01",
        label: String = "one"
    ) async throws -> UploadResult {
        await uploader.upload(try prepare(try file(content, name: name), label: label, date: date))
    }
}
