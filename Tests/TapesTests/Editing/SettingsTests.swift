import Foundation
import MediaStore
import Tapes
import Testing

@Suite("Settings of tapes and clips")
struct SettingsTests {
    let bench: EditingBench

    init() throws { bench = try EditingBench() }

    /// A clip of a tape, as stored.
    private func clip(_ kind: ClipRecord.Kind, milliseconds: Int64? = nil) throws -> ClipRecord {
        var clip = ClipRecord([0x2f, 0x61], of: "", kind: kind)
        clip.durationMilliseconds = milliseconds
        return try bench.editor.add([clip], to: bench.editor.create(title: "x"))[0]
    }

    private func change(_ set: (inout ClipChange) -> Void) -> ClipChange {
        var change = ClipChange()
        set(&change)
        return change
    }

    @Test("1.1: settings of a tape are stored, and others are kept")
    func tape() throws {
        let editor = bench.editor
        let tape = try editor.create(title: "x")
        var change = TapeChange()
        change.orientation = .landscape
        change.transition = .randomise
        change.transitionMilliseconds = 2000
        var changed = try editor.set(change, on: tape)
        #expect((changed.orientation, changed.scaleMode) == (.landscape, .fit))
        #expect((changed.transition, changed.transitionMilliseconds) == (.randomise, 2000))
        change = TapeChange()
        change.scaleMode = .fill
        changed = try editor.set(change, on: tape)
        #expect((changed.orientation, changed.scaleMode) == (.landscape, .fill))
        #expect(changed.transitionMilliseconds == 2000)
    }

    @Test(
        "1.1: a transition must be 100 to 2000 ms long",
        arguments: [(99, false), (100, true), (2000, true), (2001, false)]
    )
    func transition(milliseconds: Int, isAllowed: Bool) throws {
        let editor = bench.editor
        let tape = try editor.create(title: "x")
        var change = TapeChange()
        change.transitionMilliseconds = milliseconds
        #expect(tapesErrorCode { _ = try editor.set(change, on: tape) } == (isAllowed ? nil : .outOfRange))
    }

    /// Each with the duration, the values that are set together, and the result.
    static let trims: [(duration: Int64?, start: Int64?, end: Int64?, code: OutcomeCode?)] = [
        (1000, 400, 599, nil), (1000, 400, 600, .trimTooLong), (1000, 1000, nil, .trimTooLong), (1000, 999, nil, nil),
        (1000, nil, 999, nil), (1000, 0, 0, nil), (1000, -1, nil, .outOfRange), (1000, nil, -1, .outOfRange),
        (1000, .max, .max, .outOfRange), (1000, .max, nil, .trimTooLong), (nil, 5000, 5000, nil),
        (nil, .max, 1, .outOfRange), (0, 0, 0, .trimTooLong),
    ]

    @Test("trap 20: trims must not exceed a known duration", arguments: trims)
    func trim(row: (duration: Int64?, start: Int64?, end: Int64?, code: OutcomeCode?)) throws {
        let clip = try clip(.video, milliseconds: row.duration)
        let change = change {
            $0.trimStartMilliseconds = row.start
            $0.trimEndMilliseconds = row.end
        }
        #expect(tapesErrorCode { _ = try bench.editor.set(change, on: clip) } == row.code)
        let kept = try bench.store.clips(of: clip.tapeID)[0]
        #expect(kept.trimStartMilliseconds == (row.code == nil ? row.start ?? 0 : 0))
        #expect(kept.trimEndMilliseconds == (row.code == nil ? row.end ?? 0 : 0))
    }

    @Test("trap 20: a trim is checked together with the other trim that is stored")
    func trimTwice() throws {
        let clip = try clip(.video, milliseconds: 1000)
        _ = try bench.editor.set(change { $0.trimStartMilliseconds = 600 }, on: clip)
        // The change is checked against the current values in the store, not the caller's values.
        let change = change { $0.trimEndMilliseconds = 400 }
        #expect(tapesErrorCode { _ = try bench.editor.set(change, on: clip) } == .trimTooLong)
        #expect(try bench.store.clips(of: clip.tapeID)[0].trimEndMilliseconds == 0)
    }

    @Test("1.2: values out of range are refused, and no part of the change is stored")
    func ranges() throws {
        let video = try clip(.video)
        let image = try clip(.image)
        let refused: [(ClipRecord, ClipChange)] = [
            (video, change { $0.rotateQuarterTurns = 4 }), (video, change { $0.rotateQuarterTurns = -1 }),
            (video, change { $0.volume = .some(1.01) }), (video, change { $0.volume = .some(-0.01) }),
            (video, change { $0.volume = .some(.nan) }), (video, change { $0.volume = .some(.infinity) }),
            (image, change { $0.imageMilliseconds = 0 }), (image, change { $0.imageMilliseconds = 3_600_001 }),
        ]
        for (clip, change) in refused {
            var whole = change
            whole.scaleOverride = .some(.fill)
            #expect(tapesErrorCode { _ = try bench.editor.set(whole, on: clip) } == .outOfRange, "\(change)")
            #expect(try bench.store.clips(of: clip.tapeID) == [clip])
        }
    }

    @Test("1.2: values for a different kind of clip are refused")
    func kinds() throws {
        let refused: [(ClipRecord.Kind, ClipChange)] = [
            (.image, change { $0.trimStartMilliseconds = 0 }), (.live, change { $0.trimEndMilliseconds = 1 }),
            (.image, change { $0.volume = .some(1) }), (.image, change { $0.volume = .some(nil) }),
            (.video, change { $0.imageMilliseconds = 1000 }), (.live, change { $0.imageMilliseconds = 1000 }),
        ]
        for (kind, change) in refused {
            let clip = try clip(kind)
            #expect(tapesErrorCode { _ = try bench.editor.set(change, on: clip) } == .notForThisKind, "\(change)")
        }
    }

    @Test("a change that does not apply to one of the clips changes none of them, as if one of them is missing")
    func allOrNothing() throws {
        let tape = try bench.editor.create(title: "x")
        let clips = [ClipRecord.Kind.video, .image, .video].map { kind in
            ClipRecord(id: UUID().uuidString.lowercased(), tapeID: "", kind: kind, source: [0x2f, 0x61])
        }
        let kept = try bench.editor.add(clips, to: tape)
        let trim = change { $0.trimStartMilliseconds = 1 }
        #expect(tapesErrorCode { _ = try bench.editor.set(trim, on: kept) } == .notForThisKind)
        #expect(try bench.store.clips(of: tape.id) == kept)
        var missing = kept[2]
        missing.id = UUID().uuidString.lowercased()
        #expect(tapesErrorCode { _ = try bench.editor.set(trim, on: [kept[0], missing]) } == .clipNotFound)
        #expect(try bench.store.clips(of: tape.id) == kept)
        #expect(try bench.editor.set(trim, on: [kept[2], kept[0]]).map(\.id) == [kept[2].id, kept[0].id])
        #expect(try bench.store.clips(of: tape.id).map(\.trimStartMilliseconds) == [1, 0, 1])
    }

    @Test("1.2: valid values are stored, including the limits of their range; unspecified ones are kept")
    func allowed() throws {
        let video = try clip(.video)
        for turns in 0...3 {
            let change = change { $0.rotateQuarterTurns = turns }
            #expect(try bench.editor.set(change, on: video).rotateQuarterTurns == turns)
        }
        for volume in [0, 0.5, 1] {
            #expect(try bench.editor.set(change { $0.volume = .some(volume) }, on: video).volume == volume)
        }
        _ = try bench.editor.set(change { $0.scaleOverride = .some(.fill) }, on: video)
        var kept = try bench.store.clips(of: video.tapeID)[0]
        #expect((kept.rotateQuarterTurns, kept.volume, kept.scaleOverride) == (3, 1, .fill))
        kept = try bench.editor.set(
            change {
                $0.volume = .some(nil)
                $0.scaleOverride = .some(nil)
            },
            on: video
        )
        #expect((kept.rotateQuarterTurns, kept.volume, kept.scaleOverride) == (3, nil, nil))
        for milliseconds: Int64 in [1, 3_600_000] {
            let image = try clip(.image)
            let change = change { $0.imageMilliseconds = milliseconds }
            #expect(try bench.editor.set(change, on: image).imageMilliseconds == milliseconds)
        }
        #expect(try bench.editor.set(change { $0.volume = .some(0) }, on: clip(.live)).volume == 0)
    }
}
