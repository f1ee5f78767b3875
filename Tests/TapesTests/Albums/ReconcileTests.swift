import Foundation
import Testing

@testable import MediaStore
@testable import Tapes

/// R13, R16 and R17: old tapes, exports and copies.
@Suite struct ReconcileTests {
    @Test("R13: opening marks old tapes with one statement, without a call")
    func opening() async throws {
        let bench = try AlbumBench()
        var ids: [String] = []
        for number in 0..<50 {
            let id = try bench.tape("Old \(number)", ["a"])
            try bench.store.setTapeAssociation(id, .none, nil)
            ids.append(id)
        }
        let empty = try bench.tape("Empty")
        _ = bench.service()
        #expect(try bench.store.markUntriedTapes() == 50)
        #expect(try ids.allSatisfy { try bench.state($0) == "pending_association never_tried" })
        #expect(try bench.state(empty) == "none")
        #expect(try bench.service().reconcilePlan().tapes.count == 50)
        #expect(bench.library.calls.isEmpty && bench.library.albums.isEmpty)
        // The next add creates the tape's album, and no other album.
        try bench.add(["b"], to: ids[7])
        _ = try await bench.service().associate(ids[7])
        #expect(bench.library.albums.values.map(\.title) == ["Tapes – Old 7"])
    }

    @Test("R13: reconciling processes a limited number, one at a time, the least attempted first")
    func limit() async throws {
        let bench = try AlbumBench()
        for number in 0..<5 {
            bench.clock.advance(1)
            try bench.tape("\(number)", ["a"])
        }
        let titles = Seen()
        let outcome = try await bench.service().reconcile(limit: 2) { tape, _ in titles.keep(tape.title) }
        #expect(outcome == ReconcileOutcome(done: 2, left: 3, deletedAlbums: 0))
        #expect(titles.all == ["0", "1"] && bench.library.albums.count == 2)
        bench.library.configure { $0.failures["create"] = [AlbumError(.rejected(status: 400))] }
        _ = try await bench.service().reconcile(limit: 1) { tape, _ in titles.keep(tape.title) }
        _ = try await bench.service().reconcile(limit: 2) { tape, _ in titles.keep(tape.title) }
        #expect(titles.all == ["0", "1", "2", "3", "4"])
    }

    @Test(
        "R13: reconciling stops at the first library-wide error, not at an error of one tape",
        arguments: [
            (AlbumError.Kind.unreachable(retryAfter: nil), AssociationReason?.some(.unreachable), 1),
            (.quota, .quota, 1), (.unauthorized, .accessDenied, 1), (.rejected(status: 400), nil, 3),
        ]
    )
    func stops(_ kind: AlbumError.Kind, _ reason: AssociationReason?, _ done: Int) async throws {
        let bench = try AlbumBench()
        for number in 0..<3 { try bench.tape("\(number)", ["a"]) }
        bench.library.configure { $0.failures["create"] = [AlbumError(kind)] }
        let outcome = try await bench.service().reconcile(limit: 20) { _, _ in }
        #expect(outcome.stoppedBy == reason && outcome.done == done && outcome.left == 3 - done)
    }

    @Test("R13: a full account stops reconciling, but an asset that fails individually does not")
    func full() async throws {
        let bench = try AlbumBench()
        for name in ["a", "b"] { try bench.tape(name, [name]) }
        bench.library.configure { $0.resolutions = ["/a": .failed(AlbumError(.unreachable(retryAfter: nil)))] }
        #expect(try await bench.service().reconcile(limit: 20) { _, _ in }.done == 2)
        for name in ["c", "d"] { try bench.tape(name, [name]) }
        bench.library.configure {
            $0.resolutions = ["/c": .failed(AlbumError(.quota)), "/d": .failed(AlbumError(.quota))]
        }
        let outcome = try await bench.service().reconcile(limit: 20) { _, _ in }
        #expect(outcome.stoppedBy == .quota && outcome.done == 1)
    }

    @Test("R13: with limited or denied access nothing is done")
    func limitedAccess() async throws {
        let bench = try AlbumBench()
        try bench.tape("Summer", ["a"])
        try bench.store.keep(AlbumTombstone(libraryID: "test:one", albumID: "album-9", tapeTitle: ""))
        for (state, reason) in [
            (AlbumAccess.State.limited(missing: ["x"]), AssociationReason.accessLimited), (.denied, .accessDenied),
        ] {
            bench.library.configure { $0.addOnly = AlbumAccess(state, fingerprint: "f") }
            let outcome = try await bench.service(AlbumBench.deleting).reconcile(limit: 20) { _, _ in }
            #expect(outcome.stoppedBy == reason && outcome.done == 0 && outcome.left == 1)
        }
        #expect(bench.library.work.isEmpty)
    }

    @Test("R13: without pending updates nothing is queried")
    func nothing() async throws {
        let bench = try AlbumBench()
        _ = try await bench.associated()
        #expect(try await bench.service().reconcile(limit: 20) { _, _ in }.done == 0)
        #expect(bench.library.calls.isEmpty)
    }

    @Test("R13: --verify marks deleted albums but does not create any; the next reconcile does")
    func verify() async throws {
        let bench = try AlbumBench()
        let (first, second) = (try await bench.associated("1"), try await bench.associated("2"))
        bench.library.meddle { $0.albums["album-1"] = nil }
        #expect(try await bench.service().verifyAlbums { _, _ in } == 1)
        #expect(bench.library.calls.first == .access("read_write"))
        #expect(try bench.state(first) == "pending_association album_missing")
        #expect(try bench.state(second) == "associated")
        #expect(try bench.link(first)?.albumID == "album-1" && bench.library.albums.count == 1)
        #expect(try await bench.service().reconcile(limit: 20) { _, _ in }.done == 1)
        #expect(try bench.state(first) == "associated" && bench.assets(first) == ["/a"])
    }

    @Test("R13, trap 1: a result from another library marks nothing")
    func verifyElsewhere() async throws {
        let (bench, id) = try await AlbumBench.withAlbum()
        bench.library.meddle { $0.albums = [:] }
        bench.library.configure { $0.identity.libraryID = "test:two" }
        #expect(try await bench.service().verifyAlbums { _, _ in } == 0)
        bench.library.configure {
            $0.identity.libraryID = "test:one"
            $0.failures["identity"] = [nil, AlbumError(.libraryChanged)]
        }
        await #expect(throws: TapesError.self) { try await bench.service().verifyAlbums { _, _ in } }
        #expect(try bench.state(id) == "associated")
        bench.library.configure { $0.readWrite = AlbumAccess(.denied, fingerprint: "no") }
        let error = await #expect(throws: TapesError.self) { try await bench.service().verifyAlbums { _, _ in } }
        #expect(error?.code == .libraryUnusable)
    }

    @Test("R13: a damaged album affects only its own tape: the others are reconciled, and verified")
    func damaged() async throws {
        let (bench, first) = try await AlbumBench.withAlbum("1")
        bench.clock.advance(1)
        let second = try await bench.associated("2", ["b"])
        for id in [first, second] { try bench.add(["c"], to: id) }
        let error = AlbumError(.albumDamaged, detail: "words")
        bench.library.configure { $0.failures["album"] = [error] }
        let seen = Seen()
        let outcome = try await bench.service().reconcile(limit: 20) { _, outcome in
            seen.keep("\(outcome.reason?.rawValue ?? "-") \(outcome.isAlbumDamaged) \(outcome.detail)")
        }
        #expect(outcome.stoppedBy == nil && outcome.done == 2)
        #expect(seen.all == ["unreachable true words", "- false "])
        // The tape has an album, and no other one is created.
        #expect(try bench.state(first) == "associated" && bench.library.albums.count == 2)
        #expect(try bench.clips(first) == ["a linked", "c pending unreachable"])

        bench.library.configure { $0.failures["album"] = [error] }
        let verified = Seen()
        #expect(
            try await bench.service().verifyAlbums { link, presence in
                verified.keep(presence == .damaged("words") ? "damaged" : link.albumID)
            } == 0
        )
        #expect(verified.all.count == 2 && verified.all.contains("damaged"))
    }

    @Test("R13, trap 1: a different library at the address stops reconciling at a tape whose album is elsewhere")
    func otherLibrary() async throws {
        let bench = try AlbumBench()
        var ids: [String] = []
        for number in 0..<3 { ids.append(try await bench.associated("\(number)")) }
        for id in ids { try bench.add(["b"], to: id) }
        bench.library.configure { $0.identity.libraryID = "test:two" }
        let outcome = try await bench.service().reconcile(limit: 20) { _, _ in }
        #expect(outcome.stoppedBy == .libraryChanged && outcome.done == 0 && outcome.detail.contains("test:one"))
        #expect(outcome.left >= 2 && bench.library.work.isEmpty)
        let states = try ids.map { try bench.state($0) }
        #expect(states.count { $0 == "pending_association library_changed" } == 1)
        #expect(states.count { $0 == "associated" } == 2)
    }

    @Test("R16: a rendered file is added to the tape's album, which is created if necessary, and is not a clip")
    func filing() async throws {
        let (bench, id) = try AlbumBench.withTape("Summer", ["a"])
        let video = Array("/Summer.mp4".utf8)
        let outcome = try await bench.service().file(video, into: id)
        #expect(outcome.state == .associated && outcome.isCreated && outcome.addedClips == 1 && outcome.isFiled)
        #expect(try bench.assets(id) == ["/a", "/Summer.mp4"] && bench.clips(id) == ["a linked"])
        #expect(try await bench.service().file(video, into: id).state == .associated)
        #expect(bench.library.albums.map(\.value.assets) == [["/a", "/Summer.mp4"]])
        bench.library.configure { $0.resolutions["/Summer.mp4"] = .rejected("a format") }
        let refused = try await bench.service().file(video, into: id)
        #expect(refused.state == .partly && refused.reason == .assetRejected && refused.detail == "a format")
        #expect(!refused.isFiled)
    }

    @Test("R17, trap 7: a copy does not have the album of its original, and immediately gets its own album")
    func copy() async throws {
        let (bench, id) = try await AlbumBench.withAlbum("Summer", ["a", "b"])
        let copy = try #require(try bench.store.duplicateTape(id, at: bench.clock.now))
        #expect(try bench.store.albumLinks(of: copy.id).isEmpty)
        #expect(try bench.clips(copy.id) == ["a pending", "b pending"])
        #expect(try await bench.service().associate(copy.id).isCreated)
        #expect(
            bench.library.albums["album-2"]
                == .init(title: "Tapes – Summer Copy", tapeID: copy.id, assets: ["/a", "/b"])
        )
        _ = try await bench.service(AlbumBench.deleting).deleteTape(copy.id, keepingAlbum: false)
        #expect(Array(bench.library.albums.keys) == ["album-1"])
    }

    @Test("a new order is sent to the library if there is an album, but does not create one")
    func order() async throws {
        let (bench, id) = try await AlbumBench.withAlbum("Summer", ["a", "b"])
        let clip = try #require(try bench.store.clips(of: id).last)
        _ = try bench.store.moveClip(clip.id, of: id, to: 0, now: bench.clock.now)
        #expect(try await bench.service().rearrange(id).state == .associated)
        #expect(bench.library.calls == [.arrange("album-1", ["/b", "/a"])])
        #expect(try await bench.service().rearrange(try bench.tape("Other", ["c"])).state == .skipped)
        bench.library.configure { $0.failures["arrange"] = [AlbumError(.albumMissing)] }
        #expect(try await bench.service().rearrange(id).state == .partly)
        #expect(bench.library.albums.count == 1)
    }
}
