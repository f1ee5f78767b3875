import Foundation
import Glibc
import MediaCore
import MediaCrypto
import MediaStore
import MediaTransport
import Synchronization
import TestSupport
import Testing

@testable import PhotoSync

/// A machine with an index, a library and a target directory.
struct DownloadBench {
    let temporary: TemporaryDirectory
    let target: String
    let account: SyncAccount
    let hashes: HashCache

    init(
        _ address: String,
        indexing photos: [PhotoRecord]? = nil,
        target: String? = nil,
        key: String = "canary-key",
        in existing: TemporaryDirectory? = nil
    ) throws {
        temporary = try existing ?? TemporaryDirectory()
        self.target = target ?? temporary.file("photos")
        let directory = try DataDirectory.open(temporary.file("data"))
        let server = try ServerURL(address, allowingPath: true)
        account = SyncAccount(
            client: PhotoSyncClient(
                server: server,
                http: try HTTPClient(configuration: HTTPClientConfiguration(retry: RetryPolicy(retries: 0))),
                authorization: .apiKey(key, for: server.origin)
            ),
            deviceID: "device",
            index: try SyncIndex(in: directory),
            library: try LibraryStore(in: directory)
        )
        hashes = HashCache(directory: temporary.file("cache"))
        if let photos { try index(photos) }
    }

    /// Records the result of a complete pull.
    func index(_ photos: [PhotoRecord]) throws {
        let server = account.server
        let run = try account.index.begin(server, account: "device", kind: .full, restarts: true, now: Date())
        let stored = try account.index.append(photos, cursor: nil, totalCount: Int64(photos.count), to: run)
        _ = try account.index.finish(stored, now: Date())
    }

    struct Outcome {
        var items: [DownloadItem]
        var result: DownloadResult?
        var error: PhotoSyncError?

        subscript(id: String) -> DownloadItem? { items.first { $0.id == id } }
        var only: DownloadItem? { items.count == 1 ? items[0] : nil }
    }

    @discardableResult func run(
        _ selection: Download.Selection = .missing,
        jobs: Int = 1,
        isDryRun: Bool = false,
        retries: Int = 0,
        timeLimit: Duration? = nil,
        control: TransferControl = TransferControl(),
        progress: (@Sendable (DownloadProgress) -> Void)? = nil
    ) async -> Outcome {
        let items = Collected()
        let options = Download.Options(
            jobs: jobs,
            isDryRun: isDryRun,
            retry: RetryPolicy(retries: retries, base: .milliseconds(1), timeLimit: timeLimit)
        )
        do throws(PhotoSyncError) {
            let result = try await Download(account, hashes: hashes, options: options).run(
                selection,
                to: Array(target.utf8),
                control: control,
                onItem: { item in items.list.withLock { $0.append(item) } },
                progress: progress
            )
            return Outcome(items: items.list.withLock { $0 }, result: result)
        } catch {
            return Outcome(items: items.list.withLock { $0 }, error: error)
        }
    }

    private final class Collected: Sendable {
        let list = Mutex<[DownloadItem]>([])
    }

    // MARK: State

    /// All files below the target, including hidden ones, by their path, with their content.
    func files() throws -> [String: String] {
        var found: [String: String] = [:]
        let names = FileManager.default.enumerator(atPath: target)
        while let name = names?.nextObject() as? String {
            var isDirectory: ObjCBool = false
            guard FileManager.default.fileExists(atPath: target + "/" + name, isDirectory: &isDirectory) else {
                continue
            }
            if !isDirectory.boolValue {
                found[name] = try String(contentsOfFile: target + "/" + name, encoding: .utf8)
            }
        }
        return found
    }

    func path(_ name: String) -> [UInt8] { Array((target + "/" + name).utf8) }

    /// Seconds since 1970.
    func modificationTime(_ name: String) throws -> Int {
        var status = stat()
        try #require(lstat(target + "/" + name, &status) == 0)
        return status.st_mtim.tv_sec
    }

    func put(_ text: String, _ name: String) throws {
        let url = URL(fileURLWithPath: target + "/" + name)
        try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(text.utf8).write(to: url)
    }

    func copies() throws -> [PhotoCopy] {
        var copies: [PhotoCopy] = []
        try account.library.forEachBlockOfCopies(of: account.server) { copies += $0 }
        return copies
    }
}

extension PhotoRecord {
    /// A photo that was uploaded with these bytes.
    static func of(
        _ body: String,
        id: String,
        name: String = "IMG_1.jpg",
        taken: String = "2024-03-05T10:20:30Z",
        uploadedAt: Int64 = 0
    ) throws -> PhotoRecord {
        PhotoRecord(
            id: id,
            sha256: try digest(of: body),
            originalFilename: name,
            fileSize: Int64(body.utf8.count),
            takenAt: try #require(PhotoTime(rfc3339: taken)),
            uploadedAt: PhotoTime(
                text: try #require(RFC3339.text(microseconds: uploadedAt)),
                microseconds: uploadedAt
            )
        )
    }
}

func digest(of text: String) throws -> String {
    var hasher = try SHA256Hasher()
    Array(text.utf8).withUnsafeBytes { hasher.update($0) }
    return try hasher.snapshot().hex
}

/// Text of this length, different for each seed and at every offset.
func filler(_ byteCount: Int, seed: Int = 0) -> String {
    var text = ""
    text.reserveCapacity(byteCount + 16)
    var number = seed * 100_000_000
    while text.utf8.count < byteCount {
        text += "\(number)\n"
        number += 1
    }
    return String(text.prefix(byteCount))
}

/// The progress updates, in order.
final class Steps: Sendable {
    let list = Mutex<[DownloadProgress]>([])
}
