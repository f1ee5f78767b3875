import Foundation
import MediaCore
import MediaFiles
import MediaStore
import MediaSystem
import MediaTransport
import TestSupport
import Testing

@testable import Tapes

/// A stand-in server, a store, and files for tests of the Immich library.
struct ImmichBench {
    let server: ImmichStandIn
    let directory: TemporaryDirectory
    let store: LibraryStore
    let http: HTTPClient

    init(
        major: Int = 3,
        version: [Int]? = nil,
        permissions: [String] = ["all"],
        quota: Int? = nil,
        gather: Int = 0
    ) async throws {
        server = try await .start(
            major: major,
            version: version,
            permissions: permissions,
            quota: quota,
            gather: gather
        )
        directory = try TemporaryDirectory()
        store = try LibraryStore(in: DataDirectory.open(directory.file("data")))
        http = try Self.client()
    }

    /// A client without delays between two attempts.
    static func client(retries: Int = 1) throws -> HTTPClient {
        try HTTPClient(
            configuration: HTTPClientConfiguration(
                retry: RetryPolicy(retries: retries, base: .zero, retryAfterCap: .zero)
            )
        )
    }

    /// The library as in a new process.
    func library(
        key: String? = "key-1",
        pathMap: [(local: [UInt8], server: String)] = [],
        jobs: Int = 1,
        progress: (@Sendable ([UInt8], Int64, Int64) -> Void)? = nil
    ) throws -> ImmichLibrary {
        ImmichLibrary(
            server: try ServerURL(server.address, allowingPath: true),
            http: http,
            key: key,
            timeouts: TransferTimeouts(),
            store: store,
            pathMap: pathMap,
            jobs: jobs,
            progress: progress
        )
    }

    /// The bench, and a library.
    func withLibrary() throws -> (bench: ImmichBench, library: ImmichLibrary) { (self, try library()) }

    /// A file with this content, and a clip of it.
    func clip(_ name: String, _ content: String, kind: ClipRecord.Kind = .image) throws -> ClipRecord {
        let path = try directory.write(name, content.utf8)
        return ClipRecord(Array(path.utf8), of: "tape", kind: kind)
    }

    /// Clips of one file, each with a different checksum: stored checksums are trusted while the file is unchanged.
    func clips(_ count: Int) throws -> [ClipRecord] {
        var clip = try clip("many.jpg", "many")
        let status = try #require(FileIdentity(ofRegularFile: clip.source ?? []))
        (clip.size, clip.modifiedNanoseconds) = (status.size, status.modificationNanoseconds)
        return (1...count).map { number in
            let digits = String(number)
            clip.id = UUID().uuidString.lowercased()
            clip.sha1 = String(repeating: "0", count: 40 - digits.count) + digits
            return clip
        }
    }

    /// The requests that the server received; fails the test if immichpy's models rejected any of them.
    func report(_ location: SourceLocation = #_sourceLocation) async throws -> ImmichStandIn.Report {
        let report = try await server.report()
        #expect(report.violations.isEmpty, sourceLocation: location)
        return report
    }

    /// The request lines, except those that only query the account.
    func lines(_ location: SourceLocation = #_sourceLocation) async throws -> [String] {
        let opening: Set = ["GET /server/version", "GET /api-keys/me", "GET /users/me", "GET /server/media-types"]
        return try await report(location).requests.map(\.line).filter { !opening.contains($0) }
    }

    /// Stores the identity of the library, as the service does after a success.
    func remember(_ identity: AlbumLibraryIdentity, at library: ImmichLibrary) throws {
        let date = Date(timeIntervalSince1970: 0)
        var record = AlbumLibraryRecord(kind: library.kind, address: library.address, updatedAt: date)
        record.libraryID = identity.libraryID
        record.accountID = identity.accountID
        record.keyID = identity.keyID
        try store.keep(record)
    }
}

extension AlbumAsset {
    /// Creates an asset from the text of its ID.
    init(_ id: String) { self.init(id: Array(id.utf8), kind: .image) }
}

extension AssetResolution {
    /// The text of the asset's ID.
    var assetID: String? {
        if case .asset(let id, _) = self { String(decoding: id, as: UTF8.self) } else { nil }
    }

    /// The reason why its upload was postponed.
    var failure: AlbumError? {
        if case .failed(let error) = self { error } else { nil }
    }
}

extension AddResult {
    /// Whether its part of the request had no response.
    var isUnreachable: Bool {
        if case .notNow(let error) = self { error.kind == .unreachable(retryAfter: nil) } else { false }
    }
}

/// The error thrown by a call.
func albumError(_ call: () async throws -> Void) async -> AlbumError? {
    do {
        try await call()
        return nil
    } catch {
        return error as? AlbumError
    }
}

/// IDs as in the API description: UUIDs of version 4 (trap 15).
enum SampleID {
    static let album = "b8f7a7a5-4c3e-4b8e-9d55-0a3f2b1c4d5e"
    static let asset = "0d6a4c1e-2f3b-4a5d-8e7f-112233445566"
}

extension ImmichAlbum {
    /// Reads the JSON of an album.
    init?(text: String) {
        guard let value = JSONReader.value(of: Array(text.utf8)[...]) else { return nil }
        self.init(value)
    }
}
