internal import MediaCore
internal import MediaStore
internal import MediaSystem

/// Where the clips of a tape lie in time: each begins where the one before ends, or earlier by a transition, in which both
/// are seen. All in milliseconds.
struct TapeTiming {
    /// How long each clip is seen; nil is unknown.
    let lengths: [Int64?]
    /// What each clip has in common with the next; one fewer than clips.
    let overlaps: [Int64]

    /// Times clips by what is known of them.
    init(tape: TapeRecord, clips: [ClipRecord]) {
        self.init(tape: tape, lengths: clips.map(\.shownMilliseconds))
    }

    /// Times clips by their lengths.
    init(tape: TapeRecord, lengths: [Int64?]) {
        self.lengths = lengths
        let wanted = tape.transition == .none ? 0 : Int64(tape.transitionMilliseconds)
        overlaps = zip(lengths, lengths.dropFirst()).map { Self.overlap(wanted, $0, $1) }
    }

    /// Never more than half of a clip, so that the transitions at its two ends do not meet.
    private static func overlap(_ wanted: Int64, _ before: Int64?, _ after: Int64?) -> Int64 {
        [before, after].compactMap { $0 }.reduce(wanted) { min($0, $1 / 2) }
    }

    /// The whole, with transitions taken off once (trap 20); nil when a clip's length is unknown.
    var total: Int64? {
        let known = lengths.compactMap { $0 }
        guard known.count == lengths.count else { return nil }
        return known.reduce(0, +) - overlaps.reduce(0, +)
    }
}

extension TapeRecord {
    /// The transition after a clip; never `.randomise`. What is chosen at random is the same for one tape every time.
    ///
    /// - Parameter index: Of the clip before it, from 0.
    /// - Returns: The tape's own, or one of the three that show something.
    func transition(after index: Int) -> Transition {
        guard transition == .randomise else { return transition }
        let choices: [Transition] = [.crossfade, .slideLeftToRight, .slideRightToLeft]
        return choices[Int(("\(id)#\(index)".utf8.fnv1a >> 32) % UInt64(choices.count))]
    }
}
