import Foundation
import MediaStore
import Testing

@testable import Tapes

/// R3, R5, R8 and traps 1, 3, 7: how an album is found, and when it counts as lost.
@Suite struct IdentifierTests {
    @Test("R3: an album with the right title is not adopted; two tapes with one title are reported")
    func title() async throws {
        let bench = try AlbumBench()
        bench.library.meddle { $0.albums["theirs"] = .init(title: "Tapes – Summer", tapeID: "") }
        let first = try await bench.associated("Summer", ["a"])
        let second = try await bench.associated("Summer", ["b"])
        #expect(bench.library.albums["theirs"]?.assets == [])
        #expect(try bench.link(first)?.albumID == "album-1" && bench.link(second)?.albumID == "album-2")
        let event = try #require(bench.events.all.last { $0.kind == .create })
        #expect(event.albumID == "album-2" && event.message.contains("album-1"))
    }

    @Test("R3: a tape gets an existing album only by an explicit link, which is then permanent")
    func linkByHand() async throws {
        let bench = try AlbumBench()
        bench.library.meddle { $0.albums["theirs"] = .init(title: "Holiday", tapeID: "") }
        let id = try await bench.associated("Summer", ["a"])
        let link = try await bench.service().link(id, to: "theirs")
        #expect(link.titleAtCreation == "Holiday" && bench.library.calls.first == .access("read_write"))
        #expect(try bench.clips(id) == ["a pending"])
        _ = try await bench.service().associate(id)
        #expect(bench.library.albums["theirs"]?.assets == ["/a"])

        // One album, one tape (trap 7).
        let other = try bench.tape("Other", ["b"])
        await #expect(throws: TapesError.self) { try await bench.service().link(other, to: "theirs") }
        let missing = await #expect(throws: TapesError.self) { try await bench.service().link(other, to: "none") }
        #expect(missing?.code == .albumNotFound)
        let gone = await #expect(throws: TapesError.self) { try await bench.service().link("none", to: "theirs") }
        #expect(gone?.code == .tapeNotFound)
        bench.library.configure { $0.readWrite = AlbumAccess(.denied, fingerprint: "none", detail: "no") }
        let denied = await #expect(throws: TapesError.self) { try await bench.service().link(other, to: "theirs") }
        #expect(denied?.code == .libraryUnusable && denied?.value == "access_denied")
    }

    @Test("unlinking keeps the album but not its link; the next add creates another album")
    func unlink() async throws {
        let (bench, id) = try await AlbumBench.withAlbum()
        #expect(try await bench.service().unlink(id)?.albumID == "album-1")
        #expect(try await bench.service().unlink(id) == nil)
        #expect(bench.library.calls.isEmpty)
        #expect(try bench.state(id) == "pending_association never_tried")
        _ = try await bench.service().associate(id)
        #expect(bench.library.albums.count == 2)
        #expect(try bench.assets(id) == ["/a"])
    }

    @Test("R5: a deleted album is created again, complete, with the tape's current title")
    func recreated() async throws {
        let (bench, id) = try await AlbumBench.withAlbum("Summer", ["a", "b"])
        _ = try bench.store.changeTape(id, at: bench.clock.now) { $0.title = "Winter" }
        bench.library.meddle { $0.albums = [:] }
        try bench.add(["c"], to: id)
        let outcome = try await bench.service().associate(id)
        #expect(outcome.state == .associated && outcome.isCreated && outcome.addedClips == 3)
        #expect(try bench.link(id)?.albumID == "album-2")
        #expect(
            bench.library.albums
                == ["album-2": .init(title: "Tapes – Winter", tapeID: id, assets: ["/a", "/b", "/c"])]
        )
    }

    @Test("R5: an album deleted between query and add is created again once, not repeatedly")
    func goneMeanwhile() async throws {
        let (bench, id) = try await AlbumBench.withAlbum("Summer", ["a"])
        try bench.add(["b"], to: id)
        bench.library.configure { $0.failures["add"] = [AlbumError(.albumMissing)] }
        _ = try await bench.service().associate(id)
        #expect(try bench.link(id)?.albumID == "album-2")
        #expect(try bench.assets(id) == ["/a", "/b"])

        try bench.add(["c"], to: id)
        bench.library.configure { $0.failures["add"] = [AlbumError(.albumMissing), AlbumError(.albumMissing)] }
        let outcome = try await bench.service().associate(id)
        #expect(outcome.state == .pending && outcome.reason == .albumMissing)
        #expect(bench.library.albums.count == 3)
    }

    @Test(
        "R5: only a definite response counts; if in doubt, nothing is created",
        arguments: [
            (AlbumError.Kind.unreachable(retryAfter: nil), "associated"), (.rejected(status: 400), "associated"),
            (.unauthorized, "pending_association access_denied"),
            (.insufficient(["album.read"]), "pending_association access_limited"),
            (.libraryChanged, "pending_association library_changed"), (.quota, "associated"),
        ]
    )
    func doubt(_ kind: AlbumError.Kind, _ state: String) async throws {
        let (bench, id) = try await AlbumBench.withAlbum()
        try bench.add(["b"], to: id)
        for place in ["album", "add"] {
            bench.library.configure { $0.failures[place] = [AlbumError(kind)] }
            _ = try await bench.service().associate(id, isRequested: true)
            #expect(try bench.state(id) == state)
            #expect(try bench.link(id)?.albumID == "album-1")
            #expect(bench.library.albums.count == 1)
        }
    }

    /// The library, account and key found in place of those of a tape's album, and whether they may be the same.
    @Test(
        "trap 1, 4.2: a different or unknown library at the address does not count as a loss of albums",
        arguments: [
            ("test:two", nil, nil, false), ("test:two", "him", "k2", false), ("test:two", nil, "k2", false),
            ("test:two", "me", "k2", true), ("test:two", nil, "k1", true), ("test:one", nil, nil, true),
        ] as [(String, String?, String?, Bool)]
    )
    func otherLibrary(_ id: String, _ account: String?, _ key: String?, _ isSame: Bool) async throws {
        let bench = try AlbumBench()
        bench.library.configure {
            $0.identity = AlbumLibraryIdentity(libraryID: "test:one", accountID: "me", keyID: "k1", name: "")
        }
        let tape = try await bench.associated()
        // All IDs result in "no such album".
        bench.library.meddle { $0.albums = [:] }
        bench.library.configure {
            $0.identity = AlbumLibraryIdentity(libraryID: id, accountID: account, keyID: key, name: "")
        }
        try bench.add(["b"], to: tape)
        let outcome = try await bench.service().associate(tape, isRequested: true)
        #expect(outcome.isCreated == isSame)
        #expect(bench.library.albums.count == (isSame ? 1 : 0))
        #expect(try bench.link(tape)?.albumID == (isSame ? "album-2" : "album-1"))
        if !isSame { #expect(try bench.state(tape) == "pending_association library_changed") }
    }

    @Test("trap 1: the disk is unmounted between opening the library and the result")
    func unmountedMeanwhile() async throws {
        let (bench, id) = try await AlbumBench.withAlbum()
        bench.library.meddle { $0.albums = [:] }
        try bench.add(["b"], to: id)
        bench.library.configure { $0.failures["identity"] = [nil, AlbumError(.libraryChanged)] }
        #expect(try await bench.service().associate(id).reason == .libraryChanged)
        #expect(bench.library.albums.isEmpty)
        #expect(try bench.state(id) == "pending_association library_changed")
    }

    @Test("trap 1: where a library was found before, none is created automatically")
    func rootGone() async throws {
        let (bench, id) = try await AlbumBench.withAlbum()
        try bench.add(["b"], to: id)
        bench.library.configure { $0.addOnly = AlbumAccess(.notDetermined, fingerprint: "empty") }
        _ = try await bench.service().associate(id, isRequested: true)
        #expect(!bench.library.calls.contains(.request("add_only")))
    }

    @Test("trap 1: another tape's album in the new library does not remove the old links")
    func otherLibraryInUse() async throws {
        let (bench, old) = try await AlbumBench.withAlbum()
        bench.library.configure { $0.identity.libraryID = "test:two" }
        let new = try await bench.associated("Other", ["b"])
        #expect(try bench.link(new)?.libraryID == "test:two")
        try bench.add(["c"], to: old)
        #expect(try await bench.service().associate(old).reason == .libraryChanged)
        // After remounting, everything is as before.
        bench.library.configure { $0.identity.libraryID = "test:one" }
        #expect(try await bench.service().associate(old).state == .associated)
        #expect(try bench.assets(old) == ["/a", "/c"])
    }

    @Test("2.1: a different address, chosen by the user, gets a separate album; the old link is kept")
    func otherAddress() async throws {
        let (bench, id) = try await AlbumBench.withAlbum("Summer", ["a"])
        let other = ScriptedLibrary(address: "/two")
        other.configure { $0.identity.libraryID = "test:two" }
        #expect(try bench.service(library: other).reconcilePlan().tapes.map(\.id) == [id])
        try bench.add(["b"], to: id)
        other.configure { $0.failures["create"] = [AlbumError(.unreachable(retryAfter: nil))] }
        _ = try await bench.service(library: other).associate(id)
        // The tape has an album, but none in the current library.
        #expect(try bench.state(id) == "pending_association unreachable")
        let outcome = try await bench.service(library: other).associate(id, isRequested: true)
        #expect(outcome.isCreated && outcome.addedClips == 2)
        // The change of library is reported once: the user may not have intended it.
        #expect(outcome.formerLink?.libraryID == "test:one" && outcome.formerLink?.albumID == "album-1")
        try bench.add(["d"], to: id)
        #expect(try await bench.service(library: other).associate(id).formerLink == nil)
        #expect(other.albums["album-1"]?.assets == ["/a", "/b", "/d"])
        #expect(try bench.store.albumLinks(of: id).map(\.libraryID).sorted() == ["test:one", "test:two"])
        // Back in the first library, the album is still linked, and is completed.
        #expect(try await bench.service().associate(id, isRequested: true).state == .associated)
        #expect(bench.library.albums["album-1"]?.assets == ["/a", "/b", "/d"] && bench.library.albums.count == 1)
    }

    @Test("trap 3: without read permission, adding does not query, and does not create an album each time")
    func mayNotLook() async throws {
        let bench = try AlbumBench()
        bench.library.configure { $0.mayLook = false }
        let id = try await bench.associated()
        for name in ["b", "c"] {
            try bench.add([name], to: id)
            #expect(try await bench.service().associate(id).state == .associated)
        }
        #expect(bench.library.albums.count == 1)
        #expect(try bench.assets(id) == ["/a", "/b", "/c"])
    }

    @Test("trap 10: an album's count proves nothing; added assets are not added again")
    func count() async throws {
        let (bench, id) = try await AlbumBench.withAlbum("Summer", ["a"])
        bench.library.meddle { $0.albums["album-1"]?.assets = [] }
        try bench.add(["b"], to: id)
        _ = try await bench.service().associate(id)
        #expect(bench.library.calls.contains(.add(["/b"], to: "album-1")))
    }

    @Test("R8: a rename does not change any album")
    func rename() async throws {
        let (bench, id) = try await AlbumBench.withAlbum()
        _ = try bench.store.changeTape(id, at: bench.clock.now) { $0.title = "Winter" }
        try bench.add(["b"], to: id)
        _ = try await bench.service().associate(id)
        #expect(bench.library.albums.map(\.value.title) == ["Tapes – Summer"])
        #expect(try bench.link(id)?.titleAtCreation == "Tapes – Summer")
        #expect(bench.library.work == ["album", "resolve", "add", "arrange"])
    }
}
