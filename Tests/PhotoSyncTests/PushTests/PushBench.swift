import Foundation
import MediaStore
import MediaTransport
import Synchronization
import TestSupport

@testable import PhotoSync

/// A sandbox, a user's machine that is registered there, and a directory of photos.
final class PushBench: Sendable {
    /// The report of a push.
    struct Outcome: Sendable {
        var items: [PushItem]
        var result: PushResult?
        var error: PhotoSyncError?

        /// Files by name, with their results.
        var states: [String: PushItem.State] {
            Dictionary(items.map { ($0.name, $0.state) }) { first, _ in first }
        }

        func item(_ name: String) -> PushItem? { items.first { $0.name == name } }
    }

    let sandbox: SandboxProcess
    let machine: TemporaryDirectory
    let photos: TemporaryDirectory
    let account: SyncAccount
    let hashes: HashCache

    init(_ arguments: String..., faults: [String] = []) async throws {
        sandbox = try await SandboxProcess.start(faults: faults, arguments: arguments)
        machine = try TemporaryDirectory()
        photos = try TemporaryDirectory()
        let data = try DataDirectory.open(machine.file("data"))
        let server = try ServerURL(sandbox.baseURL)
        let http = try HTTPClient(configuration: HTTPClientConfiguration(retry: Self.retryPolicy))
        let client = PhotoSyncClient(
            server: server,
            http: http,
            authorization: .apiKey(SandboxProcess.aliceKey, for: server.origin)
        )
        let library = try LibraryStore(in: data)
        let login = try await DeviceRegistration(client: client, library: library, deviceName: "bench")
            .logIn(apiKey: SandboxProcess.aliceKey)
        account = SyncAccount(
            client: client,
            deviceID: login.deviceID,
            index: try SyncIndex(in: data),
            library: library
        )
        hashes = HashCache(directory: machine.file("cache"))
    }

    /// Retries without a delay.
    static let retryPolicy = RetryPolicy(retries: 3, base: .zero)

    /// Writes a text file.
    @discardableResult
    func write(_ name: String, _ text: String = UUID().uuidString) throws -> [UInt8] {
        try write(name, Data(text.utf8))
    }

    @discardableResult
    func write(_ name: String, _ content: Data) throws -> [UInt8] {
        let path = photos.file(name)
        let directory = (path as NSString).deletingLastPathComponent
        try makeDirectory(directory)
        try content.write(to: URL(fileURLWithPath: path))
        return Array(path.utf8)
    }

    /// Pushes paths, or all photos.
    func push(
        _ paths: [[UInt8]]? = nil,
        jobs: Int = 2,
        dryRun: Bool = false,
        retry: RetryPolicy = PushBench.retryPolicy,
        as account: SyncAccount? = nil,
        control: TransferControl = TransferControl(),
        progress: (@Sendable (PushProgress) -> Void)? = nil
    ) async -> Outcome {
        let options = Push.Options(jobs: jobs, hashers: 2, isDryRun: dryRun, retry: retry)
        return await push(paths, options, as: account, control: control, progress: progress)
    }

    /// Pushes with changed options.
    func pushWith(
        _ paths: [[UInt8]]? = nil,
        dryRun: Bool = false,
        _ change: (inout Push.Options) -> Void
    ) async -> Outcome {
        var options = Push.Options(hashers: 2, isDryRun: dryRun, retry: PushBench.retryPolicy)
        change(&options)
        return await push(paths, options)
    }

    private func push(
        _ paths: [[UInt8]]?,
        _ options: Push.Options,
        as account: SyncAccount? = nil,
        control: TransferControl = TransferControl(),
        progress: (@Sendable (PushProgress) -> Void)? = nil
    ) async -> Outcome {
        let items = Noted<[PushItem]>([])
        let push = Push(account ?? self.account, hashes: hashes, options: options)
        do {
            let result = try await push.run(
                paths ?? [Array(photos.path.utf8)],
                control: control,
                onItem: { item in items.change { $0.append(item) } },
                progress: progress
            )
            return Outcome(items: items.value, result: result)
        } catch {
            return Outcome(items: items.value, error: error)
        }
    }

    /// Requests to a path that the sandbox has received.
    func requests(to path: String) async throws -> [SandboxProcess.SeenRequest] {
        try await sandbox.requests().filter { $0.path == path }
    }

    /// Uploads that the sandbox has received.
    var uploads: [SandboxProcess.SeenRequest] {
        get async throws { try await requests(to: "/api/photos/upload") }
    }

    /// The user's copies in the library.
    var copies: [PhotoCopy] {
        get throws { try copies(of: account.server) }
    }

    func copies(of server: String) throws -> [PhotoCopy] {
        var copies: [PhotoCopy] = []
        try account.library.forEachBlockOfCopies(of: server) { copies += $0 }
        return copies
    }

    /// This machine's account on another server.
    func account(at client: PhotoSyncClient, device: String = "dddddddd-0000-4000-8000-000000000001") -> SyncAccount {
        SyncAccount(client: client, deviceID: device, index: account.index, library: account.library)
    }
}

extension PushItem {
    /// The last component of the path.
    var name: String {
        String(decoding: path.split(separator: UInt8(ascii: "/")).last ?? [], as: UTF8.self)
    }
}

/// A value that callbacks set and a test reads.
final class Noted<Value: Sendable>: Sendable {
    private let noted: Mutex<Value>

    init(_ value: Value) { noted = Mutex(value) }

    var value: Value { noted.withLock { $0 } }

    func change(_ body: (inout Value) -> Void) { noted.withLock { body(&$0) } }

    /// Sets a new value and returns the earlier one.
    func exchange(_ value: Value) -> Value {
        noted.withLock { noted in
            defer { noted = value }
            return noted
        }
    }
}
