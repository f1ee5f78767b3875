import MediaStore
import Testing

@testable import Tapes

/// The parts of a video.
@Suite struct RenderPlanTests {
    private typealias Part = RenderPlan.Part
    private typealias Segment = RenderPlan.Segment

    private func plan(
        _ lengths: [Int64],
        _ transition: TapeRecord.Transition = .none,
        _ milliseconds: Int = 500,
        frameRate: Int = 10
    ) throws -> RenderPlan {
        let tape = ExportFixtures.tape(transition: transition, milliseconds: milliseconds)
        let format = try RenderFormat(.portrait, .init(frameRate: frameRate))
        return RenderPlan(tape: tape, lengths: lengths, format: format)
    }

    @Test func withoutTransitionsEveryClipIsOnePart() throws {
        #expect(
            try plan([1000, 400, 300]).segments == [
                Segment(begin: 0, count: 10, part: Part(clip: 0, skipped: 0)),
                Segment(begin: 10, count: 4, part: Part(clip: 1, skipped: 0)),
                Segment(begin: 14, count: 3, part: Part(clip: 2, skipped: 0)),
            ]
        )
    }

    /// 3 s, 0.8 s, 2 s with 0.5 s between them, of which the short clip contributes 0.4 s at each end: none of it is
    /// shown alone.
    @Test func transitionsAreSeparateParts() throws {
        #expect(
            try plan([3000, 800, 2000], .crossfade).segments == [
                Segment(begin: 0, count: 26, part: Part(clip: 0, skipped: 0)),
                Segment(
                    begin: 26,
                    count: 4,
                    part: Part(clip: 0, skipped: 26),
                    next: Part(clip: 1, skipped: 0),
                    transition: .crossfade
                ),
                Segment(
                    begin: 30,
                    count: 4,
                    part: Part(clip: 1, skipped: 4),
                    next: Part(clip: 2, skipped: 0),
                    transition: .crossfade
                ),
                Segment(begin: 34, count: 16, part: Part(clip: 2, skipped: 4)),
            ]
        )
    }

    /// A clip is 9.99 frames: if each were rounded individually, a hundred clips would be 1000 frames.
    @Test(arguments: [TapeRecord.Transition.none, .crossfade])
    func roundingErrorsDoNotAccumulate(_ transition: TapeRecord.Transition) throws {
        let lengths = [Int64](repeating: 333, count: 100)
        let plan = try plan(lengths, transition, 100, frameRate: 30)
        let total = TapeTiming(tape: ExportFixtures.tape(transition: transition, milliseconds: 100), lengths: lengths)
            .total
        #expect(total == (transition == .none ? 33_300 : 23_400))
        #expect(plan.frameCount == (transition == .none ? 999 : 702))
        // The parts are contiguous.
        let ends = plan.segments.map { $0.begin + $0.count }
        #expect([0] + ends.dropLast() == plan.segments.map(\.begin))
    }

    /// A tape of any length opens only two files concurrently.
    @Test func noPartHasMoreThanTwoInputs() throws {
        let plan = try plan([Int64](repeating: 2000, count: 500), .randomise)
        #expect(plan.segments.count == 999)
        let shown = Set(plan.segments.compactMap { $0.next == nil ? nil : $0.transition })
        #expect(shown == [.crossfade, .slideLeftToRight, .slideRightToLeft])
    }

    @Test func aClipShorterThanAFrameIsNotAPart() throws {
        #expect(try plan([10, 1000, 10]).segments.map(\.part.clip) == [1])
        #expect(try plan([10]).frameCount == 0)
        #expect(try plan([]).frameCount == 0)
    }

    @Test(
        arguments: [
            (.portrait, 1920, 1080, 1920), (.landscape, 1920, 1920, 1080), (.landscape, 64, 64, 36),
            (.portrait, 854, 480, 854), (.landscape, 1000, 1000, 562),
        ] as [(TapeRecord.Orientation, Int, Int, Int)]
    )
    func widthAndHeightAreEven(_ orientation: TapeRecord.Orientation, _ long: Int, _ width: Int, _ height: Int) throws {
        let format = try RenderFormat(orientation, .init(longSide: long))
        #expect((format.width, format.height) == (width, height))
    }

    @Test(arguments: [(0, 30), (15, 30), (1921, 30), (20_000, 30), (1920, 0), (1920, 241), (-2, 30)])
    func impossibleVideosAreRefused(_ longSide: Int, _ frameRate: Int) {
        let error = #expect(throws: TapesError.self) {
            try RenderFormat(.portrait, .init(longSide: longSide, frameRate: frameRate))
        }
        #expect(error?.code == .outOfRange)
    }
}
