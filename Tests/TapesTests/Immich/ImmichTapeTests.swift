import Foundation
import MediaStore
import TestSupport
import Testing

@testable import Tapes

/// Tapes and their albums on a server, through the service: the acceptance tests of contract section 10.
@Suite("tapes in Immich")
struct ImmichTapeTests {
    /// Everything for one server: a store, originals, and the service as each command creates it.
    struct Bench {
        let immich: ImmichBench
        let data: DataDirectory

        init(_ immich: ImmichBench) throws {
            self.immich = immich
            data = try DataDirectory.open(immich.directory.file("data"))
        }

        /// The service of a new process.
        func service(key: String = "key-1", deleting: Bool = false) throws -> AlbumService {
            AlbumService(
                store: immich.store,
                directory: data,
                library: try immich.library(key: key),
                policy: AlbumService.Policy(deletesAlbums: deleting)
            )
        }

        func tape(_ title: String, _ contents: [String]) throws -> String {
            let id = try immich.store.makeTape(title)
            try add(contents, to: id)
            return id
        }

        func add(_ contents: [String], to tapeID: String) throws {
            let clips = try contents.map { try immich.clip("\($0).jpg", $0) }
            _ = try immich.store.addClips(clips, to: tapeID, at: nil, now: Date())
        }

        func states(_ tapeID: String) throws -> [ClipRecord.Association] {
            try immich.store.clips(of: tapeID).map(\.association)
        }
    }

    @Test("trap 3: without album.read the album is used without queries, and created once")
    func addOnly() async throws {
        let scopes = ["album.create", "albumAsset.create", "asset.upload"]
        let bench = try Bench(try await ImmichBench(permissions: scopes))
        let tape = try bench.tape("Summer", ["a"])
        _ = try await bench.service().associate(tape)
        try bench.add(["b"], to: tape)
        #expect(try await bench.service().associate(tape).state == .associated)
        let lines = try await bench.immich.lines()
        #expect(lines.filter { $0 == "POST /albums" }.count == 1)
        #expect(!lines.contains { $0.hasPrefix("GET /albums") })
    }

    @Test("trap 1: a key for another account sees none of the albums, and creates none")
    func otherAccount() async throws {
        let bench = try Bench(try await ImmichBench())
        try await bench.immich.server.add(key: "bob", user: "Bob")
        let tape = try bench.tape("Summer", ["a"])
        _ = try await bench.service().associate(tape)
        try bench.add(["b"], to: tape)
        let outcome = try await bench.service(key: "bob").associate(tape)
        #expect(outcome.state == .pending && outcome.reason == .libraryChanged)
        #expect(try await bench.immich.report().albums.count == 1)
        #expect(try await bench.service().associate(tape, isRequested: true).state == .associated)
    }

    @Test("acceptance 5: a revoked key, a missing scope, a full account and an unreachable server", arguments: [2, 3])
    func failure(major: Int) async throws {
        let bench = try Bench(try await ImmichBench(major: major))
        try await bench.immich.server.add(
            key: "narrow",
            permissions: ["albumAsset.create", "asset.upload", "user.read"]
        )
        let tape = try bench.tape("Summer", ["a"])
        #expect(try await bench.service(key: "wrong").associate(tape).reason == .accessDenied)
        #expect(try await bench.service(key: "narrow").associate(tape).reason == .accessLimited)
        // R10: operations that the key is known not to permit are not requested.
        #expect(try await !bench.immich.lines().contains("POST /albums"))
        try await bench.immich.server.add(faults: ["path": "^/albums$", "status": 503, "times": 2, "body": "{}"])
        #expect(try await bench.service().associate(tape).reason == .unreachable)
        #expect(try bench.states(tape) == [.pending])
        // R10: after a new grant, the tape is retried automatically; transfer failures wait, unless the user requests a
        // retry.
        let outcome = try await bench.service().associate(tape, isRequested: true)
        #expect(outcome.state == .associated)
        #expect(try await bench.immich.report().albums.count == 1)
    }

    @Test("6.4: a full account leaves clips pending, and existing assets are added")
    func quota() async throws {
        let bench = try Bench(try await ImmichBench(quota: 3))
        let tape = try bench.tape("Summer", ["abc", "more"])
        let outcome = try await bench.service().associate(tape)
        #expect(outcome.state == .partly && outcome.reason == .quota)
        #expect(try bench.states(tape) == [.linked, .pending])
    }

    @Test("6.2: a response without results is unexpected, and the next attempt adds the clips")
    func noResults() async throws {
        let bench = try Bench(try await ImmichBench())
        let tape = try bench.tape("Summer", ["a", "b"])
        try await bench.immich.server.add(faults: ["method": "PUT", "body": "[]"])
        let outcome = try await bench.service().associate(tape)
        #expect(outcome.state == .partly && outcome.reason == .unreachable)
        #expect(outcome.detail == "no result in the response")
        #expect(try await bench.service().associate(tape, isRequested: true).state == .associated)
        let video = try bench.immich.clip("f.mp4", "f").source ?? []
        try await bench.immich.server.add(faults: ["method": "PUT", "body": "[]"])
        let filed = try await bench.service().file(video, into: tape)
        #expect(filed.state == .partly && filed.reason == .unreachable && !filed.isFiled)
        #expect(try await bench.service().file(video, into: tape).isFiled)
    }

    @Test("clips whose assets were removed from the album or deleted are found, and added again", arguments: [2, 3])
    func removedAssets(major: Int) async throws {
        let bench = try Bench(try await ImmichBench(major: major))
        let tape = try bench.tape("Summer", ["a", "a", "b", "c"])
        let link = try #require(try await bench.service().associate(tape).link)
        #expect(try await bench.service().verify(tape).findings.isEmpty)
        let assets = try await bench.immich.report().assets.map(\.id)
        let removed = assets.prefix(2).map { Array($0.utf8) }
        _ = try await bench.immich.library().remove(removed, from: link.albumID, hint: nil)
        try await bench.immich.server.delete(asset: assets[1])
        let check = try await bench.service().verify(tape)
        #expect(check.findings.map(\.kind) == [.assetsMissing] && check.findings[0].detail == "the album has 1 of 3")
        #expect(check.isRepairable(check.findings[0]))
        // An asset that is still on the server does not need its original.
        try FileManager.default.removeItem(atPath: bench.immich.directory.file("a.jpg"))
        let repair = try await bench.service().repair(tape)
        #expect(repair.repaired.map(\.kind) == [.assetsMissing] && repair.remaining.isEmpty)
        let report = try await bench.immich.report()
        #expect(report.albums.first?.assets.count == 3 && report.assets.map(\.name) == ["a.jpg", "c.jpg", "b.jpg"])
        #expect(try bench.states(tape).allSatisfy { $0 == .linked })
    }

    @Test("an asset that was added by hand does not hide a missing one", arguments: [2, 3])
    func hiddenAbsence(major: Int) async throws {
        let bench = try Bench(try await ImmichBench(major: major))
        let tape = try bench.tape("Summer", ["a", "b"])
        let link = try #require(try await bench.service().associate(tape).link)
        let other = try bench.tape("Winter", ["x", "y"])
        _ = try await bench.service().associate(other)
        let assets = try await bench.immich.report().assets
        func ids(_ names: [String]) -> [[UInt8]] {
            assets.filter { names.contains($0.name) }.map { Array($0.id.utf8) }
        }
        let library = try bench.immich.library()
        let foreign = ids(["x.jpg", "y.jpg"]).map { AlbumAsset(id: $0, kind: .image) }
        _ = try await library.add(foreign, to: link.albumID, hint: nil)
        #expect(try await bench.service().verify(tape).findings.isEmpty)
        _ = try await library.remove(ids(["a.jpg"]), from: link.albumID, hint: nil)
        let check = try await bench.service().verify(tape)
        #expect(check.findings.map(\.kind) == [.assetsMissing])
        #expect(check.findings.first?.detail == "the album has 1 of 2, and 2 that are not in the tape")
        let repair = try await bench.service().repair(tape)
        #expect(repair.repaired.map(\.kind) == [.assetsMissing] && repair.remaining.isEmpty)
        #expect(try await bench.immich.report().albums.first?.assets.count == 4)
        // If the server refuses to list the albums of an asset, the numbers are compared.
        _ = try await library.remove(ids(["a.jpg"]), from: link.albumID, hint: nil)
        let body = #"{"message":"no"}"#
        try await bench.immich.server.add(faults: ["path": "^/albums$", "status": 400, "body": body])
        #expect(try await bench.service().verify(tape).findings.isEmpty)
    }

    @Test("trap 10: an asset in the trash is found, but not repaired: only the user can restore it")
    func trashedAsset() async throws {
        let bench = try Bench(try await ImmichBench())
        let tape = try bench.tape("Summer", ["a"])
        _ = try await bench.service().associate(tape)
        let asset = try #require(try await bench.immich.report().assets.first?.id)
        try await bench.immich.server.trash(asset: asset)
        let repair = try await bench.service().repair(tape)
        #expect(repair.repaired.isEmpty && repair.remaining.map(\.kind) == [.assetsMissing])
        #expect(try bench.states(tape) == [.linked])
    }

    @Test("R11, acceptance 4: deleting with the flag deletes the album, but no assets")
    func deletion() async throws {
        let bench = try Bench(try await ImmichBench())
        let tape = try bench.tape("Summer", ["a"])
        let kept = try bench.tape("Winter", ["a"])
        for id in [tape, kept] { _ = try await bench.service().associate(id) }
        try await bench.immich.server.clearRequests()
        _ = try await bench.service().deleteTape(kept, keepingAlbum: false)
        #expect(try await bench.immich.report().requests.isEmpty)
        _ = try await bench.service(deleting: true).deleteTape(tape, keepingAlbum: false)
        let report = try await bench.immich.report()
        #expect(report.albums.map(\.name) == ["Tapes – Winter"])
        #expect(report.assets.count == 1)
    }

    @Test("adding 1,000 clips to a tape with an album takes one query, one check and four requests of 250")
    func thousand() async throws {
        let bench = try Bench(try await ImmichBench())
        let tape = try bench.tape("Summer", ["a"])
        _ = try await bench.service().associate(tape)
        let clips = try bench.immich.clips(1000)
        try await bench.immich.server.add(assets: clips.map { ["checksum": $0.sha1 ?? ""] })
        _ = try bench.immich.store.addClips(clips, to: tape, at: nil, now: Date())
        try await bench.immich.server.clearRequests()
        let outcome = try await bench.service().associate(tape)
        #expect(outcome.state == .associated && outcome.addedClips == 1000)
        let lines = try await bench.immich.lines()
        let album = try #require(outcome.link?.albumID)
        let put = "PUT /albums/\(album)/assets"
        #expect(
            lines == ["GET /albums/\(album)", "POST /assets/bulk-upload-check"] + Array(repeating: put, count: 4)
        )
    }
}
