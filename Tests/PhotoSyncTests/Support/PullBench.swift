import Foundation
import MediaStore
import MediaTransport
import TestSupport

@testable import PhotoSync

extension SyncFailpoint {
    static let ofPull: [SyncFailpoint] = [.betweenPageAndCommit, .afterPage, .beforeFinish, .afterFinish]
}

/// A server, and this machine's index of it.
final class PullBench: Sendable {
    let server: PullServer
    let account: SyncAccount
    let directory: TemporaryDirectory

    init(_ serverPhotos: ServerPhotos, device: String? = ServerPhotos.device.id) throws {
        server = try PullServer(serverPhotos)
        directory = try TemporaryDirectory()
        account = try Self.account(server.address, in: directory.path, device: device)
    }

    static func account(_ address: String, in directory: String, device: String?) throws -> SyncAccount {
        let data = try DataDirectory.open(directory + "/data")
        let server = try ServerURL(address)
        let client = PhotoSyncClient(
            server: server,
            http: try HTTPClient(),
            authorization: .apiKey("0123456789abcdef", for: server.origin)
        )
        return SyncAccount(
            client: client,
            deviceID: device,
            index: try SyncIndex(in: data),
            library: try LibraryStore(in: data)
        )
    }

    func pull(full: Bool = false, restarts: Int = 3, dry: Bool = false) -> Pull {
        Pull(account, options: Pull.Options(isFull: full, pageSize: 3, restarts: restarts, isDryRun: dry))
    }

    /// The bench after a pull.
    func pulled() async throws -> PullBench {
        _ = try await pull().run()
        return self
    }

    var listed: [PhotoRecord] { get throws { try account.listed } }

    func state() throws -> SyncState? { try account.index.state(of: account.server) }
}

extension SyncAccount {
    /// The server's photos in the index, without deleted ones.
    var listed: [PhotoRecord] {
        get throws {
            var photos: [PhotoRecord] = []
            try index.forEachBlock(of: server, where: PhotoFilter()) { photos += $0 }
            return photos
        }
    }
}
