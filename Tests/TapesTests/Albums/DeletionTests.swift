import Foundation
import Testing

@testable import MediaStore
@testable import Tapes

/// R11, R12 and traps 7, 8, 9: deletions along with a tape or a clip, which require the flag.
@Suite struct DeletionTests {
    @Test("R11: if the flag is not set, or with --keep-album, the album is kept and the library is not called")
    func flagOff() async throws {
        let bench = try AlbumBench()
        for service in [bench.service(), bench.service(AlbumBench.deleting)] {
            let id = try await bench.associated()
            let link = try #require(try bench.link(id))
            let deletion = try await service.deleteTape(id, keepingAlbum: service.policy.deletesAlbums)
            #expect(deletion.albums == [.kept(link)])
            #expect(bench.library.calls.isEmpty && bench.library.albums[link.albumID] != nil)
            #expect(try bench.store.tape(id) == nil)
            #expect(try bench.store.albumTombstones().isEmpty)
        }
    }

    @Test(
        "R11: if the flag is set, a tombstone replaces the tape, then the album is deleted, with read and write access"
    )
    func flagOn() async throws {
        let (bench, id) = try await AlbumBench.withAlbum()
        let seen = Seen()
        bench.library.configure { script in
            script.before = { [store = bench.store] call in
                let stones = (try? store.albumTombstones())?.map(\.albumID) ?? []
                let isGone = (try? store.tape(id)) == .some(nil)
                seen.keep("\(call.name) \(isGone ? "gone" : "there") \(stones.joined())")
            }
        }
        let link = try #require(try bench.link(id))
        let deletion = try await bench.service(AlbumBench.deleting).deleteTape(id, keepingAlbum: false)
        #expect(deletion.albums == [.deleted(link)] && deletion.tape.title == "Summer")
        #expect(seen.all == ["access gone album-1", "identity gone album-1", "delete gone album-1"])
        #expect(bench.library.calls.first == .access("read_write"))
        #expect(bench.library.albums.isEmpty)
        #expect(try bench.store.albumTombstones().isEmpty)
    }

    @Test(
        "R11: a deletion that fails stays pending, although the tape no longer exists",
        arguments: [
            (AlbumError.Kind.unreachable(retryAfter: nil), AssociationReason.unreachable),
            (.insufficient(["album.delete"]), .accessLimited), (.rejected(status: 400), .rejected),
        ]
    )
    func pending(_ kind: AlbumError.Kind, _ reason: AssociationReason) async throws {
        let (bench, id) = try await AlbumBench.withAlbum()
        let link = try #require(try bench.link(id))
        bench.library.configure { $0.failures["delete"] = [AlbumError(kind, detail: "words")] }
        let service = bench.service(AlbumBench.deleting)
        let deletion = try await service.deleteTape(id, keepingAlbum: false)
        #expect(deletion.albums == [.pending(link, reason, detail: "words")])
        #expect(try bench.store.tape(id) == nil)
        let stone = AlbumTombstone(
            libraryID: "test:one",
            albumID: "album-1",
            tapeTitle: "Summer",
            attempts: 1,
            lastError: reason.rawValue
        )
        #expect(try bench.store.albumTombstones() == [stone])
        // If the flag is not set, the pending deletion is not carried out either; when the flag is set again, it is
        // carried out.
        bench.library.forgetCalls()
        #expect(try await bench.service().reconcile(limit: 20) { _, _ in }.deletedAlbums == 0)
        #expect(try bench.service().reconcilePlan().tombstones.isEmpty && bench.library.calls.isEmpty)
        #expect(try service.reconcilePlan().tombstones == [stone])
        #expect(try await service.reconcile(limit: 20) { _, _ in }.deletedAlbums == 1)
        #expect(try bench.library.albums.isEmpty && bench.store.albumTombstones().isEmpty)
    }

    @Test("R11: in another library, or without permission, nothing is deleted")
    func otherLibrary() async throws {
        let bench = try AlbumBench()
        let (first, second) = (try await bench.associated(), try await bench.associated())
        let service = bench.service(AlbumBench.deleting)
        bench.library.configure { $0.identity.libraryID = "test:two" }
        #expect(try await service.deleteTape(first, keepingAlbum: false).albums.first?.reason == .libraryChanged)
        #expect(try bench.store.albumTombstones().map(\.lastError) == ["library_changed"])
        bench.library.configure {
            $0.identity.libraryID = "test:one"
            $0.readWrite = AlbumAccess(.denied, fingerprint: "all")
        }
        #expect(try await service.deleteTape(second, keepingAlbum: false).albums.first?.reason == .accessDenied)
        #expect(!bench.library.work.contains("delete") && bench.library.albums.count == 2)
        // Adding requires less access, so it still works.
        #expect(try await bench.service().associate(try bench.tape("Third", ["c"])).state == .associated)
    }

    @Test("R11: an album that is already deleted is a success; foreign files in it are reported")
    func ends() async throws {
        let bench = try AlbumBench()
        let (first, second) = (try await bench.associated(), try await bench.associated())
        let service = bench.service(AlbumBench.deleting)
        let links = (try #require(try bench.link(first)), try #require(try bench.link(second)))
        bench.library.meddle { $0.albums["album-1"] = nil }
        #expect(try await service.deleteTape(first, keepingAlbum: false).albums == [.deleted(links.0)])
        let third = try await bench.associated()
        bench.library.configure { $0.failures["delete"] = [AlbumError(.albumMissing)] }
        #expect(try await service.deleteTape(third, keepingAlbum: false).albums.first?.reason == nil)
        #expect(try bench.store.albumTombstones().isEmpty)
        bench.library.configure { $0.deletion = .keptForeign(2) }
        #expect(try await service.deleteTape(second, keepingAlbum: false).albums == [.keptForeign(links.1, 2)])
        #expect(try bench.store.albumTombstones().isEmpty)
    }

    @Test("R11, trap 7: an album that another tape uses is never deleted, neither now nor later")
    func held() async throws {
        let bench = try AlbumBench()
        let (id, other) = (try await bench.associated(), try bench.tape("Other", ["b"]))
        var link = try #require(try bench.link(id))
        link.tapeID = other
        try bench.store.keep(link)
        let service = bench.service(AlbumBench.deleting)
        #expect(
            try await service.deleteTape(id, keepingAlbum: false).albums.first
                == .kept(
                    bench.link(other).map { link in
                        var link = link
                        link.tapeID = id
                        return link
                    } ?? link
                )
        )
        #expect(bench.library.calls.isEmpty && bench.library.albums.count == 1)
        // A tombstone created before the other tape got the album.
        let stone = AlbumTombstone(libraryID: "test:one", albumID: "album-1", tapeTitle: "")
        try bench.store.keep(stone)
        #expect(try await service.reconcile(limit: 0) { _, _ in }.deletedAlbums == 0)
        #expect(bench.library.albums.count == 1)
    }

    @Test("R11: the flag is also checked by the deletion itself")
    func deepest() async throws {
        let bench = try AlbumBench()
        bench.library.meddle { $0.albums["album-1"] = .init(title: "", tapeID: "") }
        let stone = AlbumTombstone(libraryID: "test:one", albumID: "album-1", tapeTitle: "")
        for policy in [AlbumService.Policy(), AlbumService.Policy(isEnabled: false, deletesAlbums: true)] {
            _ = try await bench.service(policy).process(stone, hint: nil)
        }
        #expect(bench.library.calls.isEmpty && bench.library.albums.count == 1)
    }

    @Test("a deleted tape cannot be deleted again")
    func gone() async throws {
        let bench = try AlbumBench()
        let error = await #expect(throws: TapesError.self) {
            try await bench.service(AlbumBench.deleting).deleteTape("none", keepingAlbum: false)
        }
        #expect(error?.code == .tapeNotFound)
    }

    // MARK: Clips

    private func remove(_ names: [String], of id: String, _ bench: AlbumBench, _ service: AlbumService) async throws
        -> AlbumOutcome
    {
        let ids = try bench.store.clips(of: id).filter {
            names.contains(String(decoding: $0.source ?? [], as: UTF8.self))
        }
        let (removed, outcome) = try await service.removeClips(ids.map(\.id), of: id)
        #expect(removed.map(\.id) == ids.map(\.id))
        return outcome
    }

    @Test("R12: without the flag, clips are removed only from the tape, even while another process changes its album")
    func removeFlagOff() async throws {
        let (bench, id) = try await AlbumBench.withAlbum("Summer", ["a", "b"])
        let lock = try await AlbumLock.acquire(.tape(id), in: bench.directory)
        #expect(try await remove(["/a"], of: id, bench, bench.service()).state == .skipped)
        lock.release()
        #expect(bench.library.calls.isEmpty)
        #expect(try bench.assets(id) == ["/a", "/b"] && bench.clips(id) == ["b linked"])
        #expect(try await bench.service().rearrange(id).state == .associated)
        #expect(bench.library.calls == [.arrange("album-1", ["/b"])])
    }

    @Test("R12: if the flag is set, the asset is removed; the empty album and its link are kept")
    func removeFlagOn() async throws {
        let (bench, id) = try await AlbumBench.withAlbum("Summer", ["a", "b"])
        let service = bench.service(AlbumBench.deleting)
        #expect(try await remove(["/a"], of: id, bench, service).state == .associated)
        #expect(bench.library.calls.first == .access("read_write"))
        #expect(try bench.assets(id) == ["/b"])
        _ = try await remove(["/b"], of: id, bench, service)
        #expect(try bench.assets(id) == [] && bench.link(id)?.albumID == "album-1")
    }

    @Test("R12, trap 8: an original that another clip of the tape uses stays in the album", arguments: [false, true])
    func removeTwice(_ isOtherPending: Bool) async throws {
        let (bench, id) = try await AlbumBench.withAlbum("Summer", isOtherPending ? ["a"] : ["a", "a"])
        if isOtherPending { try bench.add(["a"], to: id) }
        let service = bench.service(AlbumBench.deleting)
        let first = try #require(try bench.store.clips(of: id).first)
        _ = try await service.removeClips([first.id], of: id)
        #expect(try bench.assets(id) == ["/a"] && !bench.library.work.contains("remove"))
    }

    @Test("R12, trap 8: if two files are one asset, it stays in the album while one of them is used")
    func removeSameAsset() async throws {
        let (bench, id) = try AlbumBench.withTape("Summer", ["a", "copy"])
        bench.library.configure { $0.resolutions["/copy"] = .asset(Array("/a".utf8)) }
        _ = try await bench.service().associate(id)
        _ = try await remove(["/copy"], of: id, bench, bench.service(AlbumBench.deleting))
        #expect(try bench.assets(id) == ["/a"])
    }

    @Test("R12: an asset that the library does not remove is kept, with a warning")
    func removeFails() async throws {
        let (bench, id) = try await AlbumBench.withAlbum("Summer", ["a", "b", "c"])
        let service = bench.service(AlbumBench.deleting)
        bench.library.configure { $0.removals["/a"] = .notAllowed }
        #expect(try await remove(["/a"], of: id, bench, service).state == .partly)
        bench.library.configure { $0.failures["remove"] = [AlbumError(.unreachable(retryAfter: nil))] }
        #expect(try await remove(["/b"], of: id, bench, service).reason == .unreachable)
        bench.library.configure { $0.identity.libraryID = "test:two" }
        #expect(try await remove(["/c"], of: id, bench, service).reason == .libraryChanged)
        #expect(try bench.clips(id).isEmpty)
    }

    @Test("an album that a newer version wrote has its own remedy if only its order cannot be updated")
    func removeFromNewer() async throws {
        let (bench, id) = try await AlbumBench.withAlbum("Summer", ["a", "b"])
        bench.library.configure {
            $0.failures["arrange"] = [AlbumError(.insufficient(["write"]), obstacle: .newerVersion)]
        }
        let outcome = try await remove(["/a"], of: id, bench, bench.service(AlbumBench.deleting))
        #expect(outcome.state == .partly && outcome.obstacle == .newerVersion)
    }

    @Test("a removal that is canceled while another process works on the album removes nothing")
    func removalCancelledWaiting() async throws {
        let (bench, id) = try await AlbumBench.withAlbum()
        let clips = try bench.store.clips(of: id).map(\.id)
        let lock = try await AlbumLock.acquire(.tape(id), in: bench.directory)
        let task = Task { [service = bench.service(AlbumBench.deleting)] in
            try await service.removeClips(clips, of: id).removed.count
        }
        task.cancel()
        let error = await #expect(throws: TapesError.self) { try await task.value }
        #expect(error?.code == .cancelled && bench.library.calls.isEmpty)
        #expect(try bench.clips(id) == ["a linked"])
        lock.release()
    }

    @Test(
        "R11: a deletion that is canceled while it waits for another deletion deletes nothing",
        arguments: [false, true]
    )
    func deletionCancelledWaiting(withAlbum: Bool) async throws {
        let (bench, id) = try await AlbumBench.withAlbum()
        let lock = try await AlbumLock.acquire(.tape(id), in: bench.directory)
        let task = Task { [service = bench.service(withAlbum ? AlbumBench.deleting : AlbumService.Policy())] in
            try await service.deleteTape(id, keepingAlbum: false).albums.count
        }
        task.cancel()
        let error = await #expect(throws: TapesError.self) { try await task.value }
        #expect(error?.code == .cancelled && bench.library.calls.isEmpty)
        #expect(try bench.store.tape(id) != nil)
        lock.release()
    }

    /// Runs `body` in a task, and cancels it while the library executes a call.
    private func cancel<Value: Sendable>(
        during name: String,
        _ bench: AlbumBench,
        _ body: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        let (called, caller) = AsyncStream<Void>.makeStream()
        let (canceled, canceler) = AsyncStream<Void>.makeStream()
        bench.library.configure { script in
            script.before = { call in
                guard call.name == name else { return }
                caller.finish()
                for await _ in canceled {}
            }
        }
        defer { bench.library.configure { $0.before = nil } }
        let task = Task { try await body() }
        for await _ in called {}
        task.cancel()
        canceler.finish()
        return try await task.value
    }

    @Test("R11: a deletion that is canceled after it began also deletes the album")
    func deletionCancelledLate() async throws {
        let (bench, id) = try await AlbumBench.withAlbum()
        let service = bench.service(AlbumBench.deleting)
        let albums = try await cancel(during: "delete", bench) {
            try await service.deleteTape(id, keepingAlbum: false).albums
        }
        #expect(albums.count == 1 && albums.first?.reason == nil)
        #expect(bench.library.albums.isEmpty)
        #expect(try bench.store.tape(id) == nil)
    }

    @Test("R12: a removal that is canceled after it began also removes from the album")
    func removalCancelledLate() async throws {
        let (bench, id) = try await AlbumBench.withAlbum("Summer", ["a", "b"])
        let clips = try bench.store.clips(of: id).prefix(1).map(\.id)
        let service = bench.service(AlbumBench.deleting)
        let state = try await cancel(during: "remove", bench) {
            try await service.removeClips(clips, of: id).album.state
        }
        #expect(state == .associated)
        #expect(try bench.assets(id) == ["/b"] && bench.clips(id) == ["b linked"])
    }
}

extension TapeDeletion.Album {
    fileprivate var reason: AssociationReason? {
        if case .pending(_, let reason, _) = self { return reason }
        return nil
    }
}
