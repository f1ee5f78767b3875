import Foundation
import GRDB
import Testing

@testable import MediaStore

@Suite("Tapes in the library")
struct TapeStoreTests {
    let fixture: TapeFixture
    private let later = TapeFixture.start + 5000.125

    init() throws { fixture = try TapeFixture() }

    private var store: LibraryStore { fixture.store }

    @Test("1.1: a tape is read back unchanged, and a second one with its ID is refused")
    func roundTrip() throws {
        var tape = TapeRecord(id: sampleID(1), title: "Été – 'x'", createdAt: TapeFixture.start + 0.125)
        tape.updatedAt = later
        tape.hasReceivedFirstContent = true
        tape.transitionMilliseconds = 700
        tape.reason = .quota
        var number = 1
        for association in TapeRecord.Association.allCases {
            for transition in TapeRecord.Transition.allCases {
                tape.id = sampleID(number)
                tape.association = association
                tape.transition = transition
                tape.orientation = number % 2 == 0 ? .portrait : .landscape
                tape.scaleMode = number % 2 == 0 ? .fit : .fill
                try store.create(tape)
                #expect(try store.tape(tape.id) == tape)
                number += 1
            }
        }
        #expect(throws: StoreError.self) { try store.create(tape) }
        #expect(try store.tape(sampleID(99)) == nil)
    }

    @Test("an ID that is not a lowercase UUID is not stored", arguments: ["", "../x", sampleID(0xabcd).uppercased()])
    func badID(id: String) throws {
        let tape = try fixture.tape(1)
        var clip = sampleClip(1)
        clip.id = id
        #expect(throws: StoreError.self) {
            try fixture.store.create(TapeRecord(id: id, title: "x", createdAt: later))
        }
        #expect(throws: StoreError.self) { try fixture.store.addClips([clip], to: tape.id, at: nil, now: later) }
    }

    @Test("a name is an ID, a prefix of IDs, or a title: an ambiguous one selects no tape")
    func named() throws {
        try fixture.tape(1, title: "Summer")
        try fixture.tape(2, title: "Summer")
        try fixture.tape(3, title: "a0000002")
        #expect(try store.tapes(named: "Summer").map(\.id) == [sampleID(0xa000_0001), sampleID(0xa000_0002)])
        #expect(try store.tapes(named: "summer").isEmpty)
        #expect(try store.tapes(named: "a0000001").count == 1)
        #expect(try store.tapes(named: "A0000001").count == 1)
        #expect(try store.tapes(named: "a0000002").count == 2)
        #expect(try store.tapes(named: sampleID(0xa000_0002)).map(\.title) == ["Summer"])
        #expect(try store.tapes(named: "a00").isEmpty)
        #expect(try store.tapes(named: "a000").count == 3)
        #expect(try store.tapes(named: "____").isEmpty)
        #expect(try store.tapes(named: "%").isEmpty)
    }

    @Test("R8: a change of title or settings updates updated_at, and does not change links or states")
    func change() throws {
        let tape = try fixture.tape(1, clips: 1)
        try store.keep(sampleLink(tape.id))
        let changed = try #require(
            try store.changeTape(tape.id, at: later) {
                $0.title = "Winter"
                $0.orientation = .landscape
                $0.association = .none
                $0.hasReceivedFirstContent = false
                $0.createdAt = later
            }
        )
        #expect(try store.tape(tape.id) == changed)
        #expect(changed.title == "Winter")
        #expect(changed.orientation == .landscape)
        #expect(changed.updatedAt == later)
        #expect(changed.createdAt == tape.createdAt)
        #expect(changed.association == .associated)
        #expect(changed.hasReceivedFirstContent)
        #expect(try store.albumLinks(of: tape.id) == [sampleLink(tape.id)])
        let same = try store.changeTape(tape.id, at: later + 9) { $0.title = "Winter" }
        #expect(same == changed)
        #expect(try store.changeTape(sampleID(99), at: later) { _ in } == nil)
    }

    @Test("a summary has the number of clips, the number of those not in the album, and the known duration")
    func summaries() throws {
        try fixture.tape(1)
        let tape = try fixture.tape(2, clips: 2)
        try fixture.tape(3, clips: 1)
        let clips = try store.clips(of: tape.id)
        try store.changeClips([clips[0].id], at: later) {
            $0.durationMilliseconds = 10_000
            $0.trimStartMilliseconds = 1000
            $0.trimEndMilliseconds = 500
        }
        try store.changeClips([clips[1].id], at: later) {
            $0.kind = .image
            $0.imageMilliseconds = 2500
        }
        try store.recordOutcomes([ClipOutcome(clipID: clips[0].id, association: .linked)], in: "l")

        let summaries = try store.tapeSummaries()
        #expect(summaries.map(\.tape.title) == ["Tape 2", "Tape 3", "Tape 1"])
        #expect(summaries[0].tape == (try store.tape(tape.id)))
        #expect(summaries.map(\.clipCount) == [2, 1, 0])
        #expect(summaries.map(\.pendingClipCount) == [1, 1, 0])
        #expect(summaries.map(\.durationMilliseconds) == [11_000, 0, 0])
        #expect(summaries.map(\.isDurationKnown) == [true, false, true])
    }

    @Test("listing tapes reads an index of the clips, but no clips")
    func summariesByIndex() throws {
        let plan = try fixture.raw { db in
            try Row.fetchAll(db, sql: "EXPLAIN QUERY PLAN " + LibraryStore.summaries).map { $0["detail"] as String }
        }
        #expect(plan.contains { $0.contains("clips USING COVERING INDEX clips_by_sums") })
    }

    @Test("R13: only tapes with clips, without a link and without a state are marked; updated_at does not change")
    func untried() throws {
        for number in 1...4 { try fixture.tape(number, clips: number == 1 ? 0 : 1) }
        try store.keep(sampleLink(sampleID(0xa000_0003)))
        try store.setTapeAssociation(sampleID(0xa000_0004), .pending, .quota)
        try fixture.execute("UPDATE tapes SET association = 'none', association_reason = NULL WHERE title <> 'Tape 4'")
        #expect(try store.markUntriedTapes() == 1)
        #expect(try store.markUntriedTapes() == 0)
        let tapes = try store.tapeSummaries().map(\.tape)
        #expect(tapes.map(\.association) == [.pending, .none, .pending, .none])
        #expect(tapes.map(\.reason) == [.quota, nil, .neverTried, nil])
        #expect(tapes[2].updatedAt == TapeFixture.start + 2)
    }

    @Test("R17, trap 7: a copy has new IDs, no link, no intent, no state, and the clips in their order")
    func duplicate() throws {
        let tape = try fixture.tape(1, title: "Summer", clips: 2)
        _ = try store.addClips([fullClip(7)], to: tape.id, at: 1, now: TapeFixture.start)
        _ = try store.changeTape(tape.id, at: TapeFixture.start) { $0.transition = .slideLeftToRight }
        try store.keep(sampleLink(tape.id))
        let old = try store.clips(of: tape.id)
        try store.recordOutcomes(
            old.map { ClipOutcome(clipID: $0.id, association: .linked, assetID: [1]) },
            in: "folder:1"
        )
        try store.keep(AlbumIntent(tapeID: tape.id, libraryID: "l2", title: "x", startedAt: later))

        let copy = try #require(try store.duplicateTape(tape.id, at: later))
        #expect(copy.title == "Summer Copy")
        #expect(copy.id != tape.id)
        #expect(CaptureID.isValid(copy.id))
        #expect(copy.transition == .slideLeftToRight)
        #expect((copy.createdAt, copy.updatedAt) == (later, later))
        #expect((copy.association, copy.reason) == (.pending, .neverTried))
        #expect(copy.hasReceivedFirstContent)
        #expect(try store.albumLinks(of: copy.id).isEmpty)
        #expect(try store.albumIntent(of: copy.id, in: "l2") == nil)
        #expect(try store.clipAssets(of: copy.id, in: "folder:1").isEmpty)
        let new = try store.clips(of: copy.id)
        #expect(Set(new.map(\.id)).isDisjoint(with: old.map(\.id)))
        #expect(new.allSatisfy { CaptureID.isValid($0.id) && $0.association == .pending })
        var expected = old
        for place in old.indices {
            expected[place].id = new[place].id
            expected[place].tapeID = copy.id
            expected[place].association = .pending
        }
        #expect(new == expected)
        // The original is unchanged.
        #expect(try store.clips(of: tape.id).map(\.association) == [.linked, .linked, .linked])
        #expect(try store.duplicateTape(sampleID(99), at: later) == nil)
        let empty = try #require(try store.duplicateTape(fixture.tape(2).id, at: later))
        #expect((empty.association, empty.reason) == (.none, nil))
        #expect(!empty.hasReceivedFirstContent)
    }
}
