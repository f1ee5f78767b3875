import Foundation
import Testing

@testable import MediaStore

@Suite("Clips in the library")
struct ClipStoreTests {
    let fixture: TapeFixture
    private let later = TapeFixture.start + 5000

    init() throws { fixture = try TapeFixture() }

    private var store: LibraryStore { fixture.store }

    @Test("1.2, trap 17: a clip is read back unchanged, its paths byte by byte")
    func roundTrip() throws {
        let tape = try fixture.tape(1)
        var bare = sampleClip(2)
        bare.source = nil
        bare.kind = .image
        let kept = try #require(
            try fixture.store.addClips([fullClip(1), bare, sampleClip(3)], to: tape.id, at: nil, now: later)
        )
        #expect(try fixture.store.clips(of: tape.id) == kept)
        var expected = fullClip(1)
        expected.tapeID = tape.id
        #expect(kept[0] == expected)
        #expect(kept[0].source == [0x2f, 0xff, 0x0a])
        #expect(kept[1].durationMilliseconds == nil)
        #expect(try fixture.store.clipsWithSources().map(\.id) == [sampleID(1), sampleID(3)])
        let originals = [expected.source, expected.pairedSource, sampleClip(3).source].compactMap { $0 }
        #expect(try Set(fixture.store.originalPaths()) == Set(originals))
    }

    @Test("an original that is added twice to a tape is two clips")
    func twice() throws {
        let tape = try fixture.tape(1)
        var second = sampleClip(2)
        second.source = sampleClip(1).source
        _ = try fixture.store.addClips([sampleClip(1), second], to: tape.id, at: nil, now: later)
        #expect(try fixture.store.clips(of: tape.id).map(\.source) == [second.source, second.source])
    }

    @Test(
        "clips are inserted at a clamped position, and positions stay consecutive",
        arguments: [
            (nil, [0, 1, 2, 90, 91]), (0, [90, 91, 0, 1, 2]), (1, [0, 90, 91, 1, 2]), (3, [0, 1, 2, 90, 91]),
            (99, [0, 1, 2, 90, 91]), (-4, [90, 91, 0, 1, 2]), (Int.max, [0, 1, 2, 90, 91]),
            (Int.min, [90, 91, 0, 1, 2]),
        ] as [(Int?, [Int])]
    )
    func insert(position: Int?, expected: [Int]) throws {
        let tape = try fixture.tape(0, clips: 3)
        _ = try fixture.store.addClips([sampleClip(90), sampleClip(91)], to: tape.id, at: position, now: later)
        #expect(try fixture.order(tape.id) == expected)
    }

    @Test("moving any clip to any position clamps it and keeps positions consecutive")
    func move() throws {
        let tape = try fixture.tape(0, clips: 4)
        let other = try fixture.tape(5, clips: 2)
        var expected = [0, 1, 2, 3]
        for number in 0..<4 {
            for position in [-7, 0, 1, 2, 3, 4, Int.max] {
                let place = min(max(position, 0), 3)
                expected.removeAll { $0 == number }
                expected.insert(number, at: place)
                #expect(try store.moveClip(sampleID(number), of: tape.id, to: position, now: later) == place)
                #expect(try fixture.order(tape.id) == expected)
            }
        }
        #expect(try store.moveClip(sampleID(0), of: other.id, to: 1, now: later) == nil)
        #expect(try fixture.order(other.id) == [5000, 5001])
        #expect(try fixture.tapeNow(tape.id).updatedAt == later)
        _ = try store.moveClip(sampleID(expected[2]), of: tape.id, to: 2, now: later + 1)
        #expect(try fixture.tapeNow(tape.id).updatedAt == later)
    }

    @Test("clips of this tape are removed, positions are renumbered, and other IDs are ignored")
    func remove() throws {
        let tape = try fixture.tape(0, clips: 6)
        let other = try fixture.tape(5, clips: 1)
        let ids = [4, 0, 2, 5000, 77, 0].map(sampleID)
        #expect(try store.removeClips(ids, of: tape.id, now: later).map(\.id) == [0, 2, 4].map(sampleID))
        #expect(try fixture.order(tape.id) == [1, 3, 5])
        #expect(try fixture.order(other.id) == [5000])
        #expect(try fixture.tapeNow(tape.id).updatedAt == later)
        #expect(try store.removeClips([sampleID(77)], of: tape.id, now: later + 1).isEmpty)
        #expect(try fixture.tapeNow(tape.id).updatedAt == later)
        #expect(try store.removeClips([1, 3, 5].map(sampleID), of: tape.id, now: later).count == 3)
        let empty = try fixture.tapeNow(tape.id)
        #expect(empty.hasReceivedFirstContent)
        #expect(try fixture.order(tape.id) == [])
    }

    @Test("R2.2: the first clips make the tape pending; a known reason and an album are kept")
    func firstContent() throws {
        let tape = try fixture.tape(1)
        #expect(try store.addClips([], to: tape.id, at: nil, now: later) == [])
        #expect(try fixture.tapeNow(tape.id) == tape)
        var clip = sampleClip(1)
        clip.association = .linked
        clip.reason = .quota
        clip.attempts = 3
        clip.nextAttemptAt = later
        let kept = try #require(try store.addClips([clip], to: tape.id, at: nil, now: later))
        var expected = sampleClip(1)
        expected.tapeID = tape.id
        #expect(kept == [expected])
        var now = try fixture.tapeNow(tape.id)
        #expect((now.association, now.reason) == (.pending, .neverTried))
        #expect(now.hasReceivedFirstContent)
        #expect(now.updatedAt == later)
        try store.setTapeAssociation(tape.id, .pending, .accessDenied)
        _ = try store.addClips([sampleClip(2)], to: tape.id, at: nil, now: later)
        now = try fixture.tapeNow(tape.id)
        #expect((now.association, now.reason) == (.pending, .accessDenied))
        try store.keep(sampleLink(tape.id))
        _ = try store.addClips([sampleClip(3)], to: tape.id, at: nil, now: later)
        now = try fixture.tapeNow(tape.id)
        #expect((now.association, now.reason) == (.associated, nil))
        #expect(try store.addClips([sampleClip(4)], to: sampleID(99), at: nil, now: later) == nil)
    }

    @Test("clips are committed together or not at all")
    func oneTransaction() throws {
        let tape = try fixture.tape(0, clips: 3)
        #expect(throws: StoreError.self) {
            try fixture.store.addClips([sampleClip(90), sampleClip(1)], to: tape.id, at: 1, now: later)
        }
        #expect(try fixture.order(tape.id) == [0, 1, 2])
        #expect(try fixture.tapeNow(tape.id) == tape)
    }

    @Test("a change keeps everything but ID, tape, position and state")
    func change() throws {
        let tape = try fixture.tape(0, clips: 2)
        let state = ClipOutcome(
            clipID: sampleID(1),
            association: .pending,
            reason: .quota,
            assetID: [1],
            attempts: 2,
            nextAttemptAt: later
        )
        try store.recordOutcomes([state], in: "l")
        var clip = fullClip(1)
        clip.source = sampleClip(1).source
        clip.pairedSource = nil
        clip.tapeID = "x"
        clip.position = 17
        clip.association = .linked
        let kept = try store.changeClips([sampleID(1), sampleID(77)], at: later) { $0 = clip }
        clip.tapeID = tape.id
        clip.position = 1
        clip.association = .pending
        clip.reason = .quota
        clip.attempts = 2
        clip.nextAttemptAt = later
        #expect(kept == [clip])
        #expect(try store.clips(of: tape.id)[1] == clip)
        #expect(try store.clipAssets(of: tape.id, in: "l") == [sampleID(1): [1]])
        #expect(try fixture.tapeNow(tape.id).updatedAt == later)
        try store.changeClips([sampleID(1)], at: later + 1) { _ in }
        #expect(try fixture.tapeNow(tape.id).updatedAt == later)
    }

    @Test("an error during a change, or a missing clip if all are required, prevents all changes")
    func changeAllOrNothing() throws {
        let tape = try fixture.tape(0, clips: 2)
        let before = try store.clips(of: tape.id)
        let kind = try storeErrorKind {
            _ = try store.changeClips([sampleID(0), sampleID(1)], at: later) { clip in
                guard clip.id == sampleID(0) else { throw CancellationError() }
                clip.rotateQuarterTurns = 1
            }
        }
        #expect(kind == .other)
        let ids = [sampleID(0), sampleID(77)]
        let found = try store.changeClips(ids, at: later, requiringAll: true) { $0.rotateQuarterTurns = 1 }
        #expect(found == [before[0]])
        #expect(try store.clips(of: tape.id) == before)
        #expect(try fixture.tapeNow(tape.id).updatedAt == tape.updatedAt)
    }

    @Test("a clip with a new source is pending again, and its asset IDs are removed")
    func changeSource() throws {
        let tape = try fixture.tape(0, clips: 2)
        let states = [0, 1].map { ClipOutcome(clipID: sampleID($0), association: .linked, assetID: [1]) }
        try store.recordOutcomes(states, in: "l")
        try store.changeClips([sampleID(1)], at: later) { $0.source = [0x2f, 0xff] }
        #expect(try store.clips(of: tape.id).map(\.association) == [.linked, .pending])
        #expect(try store.clipAssets(of: tape.id, in: "l") == [sampleID(0): [1]])
    }

    @Test("checksums are stored without changing updated_at, and only for their own source")
    func checksums() throws {
        let tape = try fixture.tape(0, clips: 1)
        var clip = try store.clips(of: tape.id)[0]
        let full = fullClip(0)
        (clip.size, clip.modifiedNanoseconds) = (full.size, full.modifiedNanoseconds)
        (clip.sha1, clip.sha256) = (full.sha1, full.sha256)
        try store.keepChecksums(of: [clip])
        #expect(try store.clips(of: tape.id) == [clip])
        #expect(try fixture.tapeNow(tape.id) == tape)
        var moved = clip
        moved.source = [0x2f]
        moved.sha1 = "x"
        try store.keepChecksums(of: [moved])
        #expect(try store.clips(of: tape.id) == [clip])
    }
}
