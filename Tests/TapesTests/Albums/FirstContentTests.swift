import Foundation
import MediaStore
import Testing

@testable import Tapes

/// R1, R2, R4 and R7: how a tape gets its album, and the state after an interruption.
@Suite struct FirstContentTests {
    @Test("R1: the first clip creates one album, and the next clip is added to it")
    func firstContent() async throws {
        let (bench, id) = try AlbumBench.withTape()
        // An empty tape never has an album.
        #expect(try await bench.service().associate(id).state == .skipped)
        #expect(bench.library.calls.isEmpty)

        try bench.add(["a"], to: id)
        let first = try await bench.service().associate(id)
        #expect(first.state == .associated && first.isCreated && first.addedClips == 1)
        #expect(bench.library.albums == ["album-1": .init(title: "Tapes – Summer", tapeID: id, assets: ["/a"])])
        #expect(try bench.link(id)?.albumID == "album-1")

        try bench.add(["b"], to: id)
        let second = try await bench.service().associate(id)
        #expect(second.state == .associated && !second.isCreated && second.link?.albumID == "album-1")
        #expect(bench.library.albums.count == 1)
        #expect(try bench.assets(id) == ["/a", "/b"])
    }

    @Test(
        "R1: an album's title has an en dash, is trimmed, and has spaces in place of control characters",
        arguments: [
            ("Summer", "Summer"), ("  Summer \n", "Summer"), (" \t ", "New Tape"), ("", "New Tape"),
            ("a\u{1}\nb", "a  b"), ("Tapes – x", "Tapes – x"),
        ]
    )
    func title(_ title: String, _ shown: String) {
        let made = AlbumTitle.of(TapeRecord(id: "", title: title, createdAt: Date()))
        #expect(Array(made.utf8) == [0x54, 0x61, 0x70, 0x65, 0x73, 0x20, 0xe2, 0x80, 0x93, 0x20] + Array(shown.utf8))
    }

    @Test("R2, trap 4: clips first, then lock, access, album, identifier, every pending clip, results")
    func order() async throws {
        let (bench, id) = try AlbumBench.withTape("Summer", ["a", "b"])
        let seen = Seen()
        bench.library.configure { script in
            script.before = { [store = bench.store] call in
                // The rows that are committed when the library is called.
                let clips = (try? store.clips(of: id)) ?? []
                let states = clips.map(\.association.rawValue).joined(separator: ",")
                let link = (try? store.albumLinks(of: id))?.first?.albumID ?? "-"
                seen.keep("\(call.name) \(states) \(link)")
            }
        }
        _ = try await bench.service().associate(id)
        #expect(
            seen.all == [
                "access pending,pending -", "identity pending,pending -", "create pending,pending -",
                // Trap 4: the identifier is stored before anything is added.
                "resolve pending,pending album-1", "add pending,pending album-1", "arrange linked,linked album-1",
            ]
        )
        #expect(try bench.clips(id) == ["a linked", "b linked"])
    }

    @Test("R2.1: read access is not requested if clips are only added")
    func addOnly() async throws {
        let (bench, id) = try await AlbumBench.withAlbum()
        try bench.add(["b"], to: id)
        _ = try await bench.service().associate(id)
        #expect(bench.library.calls.filter { $0.name == "access" || $0.name == "request" } == [.access("add_only")])
    }

    @Test("R2.3, trap 6: a tape that was deleted before the lock was acquired does not get an album")
    func goneTape() async throws {
        let (bench, id) = try AlbumBench.withTape("Summer", ["a"])
        let lock = try await AlbumLock.acquire(.tape(id), in: bench.directory)
        let task = Task { [service = bench.service()] in try await service.associate(id) }
        _ = try bench.store.deleteTape(id, deletingAlbums: false)
        lock.release()
        #expect(try await task.value.state == .skipped)
        #expect(bench.library.calls.isEmpty)
    }

    @Test("R2.7: every pending clip is added, the oldest first, regardless of its position")
    func oldestFirst() async throws {
        let (bench, id) = try AlbumBench.withTape("Summer", ["a", "b"])
        bench.library.configure { $0.failures["create"] = [AlbumError(.unreachable(retryAfter: nil))] }
        _ = try await bench.service().associate(id)
        try bench.add(["c"], to: id, at: 0)
        _ = try await bench.service().associate(id)
        #expect(try bench.assets(id) == ["/a", "/b", "/c"])
        #expect(try bench.clips(id) == ["c linked", "a linked", "b linked"])
    }

    @Test("R2: adding a thousand clips takes one query for the album and one request")
    func thousandClips() async throws {
        let (bench, id) = try await AlbumBench.withAlbum()
        try bench.add((0..<1000).map { "clip-\($0)" }, to: id)
        _ = try await bench.service().associate(id)
        #expect(bench.library.work == ["album", "resolve", "add", "arrange"])
        #expect(try bench.assets(id)?.count == 1001)
    }

    @Test("R4: an album is found by its marker if the response to its creation was lost")
    func lostResponse() async throws {
        let (bench, id) = try AlbumBench.withTape("Summer", ["a"])
        bench.library.configure { $0.lostResponses["create"] = [AlbumError(.unreachable(retryAfter: nil))] }
        #expect(try await bench.service().associate(id).reason == .unreachable)
        #expect(try bench.store.albumIntent(of: id, in: "test:one")?.title == "Tapes – Summer")

        let again = try await bench.service().associate(id, isRequested: true)
        #expect(again.state == .associated && !again.isCreated && again.link?.albumID == "album-1")
        #expect(bench.library.albums.count == 1)
        #expect(try bench.store.albumIntent(of: id, in: "test:one") == nil)
        // A title is not a marker: for a tape without an intent, no album is searched for.
        bench.library.forgetCalls()
        _ = try await bench.service().associate(try bench.tape("Summer", ["b"]))
        #expect(!bench.library.work.contains("marked"))
    }

    @Test(
        "R4: without read permission an album is created; if in doubt, none",
        arguments: [
            (AlbumError.Kind.insufficient(["album.read"]), 2), (.unauthorized, 2),
            (.unreachable(retryAfter: nil), 1), (.rejected(status: 400), 1), (.libraryChanged, 1),
        ]
    )
    func noLook(_ kind: AlbumError.Kind, _ albums: Int) async throws {
        let (bench, id) = try AlbumBench.withTape("Summer", ["a"])
        bench.library.configure {
            $0.lostResponses["create"] = [AlbumError(.unreachable(retryAfter: nil))]
            $0.failures["marked"] = [AlbumError(kind)]
        }
        _ = try await bench.service().associate(id)
        _ = try await bench.service().associate(id, isRequested: true)
        #expect(bench.library.albums.count == albums)
    }

    @Test("R4: a refusal ends the intent, since nothing was created")
    func refusedIntent() async throws {
        let (bench, id) = try AlbumBench.withTape("Summer", ["a"])
        bench.library.configure { $0.failures["create"] = [AlbumError(.rejected(status: 400))] }
        #expect(try await bench.service().associate(id).reason == .createFailed)
        #expect(try bench.store.albumIntent(of: id, in: "test:one") == nil)
    }

    @Test("R7: after a lost response each asset is stored once, and an existing one is a success")
    func idempotent() async throws {
        let (bench, id) = try AlbumBench.withTape("Summer", ["a", "b"])
        bench.library.configure { $0.lostResponses["add"] = [AlbumError(.unreachable(retryAfter: nil))] }
        #expect(try await bench.service().associate(id).state == .partly)
        #expect(try bench.clips(id) == ["a pending unreachable", "b pending unreachable"])
        let again = try await bench.service().associate(id, isRequested: true)
        #expect(again.state == .associated && again.addedClips == 2)
        #expect(try bench.assets(id) == ["/a", "/b"])
    }
}
