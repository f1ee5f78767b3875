import Foundation
import MediaStore
import MediaTransport
import TestSupport
import Testing

@testable import Tapes

/// The account on the server, and the permissions of the key (contract 4.2, 4.3, 6.1).
@Suite("access to Immich")
struct ImmichAccessTests {
    struct Scope: Sendable, CustomTestStringConvertible {
        var permissions: [String]
        var addOnly: AlbumAccess.State
        var readWrite: AlbumAccess.State
        var testDescription: String { permissions.joined(separator: " ") }

        init(_ permissions: [String], _ addOnly: AlbumAccess.State, _ readWrite: AlbumAccess.State) {
            (self.permissions, self.addOnly, self.readWrite) = (permissions, addOnly, readWrite)
        }
    }

    private static let create = ["album.create", "albumAsset.create"]
    private static let manage = ["album.read", "album.delete", "albumAsset.delete"]

    /// The server column of contract 4.3.
    static let scopes = [
        Scope(["all"], .authorized, .authorized),
        Scope(create + ["asset.upload"], .authorized, .limited(missing: manage)),
        Scope(create + ["asset.read"], .authorized, .limited(missing: manage)),
        Scope(create + ["asset.upload"] + manage, .authorized, .authorized),
        Scope(
            ["albumAsset.create", "asset.upload"],
            .limited(missing: ["album.create"]),
            .limited(missing: ["album.create"] + manage)
        ),
        Scope(create, .limited(missing: ["asset.upload"]), .limited(missing: ["asset.upload"] + manage)),
        Scope(
            ["album.read"],
            .denied,
            .limited(missing: create + ["asset.upload", "album.delete", "albumAsset.delete"])
        ),
        Scope(["user.read"], .denied, .denied),
    ]

    @Test("4.3: the permissions of a key determine the level", arguments: scopes)
    func levels(_ scope: Scope) async throws {
        let (bench, library) = try await ImmichBench(permissions: scope.permissions).withLibrary()
        #expect(try await library.access(.addOnly).state == scope.addOnly)
        #expect(try await library.access(.readWrite).state == scope.readWrite)
        // Queried once per process, without side effects.
        let lines = try await bench.report().requests.map(\.line)
        let requested = ["GET /server/version", "GET /api-keys/me"]
        #expect(lines == requested + (["all", "user.read"].contains(scope.permissions[0]) ? ["GET /users/me"] : []))
    }

    @Test("4.3: without a key the level is not determined, and no request is sent")
    func noKey() async throws {
        let bench = try await ImmichBench()
        let library = try bench.library(key: nil)
        #expect(try await library.access(.addOnly).state == .notDetermined)
        #expect(await albumError { _ = try await library.identity() }?.kind == .unauthorized)
        #expect(try await bench.report().requests.isEmpty)
    }

    @Test("4.3: a key that the server rejects is denied", arguments: [2, 3])
    func wrongKey(major: Int) async throws {
        let bench = try await ImmichBench(major: major)
        let access = try await bench.library(key: "s3cret").access(.addOnly)
        #expect(access.state == .denied)
        #expect(access.detail.hasPrefix("Invalid API key"))
        #expect(!"\(access)".contains("s3cret"))
        // R10: a different key is a different grant.
        #expect(try await bench.library(key: "other").access(.addOnly).fingerprint != access.fingerprint)
    }

    @Test("R10: the fingerprint changes only with the permissions")
    func fingerprint() async throws {
        let bench = try await ImmichBench(permissions: ["album.create", "albumAsset.create", "asset.upload"])
        try await bench.server.add(key: "key-2", permissions: ["album.create", "albumAsset.create", "asset.upload"])
        let first = try await bench.library().access(.addOnly).fingerprint
        #expect(try await bench.library().access(.readWrite).fingerprint == first)
        #expect(try await bench.library(key: "key-2").access(.addOnly).fingerprint != first)
        #expect(!first.contains("key-1"))
    }

    @Test("a refusal makes the next query contact the server again")
    func refusalForgets() async throws {
        let (bench, library) = try await ImmichBench().withLibrary()
        #expect(try await library.access(.addOnly).state == .authorized)
        try await bench.server.revoke("key-1")
        let error = await albumError { _ = try await library.createAlbum(title: "a", tapeID: "t") }
        #expect(error?.kind == .unauthorized)
        #expect(try await library.access(.addOnly).state == .denied)
    }

    @Test("4.3: requesting access reports the missing permissions, and queries again")
    func request() async throws {
        let (bench, library) = try await ImmichBench(permissions: ["album.create"]).withLibrary()
        _ = try await library.access(.addOnly)
        let access = try await library.requestAccess(.addOnly)
        #expect(access.state == .limited(missing: ["albumAsset.create", "asset.upload"]))
        #expect(access.detail.contains("albumAsset.create, asset.upload"))
        #expect(access.detail.contains("API Keys"))
        #expect(try await bench.report().requests.filter { $0.path == "/api-keys/me" }.count == 2)
    }

    @Test("6.1: every call sends the key and accepts JSON, without other credentials")
    func headers() async throws {
        let (bench, library) = try await ImmichBench().withLibrary()
        _ = try await library.identity()
        _ = try await library.createAlbum(title: "a", tapeID: "t")
        for request in try await bench.report().requests {
            #expect(request.values(of: "x-api-key") == ["key-1"])
            #expect(request.values(of: "accept") == ["application/json"])
            #expect(request.values(of: "authorization").isEmpty && request.values(of: "cookie").isEmpty)
        }
    }

    // Immich 1.107 moved the version to a different address.
    @Test(
        "6.1: version 2 is supported; version 1 is not, wherever it reports its version",
        arguments: [([1, 106, 4], false), ([1, 107, 0], false), ([1, 144, 1], false), ([2, 0, 0], true)]
    )
    func version(_ version: [Int], isTaken: Bool) async throws {
        let bench = try await ImmichBench(major: 2, version: version)
        let library = try bench.library()
        let error = await albumError { _ = try await library.identity() }
        #expect(error?.kind == (isTaken ? nil : .unsupported))
        let text = version.map { "\($0)" }.joined(separator: ".")
        #expect(isTaken || error?.detail == "the server is Immich \(text); version 2 or later is required")
    }

    @Test("a server without an Immich version is not reported as an old one")
    func otherServer() async throws {
        let bench = try await ImmichBench()
        try await bench.server.add(faults: ["path": "version$", "status": 404, "times": 2, "body": "{}"])
        let error = await albumError { _ = try await bench.library().identity() }
        #expect(error?.kind == .unreachable(retryAfter: nil))
    }

    @Test("6.1: the base URL contains /api once", arguments: ["", "/", "/api", "/api/", "/photos", "/photos/api"])
    func base(_ path: String) throws {
        let server = try ServerURL("https://photos.example.test" + path, allowingPath: true)
        let expected = path.hasPrefix("/photos") ? "/photos/api" : "/api"
        #expect("\(ImmichLibrary.base(of: server))" == "https://photos.example.test" + expected)
    }

    // MARK: 4.2

    @Test("4.2: the account identifies the library if the key may read it")
    func account() async throws {
        let (bench, library) = try await ImmichBench(permissions: ["user.read"]).withLibrary()
        let identity = try await library.identity()
        let account = try #require(identity.accountID)
        #expect(identity.libraryID == "immich:\(bench.server.address)/api#\(account)")
        #expect(identity.name.hasSuffix(", Alice"))
        // A different key for the same account identifies the same library.
        try bench.remember(identity, at: library)
        try await bench.server.add(key: "key-2")
        let other = try await bench.library(key: "key-2").identity()
        #expect(other.libraryID == identity.libraryID)
        #expect(other.keyID != identity.keyID)
    }

    @Test("4.2: without user.read, the key itself identifies the library; a different key is a different library")
    func keyOnly() async throws {
        let scopes = ["album.create"]
        let (bench, library) = try await ImmichBench(permissions: scopes).withLibrary()
        let identity = try await library.identity()
        #expect(identity.libraryID == "immich:\(bench.server.address)/api#key:\(identity.keyID ?? "")")
        #expect(identity.accountID == nil)
        try bench.remember(identity, at: library)
        #expect(try await bench.library().identity() == identity)
        try await bench.server.add(key: "key-2", permissions: scopes)
        let error = await albumError { _ = try await bench.library(key: "key-2").identity() }
        #expect(error?.kind == .libraryChanged)
    }

    @Test("4.2: a key that lost user.read still identifies the same library")
    func lostUserRead() async throws {
        let (bench, library) = try await ImmichBench(permissions: ["album.create"]).withLibrary()
        var identity = try await library.identity()
        identity.libraryID = "immich:\(bench.server.address)/api#\(SampleID.asset)"
        identity.accountID = SampleID.asset
        try bench.remember(identity, at: library)
        let now = try await bench.library().identity()
        #expect(now.libraryID == identity.libraryID)
        #expect(now.accountID == SampleID.asset)
    }
}
