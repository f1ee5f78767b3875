import Foundation
import TestSupport
import Testing

@testable import Tapes

/// Albums of Immich and their content (contract 6.2).
@Suite("albums of Immich")
struct ImmichAlbumTests {
    @Test("6.2: an album is created with title and mark, and without assets", arguments: [2, 3])
    func create(major: Int) async throws {
        let (bench, library) = try await ImmichBench(major: major).withLibrary()
        let made = try await library.createAlbum(title: "Tapes – Ä \"x\"", tapeID: "tape-1")
        let report = try await bench.report()
        #expect(report.albums.map(\.id) == [made.id])
        #expect(report.albums.first?.name == "Tapes – Ä \"x\"")
        #expect(report.albums.first?.description == "mediactl tape tape-1")
        #expect(report.albums.first?.assets == [])
        #expect(made.title == "Tapes – Ä \"x\"")
        #expect(made.ownerID == (try await library.identity()).accountID)
        #expect(try await library.album(made.id, hint: nil) == .found(title: made.title, hint: nil, count: 0))
    }

    @Test("R4: a creation with a lost response is not repeated, and the mark finds the album", arguments: [2, 3])
    func lostCreation(major: Int) async throws {
        let (bench, library) = try await ImmichBench(major: major).withLibrary()
        try await bench.server.add(faults: ["method": "POST", "path": "/albums", "phase": "after", "drop": true])
        let error = await albumError { _ = try await library.createAlbum(title: "a", tapeID: "tape-1") }
        #expect(error?.kind == .unreachable(retryAfter: nil))
        _ = try await library.createAlbum(title: "a", tapeID: "tape-2")
        let found = try await library.albumMarked("tape-1")
        let report = try await bench.report()
        #expect(report.albums.count == 2)
        #expect(found?.id == report.albums.first { $0.description.contains("tape-1") }?.id)
        #expect(try await library.albumMarked("tape-3") == nil)
        // Version 2 has no filters.
        let list = try #require(report.requests.first { $0.line == "GET /albums" })
        #expect(list.query == (major == 2 ? "" : "isOwned=true"))
    }

    @Test("R4: the mark is a separate line, even among the user's text")
    func mark() throws {
        func album(_ description: String) throws -> ImmichAlbum {
            let text = #"{"id":"a","albumName":"b","description":"\#(description)"}"#
            return try #require(ImmichAlbum(text: text))
        }
        #expect(try album("mediactl tape 1").carries("mediactl tape 1"))
        #expect(try album(#"Our trip\nmediactl tape 1 "#).carries("mediactl tape 1"))
        #expect(try !album("mediactl tape 12").carries("mediactl tape 1"))
        #expect(try !album("not mediactl tape 1").carries("mediactl tape 1"))
    }

    @Test("R5, trap 2: a deleted album is reported missing, but not after an invalid response", arguments: [2, 3])
    func missing(major: Int) async throws {
        let (bench, library) = try await ImmichBench(major: major).withLibrary()
        let made = try await library.createAlbum(title: "a", tapeID: "t")
        try await bench.server.forget(album: made.id)
        #expect(try await library.album(made.id, hint: nil) == .missing)
        let gone = await albumError { _ = try await library.add([AlbumAsset(SampleID.asset)], to: made.id, hint: nil) }
        #expect(gone?.kind == .albumMissing)
        #expect(try await library.deleteAlbum(made.id, hint: nil) == .alreadyGone)
        let taken = await albumError {
            _ = try await library.remove([Array(SampleID.asset.utf8)], from: made.id, hint: nil)
        }
        #expect(taken?.kind == .albumMissing)
    }

    @Test("4.1: an ID that no server creates is an error, without a call", arguments: ["", "x", "../albums", "a/b"])
    func malformed(_ id: String) async throws {
        let (bench, library) = try await ImmichBench().withLibrary()
        let asset = AlbumAsset(SampleID.asset)
        #expect(await albumError { _ = try await library.album(id, hint: nil) }?.kind == .rejected(status: nil))
        #expect(await albumError { _ = try await library.deleteAlbum(id, hint: nil) }?.kind == .rejected(status: nil))
        #expect(
            await albumError { _ = try await library.add([asset], to: id, hint: nil) }?.kind == .rejected(status: nil)
        )
        let odd = await albumError { _ = try await library.add([AlbumAsset(id)], to: SampleID.album, hint: nil) }
        #expect(odd?.kind == .rejected(status: nil))
        #expect(try await bench.report().requests.isEmpty)
    }

    @Test("trap 3: a key without read permission does not query, and the album is assumed to exist")
    func mayNotLook() async throws {
        let (bench, library) = try await ImmichBench(permissions: ["album.create", "albumAsset.create", "asset.upload"])
            .withLibrary()
        #expect(try await library.album(SampleID.album, hint: nil) == .unknown)
        let error = await albumError { _ = try await library.albumMarked("t") }
        #expect(error?.kind == .insufficient(["album.read"]))
        #expect(try await bench.lines().isEmpty)
    }

    @Test("trap 3: a permission that was revoked is detected", arguments: [2, 3])
    func noLongerMayLook(major: Int) async throws {
        let (bench, library) = try await ImmichBench(major: major).withLibrary()
        _ = try await library.access(.readWrite)
        try await bench.server.add(faults: [
            "path": "/albums/", "status": 403, "body": #"{"message":"Missing required permission: album.read"}"#,
        ])
        #expect(try await library.album(SampleID.album, hint: nil) == .unknown)
    }

    // MARK: Partial responses

    @Test("6.2: each element is parsed: added, duplicate, not found; a repeated asset is sent once", arguments: [2, 3])
    func partial(major: Int) async throws {
        let (bench, library) = try await ImmichBench(major: major).withLibrary()
        let made = try await library.createAlbum(title: "a", tapeID: "t")
        let own = try await bench.server.add(assets: [["name": "1"], ["name": "2"]])
        let foreign = try await bench.server.add(assets: [["user": "Bob"]])
        #expect(try await library.add([AlbumAsset(own[0])], to: made.id, hint: nil) == [.added])
        let requested = [own[0], own[1], foreign[0], SampleID.asset, own[1]].map(AlbumAsset.init)
        let results = try await library.add(requested, to: made.id, hint: nil)
        // R7: an existing asset is a success.
        #expect(results == [.alreadyInAlbum, .added, .notAllowed, .notAllowed, .alreadyInAlbum])
        #expect(try await bench.report().albums.first?.assets == own)
    }

    @Test("6.2: every value of a response, in any order; an omitted one is added later")
    func words() async throws {
        let (bench, library) = try await ImmichBench().withLibrary()
        let ids = try await bench.server.add(assets: Array(repeating: [:], count: 7))
        let words = ["duplicate", "no_permission", "not_found", "unknown", "validation"]
        var elements = zip(ids, words).map { #"{"id":"\#($0)","success":false,"error":"\#($1)"}"# }
        elements.append(#"{"id":"\#(ids[5].uppercased())","success":true}"#)
        let body = "[" + elements.reversed().joined(separator: ",") + "]"
        try await bench.server.add(faults: ["method": "PUT", "body": body], ["method": "DELETE", "body": body])
        let added = try await library.add(ids.map(AlbumAsset.init), to: SampleID.album, hint: nil)
        let silence = "no result in the response"
        #expect(
            added == [
                .alreadyInAlbum, .notAllowed, .notFound, .failed("unknown"), .failed("validation"), .added,
                .notNow(AlbumError(.unreachable(retryAfter: nil), detail: silence)),
            ]
        )
        let removed = try await library.remove(ids.map { Array($0.utf8) }, from: SampleID.album, hint: nil)
        #expect(
            removed == [
                .failed("duplicate"), .notAllowed, .removed, .failed("unknown"), .failed("validation"), .removed,
                .failed(silence),
            ]
        )
    }

    @Test("6.2: chunks of 250; if a later one fails, the earlier ones are kept")
    func chunks() async throws {
        let (bench, library) = try await ImmichBench().withLibrary()
        let made = try await library.createAlbum(title: "a", tapeID: "t")
        let ids = try await bench.server.add(assets: Array(repeating: [:], count: 600))
        try await bench.server.add(faults: ["method": "PUT", "status": 500, "skip": 1, "body": "{}"])
        let results = try await library.add(ids.map(AlbumAsset.init), to: made.id, hint: nil)
        #expect(results[..<250].allSatisfy { $0 == .added })
        #expect(results[250...].allSatisfy { $0.isUnreachable })
        let again = try await library.add(ids.map(AlbumAsset.init), to: made.id, hint: nil)
        #expect(again[..<250].allSatisfy { $0 == .alreadyInAlbum })
        #expect(again[250...].allSatisfy { $0 == .added })
        let report = try await bench.report()
        #expect(report.albums.first?.assets == ids)
        #expect(report.requests.filter { $0.method == "PUT" }.map { $0.json?.ids?.count } == [250, nil, 250, 250, 100])
    }

    @Test("6.2: an album deleted between two chunks is missing for all clips")
    func goneBetweenChunks() async throws {
        let (bench, library) = try await ImmichBench().withLibrary()
        let made = try await library.createAlbum(title: "a", tapeID: "t")
        let ids = try await bench.server.add(assets: Array(repeating: [:], count: 251))
        try await bench.server.add(faults: [
            "method": "PUT", "status": 400, "skip": 1, "body": #"{"message":"Album not found"}"#,
        ])
        let error = await albumError { _ = try await library.add(ids.map(AlbumAsset.init), to: made.id, hint: nil) }
        #expect(error?.kind == .albumMissing)
    }

    @Test("R7: a request with a lost response is repeated, and each asset is stored once")
    func lostResponse() async throws {
        let (bench, library) = try await ImmichBench().withLibrary()
        let made = try await library.createAlbum(title: "a", tapeID: "t")
        let ids = try await bench.server.add(assets: [[:], [:]])
        try await bench.server.add(faults: ["method": "PUT", "phase": "after", "drop": true])
        let results = try await library.add(ids.map(AlbumAsset.init), to: made.id, hint: nil)
        #expect(results == [.alreadyInAlbum, .alreadyInAlbum])
        #expect(try await bench.report().albums.first?.assets == ids)
    }

    @Test("R11, R12: removing and deleting do not delete assets from the server", arguments: [2, 3])
    func removal(major: Int) async throws {
        let (bench, library) = try await ImmichBench(major: major).withLibrary()
        let made = try await library.createAlbum(title: "a", tapeID: "t")
        let ids = try await bench.server.add(assets: [[:], [:]])
        _ = try await library.add(ids.map(AlbumAsset.init), to: made.id, hint: nil)
        // DELETE with a body; an asset that is not in the album counts as removed.
        let wanted = [ids[0], SampleID.asset].map { Array($0.utf8) }
        #expect(try await library.remove(wanted, from: made.id, hint: nil) == [.removed, .removed])
        #expect(try await bench.report().albums.first?.assets == [ids[1]])
        #expect(try await library.deleteAlbum(made.id, hint: nil) == .deleted)
        let report = try await bench.report()
        #expect(report.albums.isEmpty)
        #expect(report.assets.map(\.id) == ids)
    }

    @Test("6.2: a version 2 album, which includes its assets, and a version 3 album are read the same way")
    func forms() throws {
        let version2 =
            #"{"id":"a","albumName":"b","ownerId":"o","assets":[{"id":"x"}],"assetCount":1}"#
        let version3 = #"{"id":"a","albumName":"b","albumUsers":[{"role":"owner","user":{"id":"o"}}],"assetCount":1}"#
        for text in [version2, version3] {
            let album = try #require(ImmichAlbum(text: text))
            #expect((album.id, album.title, album.ownerID) == ("a", "b", "o"))
        }
    }
}
