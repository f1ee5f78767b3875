import Foundation
import MediaStore
import TestSupport
import Testing

@testable import Tapes

/// The acceptance tests of contract section 10 through the service, on every library.
@Suite("tapes in every library") struct TapeConformanceTests {
    @Test("acceptance 1, 2: the first add creates one album, and the second uses it", arguments: LibraryKind.allCases)
    func firstAndSecond(_ kind: LibraryKind) async throws {
        let bench = try await kind.make()
        let tape = try bench.tape("Summer", ["a.jpg", "b.jpg"])
        let first = try await bench.service().associate(tape)
        #expect(first.state == .associated && first.isCreated && first.addedClips == 2)
        try bench.add(["c.jpg", "a.jpg"], to: tape)
        let witness = try OriginalsWitness(bench.originals)
        let second = try await bench.service().associate(tape)
        #expect(second.state == .associated && !second.isCreated)
        let link = try #require(second.link)
        #expect(link.albumID == first.link?.albumID)
        #expect(try bench.store.albumLinks(of: tape).count == 1)
        #expect(try await bench.albums() == [link.albumID: ["a.jpg", "b.jpg", "c.jpg"]])
        #expect(try await bench.titles() == ["Tapes – Summer"])
        #expect(try bench.states(tape).allSatisfy { $0 == .linked })
        try witness.check()
    }

    @Test(
        "acceptance 3: two tapes with one title have two albums; a deleted one is created again, complete",
        arguments: LibraryKind.allCases
    )
    func recreation(_ kind: LibraryKind) async throws {
        let bench = try await kind.make()
        let (tape, other) = (try bench.tape("Summer", ["a.jpg", "b.jpg"]), try bench.tape("Summer", ["a.jpg"]))
        let first = try #require(try await bench.service().associate(tape).link)
        let second = try #require(try await bench.service().associate(other).link)
        #expect(try await bench.titles() == ["Tapes – Summer", "Tapes – Summer"])
        try await bench.destroy(first.albumID)
        try bench.add(["c.jpg"], to: tape)
        let witness = try OriginalsWitness(bench.originals)
        let again = try await bench.service().associate(tape)
        let link = try #require(again.link)
        #expect(again.isCreated && again.state == .associated && link.albumID != first.albumID)
        #expect(
            try await bench.albums() == [link.albumID: ["a.jpg", "b.jpg", "c.jpg"], second.albumID: ["a.jpg"]]
        )
        try witness.check()
    }

    @Test(
        "acceptance 4, R8: renaming and deleting a tape keep its album, unless the flag is set",
        arguments: LibraryKind.allCases
    )
    func renamingAndDeleting(_ kind: LibraryKind) async throws {
        let bench = try await kind.make()
        let (kept, deleted) = (try bench.tape("Kept", ["a.jpg"]), try bench.tape("Deleted", ["a.jpg"]))
        let link = try #require(try await bench.service().associate(kept).link)
        _ = try await bench.service().associate(deleted)
        let record = try #require(try bench.store.tape(kept))
        _ = try TapeEditor(store: bench.store, now: { Date() }).rename(record, to: "Renamed")
        try bench.add(["b.jpg"], to: kept)
        let witness = try OriginalsWitness(bench.originals)
        #expect(try await bench.service().associate(kept).link?.albumID == link.albumID)
        #expect(try await bench.titles() == ["Tapes – Deleted", "Tapes – Kept"])
        _ = try await bench.service(deleting: true).deleteTape(deleted, keepingAlbum: false)
        #expect(try await bench.titles() == ["Tapes – Kept"])
        _ = try await bench.service().deleteTape(kept, keepingAlbum: false)
        #expect(try await bench.titles() == ["Tapes – Kept"])
        try witness.check()
    }

    @Test(
        "R12, trap 8: a clip is removed from the album with its last use, and only if the flag is set",
        arguments: LibraryKind.allCases
    )
    func removingClips(_ kind: LibraryKind) async throws {
        let bench = try await kind.make()
        let tape = try bench.tape("Summer", ["a.jpg", "b.jpg", "a.jpg"])
        let link = try #require(try await bench.service().associate(tape).link)
        let ids = try bench.store.clips(of: tape).map(\.id)
        _ = try await bench.service(deleting: true).removeClips([ids[0]], of: tape)
        #expect(try await bench.albums() == [link.albumID: ["a.jpg", "b.jpg"]])
        _ = try await bench.service(deleting: true).removeClips([ids[2]], of: tape)
        #expect(try await bench.albums() == [link.albumID: ["b.jpg"]])
        _ = try await bench.service().removeClips([ids[1]], of: tape)
        #expect(try await bench.albums() == [link.albumID: ["b.jpg"]])
    }

    @Test("acceptance 5, R9: updates for an unavailable library are applied later", arguments: LibraryKind.allCases)
    func away(_ kind: LibraryKind) async throws {
        let bench = try await kind.make()
        let tape = try bench.tape("Summer", ["a.jpg"])
        let link = try #require(try await bench.service().associate(tape).link)
        try bench.add(["b.jpg"], to: tape)
        let new = try bench.tape("New", ["c.jpg"])
        try await bench.takeAway()
        for id in [tape, new] {
            let outcome = try await bench.service().associate(id)
            #expect(outcome.state != .associated && !outcome.isCreated)
            #expect([.unreachable, .libraryChanged].contains(outcome.reason))
        }
        #expect(try bench.states(tape) == [.linked, .pending])
        #expect(try bench.states(new) == [.pending])
        try await bench.bringBack()
        for id in [tape, new] {
            #expect(try await bench.service().associate(id, isRequested: true).state == .associated)
        }
        let albums = try await bench.albums()
        #expect(albums.count == 2 && albums[link.albumID] == ["a.jpg", "b.jpg"])
    }

    @Test(
        "trap 1: a different library at the same address does not get albums from this one",
        arguments: LibraryKind.allCases
    )
    func otherLibrary(_ kind: LibraryKind) async throws {
        let bench = try await kind.make()
        let tape = try bench.tape("Summer", ["a.jpg"])
        _ = try await bench.service().associate(tape)
        try bench.add(["b.jpg"], to: tape)
        let other = AlbumService(store: bench.store, directory: bench.data, library: try await bench.openOther())
        let outcome = try await other.associate(tape)
        #expect(outcome.state == .pending && outcome.reason == .libraryChanged && !outcome.isCreated)
        #expect(try await bench.titles() == ["Tapes – Summer"])
    }

    @Test("acceptance 7: concurrent adds in several processes create one album", arguments: LibraryKind.allCases)
    func atOnce(_ kind: LibraryKind) async throws {
        let bench = try await kind.make()
        let tape = try bench.tape("Summer", ["a.jpg"])
        let ids = try await withThrowingTaskGroup(of: String?.self) { group in
            for number in 0..<6 {
                group.addTask {
                    try bench.add(["\(number).jpg"], to: tape)
                    return try await bench.service().associate(tape).link?.albumID
                }
            }
            return try await group.reduce(into: Set<String?>()) { $0.insert($1) }
        }
        #expect(ids.count == 1)
        let albums = try await bench.albums()
        #expect(albums.count == 1 && albums.first?.value.count == 7)
    }
}
