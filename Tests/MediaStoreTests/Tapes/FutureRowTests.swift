import Foundation
import GRDB
import Testing

@testable import MediaStore

/// Tapes contract 1.3: unknown columns and future rows are preserved. The schema is the current one; values written
/// by a later version may be unknown.
@Suite("Rows of tapes written by a later version")
struct FutureRowTests {
    let fixture: TapeFixture
    private let later = TapeFixture.start + 5000

    init() throws { fixture = try TapeFixture() }

    private func text(_ column: String, of table: String, _ id: String) throws -> String? {
        try fixture.raw { db in
            try String.fetchOne(db, sql: "SELECT \(column) FROM \(table) WHERE id = ?", arguments: [id])
        }
    }

    @Test("1.3: unknown columns are preserved by every change")
    func columns() throws {
        let store = fixture.store
        let tape = try fixture.tape(1, clips: 2)
        try store.keep(sampleLink(tape.id))
        for table in ["tapes", "clips", "album_links"] {
            try fixture.execute("ALTER TABLE \(table) ADD COLUMN later TEXT; UPDATE \(table) SET later = 'kept'")
        }
        _ = try store.changeTape(tape.id, at: later) { $0.title = "x" }
        try store.setTapeAssociation(tape.id, .pending, .quota)
        _ = try store.addClips([sampleClip(7)], to: tape.id, at: 0, now: later)
        _ = try store.moveClip(sampleID(1000), of: tape.id, to: 2, now: later)
        try store.changeClips([sampleID(1000)], at: later) { $0.volume = 0.5 }
        try store.keep(sampleLink(tape.id, album: "b"))
        #expect(try text("later", of: "tapes", tape.id) == "kept")
        #expect(try text("later", of: "clips", sampleID(1000)) == "kept")
        let link = try fixture.raw { try String.fetchOne($0, sql: "SELECT later FROM album_links") }
        #expect(link == "kept")
        #expect(try fixture.order(tape.id) == [7, 1001, 1000])
    }

    @Test(
        "1.3: an unknown setting of a tape is read as the default, hides no tape, and is preserved",
        arguments: ["orientation", "scale_mode", "transition"]
    )
    func tapeSettings(column: String) throws {
        let tape = try fixture.tape(1)
        try fixture.tape(2)
        try fixture.execute("UPDATE tapes SET \(column) = 'later' WHERE id = '\(tape.id)'")
        #expect(try fixture.tapeNow(tape.id) == tape)
        #expect(try fixture.store.tapeSummaries().map(\.tape.title) == ["Tape 2", "Tape 1"])
        _ = try fixture.store.changeTape(tape.id, at: later) { $0.title = "x" }
        #expect(try text(column, of: "tapes", tape.id) == "later")
        let copy = try #require(try fixture.store.duplicateTape(tape.id, at: later))
        #expect(try text(column, of: "tapes", copy.id) == "later")
    }

    @Test("1.3: a change replaces an unknown setting")
    func tapeSettingChanged() throws {
        let tape = try fixture.tape(1)
        try fixture.execute("UPDATE tapes SET transition = 'later'")
        _ = try fixture.store.changeTape(tape.id, at: later) { $0.transition = .crossfade }
        #expect(try text("transition", of: "tapes", tape.id) == "crossfade")
    }

    @Test("1.3: an unknown state of a tape is treated as pending; no bulk update changes it")
    func tapeState() throws {
        let tape = try fixture.tape(1, clips: 1)
        try fixture.execute("UPDATE tapes SET association = 'later', association_reason = 'later'")
        var now = try fixture.tapeNow(tape.id)
        #expect((now.association, now.reason) == (.pending, .internalError))
        #expect(try fixture.store.markUntriedTapes() == 0)
        _ = try fixture.store.addClips([sampleClip(7)], to: tape.id, at: nil, now: later)
        #expect(try text("association", of: "tapes", tape.id) == "later")
        #expect(try text("association_reason", of: "tapes", tape.id) == "later")
        try fixture.execute("UPDATE tapes SET association = 'pending_association'")
        now = try fixture.tapeNow(tape.id)
        #expect((now.association, now.reason) == (.pending, .internalError))
    }

    @Test("1.3: unknown values of a clip are preserved; an unknown state is not retried")
    func clipValues() throws {
        let tape = try fixture.tape(1, clips: 1)
        let id = sampleID(1000)
        try fixture.execute(
            "UPDATE clips SET scale_override = 'later', association = 'later', association_reason = 'later'"
        )
        let clip = try fixture.store.clips(of: tape.id)[0]
        #expect(clip.scaleOverride == nil)
        #expect((clip.association, clip.reason) == (.failed, .internalError))
        try fixture.store.changeClips([id], at: later) { $0.rotateQuarterTurns = 1 }
        #expect(try fixture.store.clips(of: tape.id)[0].rotateQuarterTurns == 1)
        for column in ["scale_override", "association", "association_reason"] {
            #expect(try text(column, of: "clips", id) == "later", "\(column)")
        }
    }

    @Test("1.3: a clip of an unknown kind makes only the clips of its tape unreadable, not the lists")
    func clipKind() throws {
        let store = fixture.store
        let tape = try fixture.tape(1, clips: 2)
        let other = try fixture.tape(2, clips: 1)
        try fixture.execute("UPDATE clips SET kind = 'hologram' WHERE id = '\(sampleID(1001))'")
        let error = #expect(throws: StoreError.self) { try store.clips(of: tape.id) }
        #expect(error?.kind == .corrupt)
        #expect(error?.detail.contains(sampleID(1001)) == true)
        #expect(try store.clips(of: other.id).count == 1)
        #expect(try store.tapeSummaries().map(\.clipCount) == [1, 2])
        #expect(try store.clipsWithSources().count == 2)
        // An original is protected regardless of the kind of its clip: it is never overwritten.
        #expect(try store.originalPaths().count == 3)
        // Operations that do not depend on the kind still work.
        _ = try store.addClips([sampleClip(7)], to: tape.id, at: 0, now: later)
        #expect(try store.moveClip(sampleID(1000), of: tape.id, to: 0, now: later) == 0)
        #expect(try store.duplicateTape(tape.id, at: later) != nil)
        #expect(try text("kind", of: "clips", sampleID(1001)) == "hologram")
        #expect(try store.deleteTape(tape.id, deletingAlbums: true) == [])
    }
}
