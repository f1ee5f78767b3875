internal import MediaStore

/// A video in parts that are made one after the other and then joined without another encoding: what is seen of one clip
/// alone, and each transition.
///
/// Why not one graph of everything: ffmpeg would open every file and hold frames of each, so that a tape of a few hundred
/// clips runs out of memory and descriptors. Here no run has more than two inputs, however long the tape; every frame is
/// encoded once; and nothing is asked of ffmpeg but filters that it has had for years.
struct RenderPlan: Equatable {
    /// A clip, from some frame on.
    struct Part: Equatable {
        /// Index of the clip.
        var clip: Int
        /// Frames of it that were seen before.
        var skipped: Int
    }

    /// What one run of ffmpeg makes.
    struct Segment: Equatable {
        /// Place in the video, in frames.
        var begin: Int
        /// Number of frames.
        var count: Int
        var part: Part
        /// The clip that takes over, in a transition.
        var next: Part?
        var transition = TapeRecord.Transition.none
    }

    private(set) var segments: [Segment] = []

    /// Plans the video of a tape. All times are rounded to frames on the time line of the whole, so that nothing adds up.
    init(tape: TapeRecord, lengths: [Int64], format: RenderFormat) {
        let timing = TapeTiming(tape: tape, lengths: lengths)
        var begin: Int64 = 0
        // The frames of each clip.
        var spans: [Range<Int>] = []
        for (index, length) in lengths.enumerated() {
            spans.append(format.frame(at: begin)..<format.frame(at: begin + length))
            begin += length - (timing.overlaps.dropFirst(index).first ?? 0)
        }
        for (index, span) in spans.enumerated() {
            let next = spans.dropFirst(index + 1).first
            let alone = (index > 0 ? spans[index - 1].upperBound : 0)..<(next?.lowerBound ?? span.upperBound)
            append(alone, Part(clip: index, skipped: alone.lowerBound - span.lowerBound))
            guard let next else { continue }
            append(
                next.lowerBound..<span.upperBound,
                Part(clip: index, skipped: next.lowerBound - span.lowerBound),
                Part(clip: index + 1, skipped: 0),
                tape.transition(after: index)
            )
        }
    }

    /// Number of frames of the whole.
    var frameCount: Int { segments.last.map { $0.begin + $0.count } ?? 0 }

    private mutating func append(
        _ frames: Range<Int>,
        _ part: Part,
        _ next: Part? = nil,
        _ transition: TapeRecord.Transition = .none
    ) {
        guard !frames.isEmpty else { return }
        segments.append(
            Segment(begin: frames.lowerBound, count: frames.count, part: part, next: next, transition: transition)
        )
    }
}
