import Foundation
import MediaStore
import TestSupport
import Testing

@testable import Tapes

/// The requirements of the protocol `AlbumLibrary` (contract 4.1), for every library.
@Suite("every album library") struct LibraryConformanceTests {
    static let tapeID = "0b5b1c8e-5d1f-4a36-9df3-0d5e3f6f8a10"
    private static let otherTape = "5d1f0b5b-1c8e-4a36-9df3-0d5e3f6f8a11"
    private static let title = "Tapes – Summer"
    private static let unknownAlbum = "b8f7a7a5-4c3e-4b8e-9d55-0a3f2b1c4d5e"

    @Test("4.2: a library has the same identity in every process", arguments: LibraryKind.allCases)
    func identity(_ kind: LibraryKind) async throws {
        let bench = try await kind.make()
        let (library, again) = (try bench.open(), try bench.open())
        let (first, second) = (try await library.identity(), try await again.identity())
        #expect(first == second)
        #expect(first.libraryID.hasPrefix(library.kind + ":"))
        #expect(library.address == again.address)
    }

    @Test("4.2: a different library at the same address has a different identity", arguments: LibraryKind.allCases)
    func otherIdentity(_ kind: LibraryKind) async throws {
        let bench = try await kind.make()
        let tape = try bench.tape("Summer", ["a.jpg"])
        _ = try await bench.service().associate(tape)
        let known = try await bench.open().identity().libraryID
        let other = try await bench.openOther()
        do throws(AlbumError) {
            let identity = try await other.identity()
            #expect(identity.libraryID != known)
        } catch {
            #expect(error.kind == .libraryChanged)
        }
    }

    @Test("4.1: querying access has no side effects and does not change the result", arguments: LibraryKind.allCases)
    func access(_ kind: LibraryKind) async throws {
        let bench = try await kind.make()
        for level in [AccessLevel.addOnly, .readWrite] {
            let access = try await bench.open().access(level)
            #expect(access.state == .authorized && !access.forbidsNewAlbums)
            #expect(try await bench.open().access(level).fingerprint == access.fingerprint)
            #expect(try await bench.open().requestAccess(level).state == .authorized)
        }
        #expect(try await bench.albums().isEmpty)
    }

    @Test("R3, R4: each album is new, whatever its title, and is found by ID and mark", arguments: LibraryKind.allCases)
    func creation(_ kind: LibraryKind) async throws {
        let bench = try await kind.make()
        let library = try bench.open()
        let first = try await library.createAlbum(title: Self.title, tapeID: Self.tapeID)
        let second = try await library.createAlbum(title: Self.title, tapeID: Self.otherTape)
        #expect(first.id != second.id && first.title == Self.title && second.title == Self.title)
        #expect(try await bench.titles() == [Self.title, Self.title])
        for made in [first, second] {
            for hint in [nil, made.hint] {
                guard case .found(let title, _, _) = try await bench.open().album(made.id, hint: hint) else {
                    Issue.record("\(made) was not found")
                    continue
                }
                #expect(title == Self.title)
            }
        }
        #expect(try await bench.open().albumMarked(Self.tapeID)?.id == first.id)
        #expect(try await bench.open().albumMarked(Self.otherTape)?.id == second.id)
        #expect(try await bench.open().albumMarked(UUID().uuidString.lowercased()) == nil)
    }

    @Test(
        "R6, R7: each original is in an album once, in any number of albums, however often it is added",
        arguments: LibraryKind.allCases
    )
    func adding(_ kind: LibraryKind) async throws {
        let bench = try await kind.make()
        let clips = try ["c.jpg", "a.jpg", "b.jpg", "a.jpg"].map { try bench.clip($0) }
        let witness = try OriginalsWitness(bench.originals)
        let library = try bench.open()
        let album = try await library.createAlbum(title: Self.title, tapeID: Self.tapeID)
        let other = try await library.createAlbum(title: Self.title, tapeID: Self.otherTape)
        let assets = try await bench.assets(clips, library)
        #expect(assets.count == 4 && assets[1].id == assets[3].id && Set(assets.map(\.id)).count == 3)
        #expect(try await bench.assets(clips, try bench.open()) == assets)
        #expect(
            try await library.add(assets, to: album.id, hint: album.hint) == [.added, .added, .added, .alreadyInAlbum]
        )
        #expect(try await bench.open().add(assets, to: album.id, hint: nil).allSatisfy { $0 == .alreadyInAlbum })
        #expect(try await library.add([assets[0]], to: other.id, hint: other.hint) == [.added])
        #expect(try await bench.albums() == [album.id: ["a.jpg", "b.jpg", "c.jpg"], other.id: ["c.jpg"]])
        try witness.check()
    }

    @Test(
        "R12: removing affects one album only; an asset that is not in it counts as removed",
        arguments: LibraryKind.allCases
    )
    func removing(_ kind: LibraryKind) async throws {
        let bench = try await kind.make()
        let clips = try ["a.jpg", "b.jpg", "c.jpg"].map { try bench.clip($0) }
        let witness = try OriginalsWitness(bench.originals)
        let library = try bench.open()
        let album = try await library.createAlbum(title: Self.title, tapeID: Self.tapeID)
        let other = try await library.createAlbum(title: Self.title, tapeID: Self.otherTape)
        let assets = try await bench.assets(clips, library)
        _ = try await library.add(Array(assets.prefix(2)), to: album.id, hint: album.hint)
        _ = try await library.add(assets, to: other.id, hint: other.hint)
        let ids = [assets[1].id, assets[2].id]
        for _ in 1...2 {
            #expect(try await bench.open().remove(ids, from: album.id, hint: album.hint) == [.removed, .removed])
        }
        #expect(try await bench.albums() == [album.id: ["a.jpg"], other.id: ["a.jpg", "b.jpg", "c.jpg"]])
        #expect(try await library.remove([assets[0].id], from: album.id, hint: album.hint) == [.removed])
        // R5: only a deleted album is missing, not an empty one.
        #expect(try await bench.albums()[album.id] == [])
        try witness.check()
    }

    @Test("R5: only an album that was deleted is reported missing", arguments: LibraryKind.allCases)
    func missing(_ kind: LibraryKind) async throws {
        let bench = try await kind.make()
        let library = try bench.open()
        let album = try await library.createAlbum(title: Self.title, tapeID: Self.tapeID)
        let other = try await library.createAlbum(title: Self.title, tapeID: Self.otherTape)
        let assets = try await bench.assets([try bench.clip("a.jpg")], library)
        try await bench.destroy(album.id)
        for id in [album.id, Self.unknownAlbum] {
            let hint = id == album.id ? album.hint : nil
            #expect(try await library.album(id, hint: hint) == .missing)
            #expect(try await albumErrorKind { try await library.add(assets, to: id, hint: hint) } == .albumMissing)
            #expect(try await library.deleteAlbum(id, hint: hint) == .alreadyGone)
        }
        #expect(try await library.albumMarked(Self.tapeID) == nil)
        #expect(try await bench.albums().keys.map { $0 } == [other.id])
    }

    @Test(
        "4.1: an invalid ID is the caller's error, never a missing album",
        arguments: LibraryKind.allCases
    )
    func malformedIDs(_ kind: LibraryKind) async throws {
        let bench = try await kind.make()
        let library = try bench.open()
        let assets = try await bench.assets([try bench.clip("a.jpg")], library)
        for id in ["", "x", "../../etc"] {
            let kinds = [
                try await albumErrorKind { try await library.album(id, hint: nil) },
                try await albumErrorKind { try await library.add(assets, to: id, hint: nil) },
                try await albumErrorKind { try await library.remove(assets.map(\.id), from: id, hint: nil) },
                try await albumErrorKind { try await library.deleteAlbum(id, hint: nil) },
            ]
            #expect(kinds == Array(repeating: .rejected(status: nil), count: 4), "\(id)")
        }
    }

    @Test("4.1: empty lists do not require a library", arguments: LibraryKind.allCases)
    func emptyLists(_ kind: LibraryKind) async throws {
        let bench = try await kind.make()
        let album = try await bench.open().createAlbum(title: Self.title, tapeID: Self.tapeID)
        try await bench.takeAway()
        let library = try bench.open()
        #expect(try await library.resolveAssets([], mayUpload: true) == [])
        #expect(try await library.add([], to: album.id, hint: album.hint) == [])
        #expect(try await library.remove([], from: album.id, hint: album.hint) == [])
    }

    @Test("R11: deleting an album deletes neither other albums nor originals", arguments: LibraryKind.allCases)
    func deleting(_ kind: LibraryKind) async throws {
        let bench = try await kind.make()
        let clips = try ["a.jpg", "b.jpg"].map { try bench.clip($0) }
        let witness = try OriginalsWitness(bench.originals)
        let library = try bench.open()
        let album = try await library.createAlbum(title: Self.title, tapeID: Self.tapeID)
        let other = try await library.createAlbum(title: Self.title, tapeID: Self.otherTape)
        let assets = try await bench.assets(clips, library)
        for one in [album, other] { _ = try await library.add(assets, to: one.id, hint: one.hint) }
        #expect(try await library.deleteAlbum(album.id, hint: album.hint) == .deleted)
        #expect(try await bench.open().deleteAlbum(album.id, hint: album.hint) == .alreadyGone)
        #expect(try await bench.albums() == [other.id: ["a.jpg", "b.jpg"]])
        // The assets can still be added.
        let again = try await library.createAlbum(title: Self.title, tapeID: Self.tapeID)
        #expect(try await library.add(assets, to: again.id, hint: again.hint) == [.added, .added])
        try witness.check()
    }

    @Test("trap 1: an unavailable library does not report albums as missing", arguments: LibraryKind.allCases)
    func away(_ kind: LibraryKind) async throws {
        let bench = try await kind.make()
        let tape = try bench.tape("Summer", ["a.jpg"])
        let link = try #require(try await bench.service().associate(tape).link)
        try await bench.takeAway()
        let library = try bench.open()
        let known = try bench.store.clipAssets(of: tape, in: link.libraryID)
        let assets = [AlbumAsset(id: try #require(known.values.first), kind: .image)]
        let kinds = [
            try await albumErrorKind { try await library.album(link.albumID, hint: link.hint) },
            try await albumErrorKind { try await library.add(assets, to: link.albumID, hint: link.hint) },
            try await albumErrorKind { try await library.deleteAlbum(link.albumID, hint: link.hint) },
            try await albumErrorKind { try await library.createAlbum(title: Self.title, tapeID: Self.tapeID) },
        ]
        for kind in kinds {
            #expect(kind == .libraryChanged || kind == .unreachable(retryAfter: nil))
        }
        try await bench.bringBack()
        #expect(try await bench.albums() == [link.albumID: ["a.jpg"]])
    }

    @Test("4.1: a canceled call throws a cancellation error and does nothing", arguments: LibraryKind.allCases)
    func canceledCall(_ kind: LibraryKind) async throws {
        let bench = try await kind.make()
        let library = try bench.open()
        let album = try await library.createAlbum(title: Self.title, tapeID: Self.tapeID)
        let clip = try bench.clip("a.jpg"), other = try bench.clip("b.jpg")
        let assets = try await bench.assets([clip], library)
        _ = try await library.add(assets, to: album.id, hint: album.hint)
        let calls: [@Sendable () async throws -> Void] = [
            { _ = try await library.album(album.id, hint: album.hint) },
            { _ = try await library.albumMarked(Self.tapeID) },
            { _ = try await library.createAlbum(title: Self.title, tapeID: Self.otherTape) },
            { _ = try await library.resolveAssets([other], mayUpload: true) },
            { _ = try await library.add(assets, to: album.id, hint: album.hint) },
            { _ = try await library.remove(assets.map(\.id), from: album.id, hint: album.hint) },
            { _ = try await library.deleteAlbum(album.id, hint: album.hint) },
        ]
        for (index, call) in calls.enumerated() {
            let kind = try await Task {
                withUnsafeCurrentTask { $0?.cancel() }
                return try await albumErrorKind(call)
            }.value
            #expect(kind == .cancelled, "\(index)")
        }
        #expect(try await bench.albums() == [album.id: ["a.jpg"]])
    }

    @Test("R14: an unavailable original does not affect others, and is not refused", arguments: LibraryKind.allCases)
    func missingOriginals(_ kind: LibraryKind) async throws {
        let bench = try await kind.make()
        let clips = try ["a.jpg", "gone.jpg", "b.jpg"].map { try bench.clip($0) }
        try FileManager.default.removeItem(atPath: bench.originals + "/gone.jpg")
        let found = try await bench.open().resolveAssets(clips, mayUpload: true)
        try #require(found.count == 3)
        for index in [0, 2] {
            guard case .asset = found[index] else {
                Issue.record("\(found[index])")
                continue
            }
        }
        switch found[1] {
        case .asset, .unavailable: break
        case .unidentified, .rejected, .failed: Issue.record("\(found[1])")
        }
    }

    @Test("trap 17: names are bytes", arguments: LibraryKind.allCases)
    func oddNames(_ kind: LibraryKind) async throws {
        let bench = try await kind.make()
        let names: [[UInt8]] = [
            Array("line\nbreak.jpg".utf8), Array("quote\"%2f\\.jpg".utf8), Array("-v.jpg".utf8),
            [0xFF] + Array(".jpg".utf8),
            Array(repeating: UInt8(ascii: "n"), count: 251) + Array(".jpg".utf8), Array("Été – 夏.jpg".utf8),
        ]
        let clips = try names.map { try bench.clip($0) }
        let witness = try OriginalsWitness(bench.originals)
        let library = try bench.open()
        let album = try await library.createAlbum(title: "Tapes – a/b\u{7}\u{1b}[31m 😀 \"x\"", tapeID: Self.tapeID)
        let assets = try await bench.assets(clips, library)
        #expect(try await library.add(assets, to: album.id, hint: album.hint) == names.map { _ in AddResult.added })
        #expect(
            try await library.add(assets, to: album.id, hint: album.hint) == names.map { _ in AddResult.alreadyInAlbum }
        )
        #expect(try await bench.albums()[album.id]?.count == names.count)
        try witness.check()
    }

    @Test("arranging adds and removes nothing", arguments: LibraryKind.allCases)
    func arranging(_ kind: LibraryKind) async throws {
        let bench = try await kind.make()
        let tape = try bench.tape("Summer", ["a.jpg", "b.jpg"])
        let link = try #require(try await bench.service().associate(tape).link)
        let record = try #require(try bench.store.tape(tape))
        let clips = Array(try bench.store.clips(of: tape).reversed())
        for _ in 1...2 {
            try await bench.open().arrange(link.albumID, hint: link.hint, tape: record, clips: clips)
        }
        #expect(try await bench.albums() == [link.albumID: ["a.jpg", "b.jpg"]])
    }
}
