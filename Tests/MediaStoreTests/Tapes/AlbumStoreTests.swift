import Foundation
import GRDB
import Testing

@testable import MediaStore

@Suite("Albums in the library")
struct AlbumStoreTests {
    let fixture: TapeFixture
    private let later = TapeFixture.start + 5000

    init() throws { fixture = try TapeFixture() }

    private var store: LibraryStore { fixture.store }

    private func states(_ fixture: TapeFixture, _ tapeID: String) throws -> [ClipRecord.Association] {
        try fixture.store.clips(of: tapeID).map(\.association)
    }

    private func link(_ fixture: TapeFixture, _ tapeID: String, library: String = "folder:1") throws {
        let clips = try fixture.store.clips(of: tapeID)
        try fixture.store.recordOutcomes(
            clips.map { ClipOutcome(clipID: $0.id, association: .linked, assetID: $0.source) },
            in: library
        )
    }

    @Test("1.3: a link is read back unchanged; it ends the intent and makes the tape associated")
    func keepLink() throws {
        let tape = try fixture.tape(1, clips: 2)
        let intent = AlbumIntent(tapeID: tape.id, libraryID: "folder:1", title: "Tapes – Summer", startedAt: later)
        try store.keep(intent)
        try store.keep(AlbumIntent(tapeID: tape.id, libraryID: "l2", title: "x", startedAt: later))
        #expect(try store.albumIntent(of: tape.id, in: "folder:1") == intent)
        #expect(try store.albumIntents(in: "folder:1") == [intent])
        try store.setTapeAssociation(tape.id, .pending, .quota)

        #expect(try store.keep(sampleLink(tape.id)))
        #expect(try store.albumLinks(of: tape.id) == [sampleLink(tape.id)])
        #expect(try store.albumLinks(in: "folder:1") == [sampleLink(tape.id)])
        #expect(try store.albumLinks(in: "l2").isEmpty)
        #expect(try store.albumIntent(of: tape.id, in: "folder:1") == nil)
        #expect(try store.albumIntent(of: tape.id, in: "l2") != nil)
        let now = try fixture.tapeNow(tape.id)
        #expect((now.association, now.reason) == (.associated, nil))
        #expect(now.updatedAt == tape.updatedAt)
        #expect(try !store.keep(sampleLink(sampleID(99))))
        #expect(try store.albumLinks(in: "folder:1").count == 1)
        #expect(throws: StoreError.self) { try store.keep(sampleLink(tape.id, album: "")) }
    }

    @Test("R5: a new identifier replaces the earlier one and makes all clips pending; the same one changes nothing")
    func recreated() throws {
        let tape = try fixture.tape(1, clips: 2)
        let other = try fixture.tape(2, clips: 1)
        for tape in [tape, other] {
            try store.keep(sampleLink(tape.id))
            try link(fixture, tape.id)
        }
        try store.keep(sampleLink(tape.id))
        #expect(try states(fixture, tape.id) == [.linked, .linked])
        var failed = ClipOutcome(clipID: sampleID(1001), association: .failed, reason: .assetRejected, attempts: 4)
        failed.nextAttemptAt = later
        try store.recordOutcomes([failed], in: "folder:1")
        try store.keep(sampleLink(tape.id, album: "album-2"))
        #expect(try states(fixture, tape.id) == [.pending, .pending])
        let clip = try store.clips(of: tape.id)[1]
        #expect((clip.reason, clip.attempts, clip.nextAttemptAt) == (nil, 0, nil))
        #expect(try states(fixture, other.id) == [.linked])
        #expect(try store.albumLinks(of: tape.id).map(\.albumID) == ["album-2"])
    }

    @Test("a tape keeps both links when the library changes, and clips in one library are pending for the other")
    func twoLibraries() throws {
        let tape = try fixture.tape(1, clips: 1)
        try store.keep(sampleLink(tape.id))
        try link(fixture, tape.id)
        try store.keep(sampleLink(tape.id, album: "b", library: "immich:2"))
        #expect(try states(fixture, tape.id) == [.pending])
        #expect(Set(try store.albumLinks(of: tape.id).map(\.libraryID)) == ["folder:1", "immich:2"])
        _ = try store.addClips([sampleClip(7)], to: tape.id, at: nil, now: later)
        try link(fixture, tape.id, library: "immich:2")
        // Back in the first library, which never had the second clip.
        try store.keep(sampleLink(tape.id))
        #expect(try states(fixture, tape.id) == [.pending, .pending])
        #expect(try store.clipAssets(of: tape.id, in: "folder:1").count == 1)
        #expect(try store.clipAssets(of: tape.id, in: "immich:2").count == 2)
    }

    @Test("removing an album's link makes clips and tape pending, and keeps the album of another library")
    func removeLink() throws {
        let tape = try fixture.tape(1, clips: 1)
        try store.keep(sampleLink(tape.id, library: "l2"))
        try store.keep(sampleLink(tape.id))
        try link(fixture, tape.id)
        try store.removeAlbumLink(of: tape.id, in: "l2")
        #expect(try states(fixture, tape.id) == [.linked])
        #expect(try fixture.tapeNow(tape.id).association == .associated)
        try store.removeAlbumLink(of: tape.id, in: "folder:1")
        #expect(try states(fixture, tape.id) == [.pending])
        let now = try fixture.tapeNow(tape.id)
        #expect((now.association, now.reason) == (.pending, .neverTried))
        #expect(try store.albumLinks(of: tape.id).isEmpty)

        let empty = try fixture.tape(2)
        try store.keep(sampleLink(empty.id))
        try store.removeAlbumLink(of: empty.id, in: "folder:1")
        #expect(try fixture.tapeNow(empty.id).association == .none)
    }

    @Test("trap 5: the state is stored for each clip, with reason, attempts and time; nil keeps the asset ID")
    func recordOutcomes() throws {
        let tape = try fixture.tape(1, clips: 3)
        let ids = try store.clips(of: tape.id).map(\.id)
        for reason in AssociationReason.allCases {
            for association in ClipRecord.Association.allCases {
                var state = ClipOutcome(clipID: ids[1], association: association, reason: reason)
                state.attempts = 3
                state.nextAttemptAt = later
                let gone = ClipOutcome(clipID: sampleID(99), association: .linked, assetID: [1])
                try store.recordOutcomes([state, gone], in: "l")
                let clip = try store.clips(of: tape.id)[1]
                #expect((clip.association, clip.reason) == (association, reason))
                #expect((clip.attempts, clip.nextAttemptAt) == (3, later))
            }
        }
        #expect(try states(fixture, tape.id)[0] == .pending)
        #expect(try store.clipAssets(of: tape.id, in: "l").isEmpty)
        try store.recordOutcomes([ClipOutcome(clipID: ids[0], association: .linked, assetID: [0xff, 0])], in: "l")
        try store.recordOutcomes([ClipOutcome(clipID: ids[0], association: .linked)], in: "l")
        #expect(try store.clipAssets(of: tape.id, in: "l") == [ids[0]: [0xff, 0]])
        #expect(try store.clipAssets(of: tape.id, in: "l2").isEmpty)
    }

    // MARK: Deleting

    @Test("R11: tape and tombstone change in one transaction; all data of the tape is deleted")
    func delete() throws {
        let tape = try fixture.tape(1, title: "Summer", clips: 2)
        try store.keep(sampleLink(tape.id))
        try link(fixture, tape.id)
        try store.keep(AlbumIntent(tapeID: tape.id, libraryID: "l2", title: "x", startedAt: later))
        let stone = AlbumTombstone(libraryID: "folder:1", albumID: "album-1", tapeTitle: "Summer")
        #expect(try store.deleteTape(tape.id, deletingAlbums: true) == [stone])
        #expect(try store.albumTombstones() == [stone])
        for table in ["tapes", "clips", "clip_assets", "album_links", "album_intents"] {
            #expect(try fixture.raw { try Int.fetchOne($0, sql: "SELECT count(*) FROM \(table)") } == 0, "\(table)")
        }
        #expect(try store.deleteTape(tape.id, deletingAlbums: true) == nil)
    }

    @Test("R11: a tape whose tombstone cannot be written is kept")
    func deleteFails() throws {
        let tape = try fixture.tape(1, clips: 1)
        try fixture.store.keep(sampleLink(tape.id))
        try fixture.execute(
            "CREATE TRIGGER no BEFORE INSERT ON album_tombstones BEGIN SELECT raise(ABORT, 'no'); END"
        )
        #expect(throws: StoreError.self) { try fixture.store.deleteTape(tape.id, deletingAlbums: true) }
        #expect(try fixture.store.clips(of: tape.id).count == 1)
        #expect(try fixture.store.albumLinks(of: tape.id).count == 1)
    }

    @Test("R11: if the flag is not set, no deletion is pending")
    func deleteKeeping() throws {
        let tape = try fixture.tape(1, clips: 1)
        try fixture.store.keep(sampleLink(tape.id))
        #expect(try fixture.store.deleteTape(tape.id, deletingAlbums: false) == [])
        #expect(try fixture.store.albumTombstones().isEmpty)
    }

    @Test("R11: an album that another tape uses is not pending deletion; the same identifier in another library is")
    func sharedAlbum() throws {
        let (one, two) = (try fixture.tape(1, clips: 1), try fixture.tape(2, clips: 1))
        for library in ["folder:1", "l2"] { try store.keep(sampleLink(one.id, library: library)) }
        try store.keep(sampleLink(two.id))
        #expect(try store.deleteTape(one.id, deletingAlbums: true)?.map(\.libraryID) == ["l2"])
        #expect(try store.deleteTape(two.id, deletingAlbums: true)?.map(\.libraryID) == ["folder:1"])
        #expect(try store.albumTombstones().map(\.libraryID) == ["l2", "folder:1"])
    }

    @Test("a tombstone keeps its attempts and its position; a tape that uses the album removes it")
    func tombstones() throws {
        var stones = ["a", "b", "c"].map { AlbumTombstone(libraryID: "l", albumID: $0, tapeTitle: "T") }
        for stone in stones { try store.keep(stone) }
        stones[0].attempts = 2
        stones[0].lastError = "busy"
        try store.keep(stones[0])
        #expect(try store.albumTombstones() == stones)
        try store.removeAlbumTombstone("b", in: "other")
        try store.removeAlbumTombstone("b", in: "l")
        #expect(try store.albumTombstones() == [stones[0], stones[2]])
        let tape = try fixture.tape(1)
        try store.keep(sampleLink(tape.id, album: "a", library: "l"))
        #expect(try store.albumTombstones() == [stones[2]])
    }

    @Test("an intent replaces the earlier one, and can be removed without an album")
    func intents() throws {
        let tape = try fixture.tape(1)
        var intent = AlbumIntent(tapeID: tape.id, libraryID: "l", title: "x", startedAt: later)
        try fixture.store.keep(intent)
        intent.title = "y"
        try fixture.store.keep(intent)
        #expect(try fixture.store.albumIntent(of: tape.id, in: "l") == intent)
        try fixture.store.removeAlbumIntent(of: tape.id, in: "l")
        #expect(try fixture.store.albumIntent(of: tape.id, in: "l") == nil)
        intent.tapeID = sampleID(99)
        #expect(throws: StoreError.self) { try fixture.store.keep(intent) }
    }

    @Test("the library found at an address is read back, and replaced")
    func libraries() throws {
        var library = AlbumLibraryRecord(kind: "immich", address: "https://i.example", updatedAt: later)
        try store.keep(library)
        #expect(try store.albumLibrary(kind: "immich", address: "https://i.example") == library)
        library.libraryID = "immich:1"
        library.accountID = "me"
        library.keyID = "key"
        library.refusedFingerprint = "f"
        library.updatedAt = later + 1
        try store.keep(library)
        #expect(try store.albumLibrary(kind: "immich", address: "https://i.example") == library)
        #expect(try store.albumLibrary(kind: "folder", address: "https://i.example") == nil)
    }
}
