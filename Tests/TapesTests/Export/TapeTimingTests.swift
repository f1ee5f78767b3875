import MediaStore
import Testing

@testable import Tapes

/// The length of a tape's video (trap 20).
@Suite struct TapeTimingTests {
    struct Case: CustomTestStringConvertible {
        var name: String
        var transition = TapeRecord.Transition.none
        var milliseconds = 500
        var clips: [ClipRecord]
        var expected: Int64?

        var testDescription: String { name }
    }

    @Test(
        arguments: [
            Case(name: "no clips", clips: [], expected: 0),
            Case(
                name: "durations less trims",
                clips: [ExportFixtures.video("/a", 5000, trim: (1000, 500)), ExportFixtures.video("/b", 700)],
                expected: 4200
            ),
            Case(
                name: "stills and live photos",
                clips: [
                    ExportFixtures.still("/a", 3000), ExportFixtures.live("/b", video: nil),
                    ExportFixtures.live("/c", video: "/c.mov", 1500),
                ],
                expected: 8500
            ),
            Case(name: "unknown", clips: [ExportFixtures.still("/a"), ExportFixtures.video("/b", nil)], expected: nil),
            Case(
                name: "overlaps are subtracted, not added",
                transition: .crossfade,
                milliseconds: 1000,
                clips: [ExportFixtures.still("/a"), ExportFixtures.still("/b"), ExportFixtures.still("/c")],
                expected: 10_000
            ),
            Case(
                name: "transitions never consume a short clip",
                transition: .randomise,
                milliseconds: 2000,
                clips: [ExportFixtures.still("/a"), ExportFixtures.still("/b", 300), ExportFixtures.still("/c")],
                expected: 8000
            ),
            Case(name: "one clip", transition: .crossfade, clips: [ExportFixtures.still("/a")], expected: 4000),
            Case(
                name: "trims as long as the clip leave nothing",
                clips: [ExportFixtures.video("/a", 1000, trim: (600, 600)), ExportFixtures.still("/b", 1000)],
                expected: 1000
            ),
        ]
    )
    func lengths(_ example: Case) {
        let tape = ExportFixtures.tape(transition: example.transition, milliseconds: example.milliseconds)
        #expect(TapeRendering.milliseconds(of: tape, clips: example.clips) == example.expected)
    }

    @Test func randomChoicesAreReproducible() {
        let tape = ExportFixtures.tape(transition: .randomise)
        let chosen = (0..<60).map { tape.transition(after: $0) }
        #expect(chosen == (0..<60).map { tape.transition(after: $0) })
        // FNV-1a of "1b671a64-40d5-491e-99b0-da01ff1f3341#0" to "…#3", computed independently.
        #expect(Array(chosen[..<4]) == Self.expected)
        #expect(Set(chosen) == [.crossfade, .slideLeftToRight, .slideRightToLeft])
        var other = tape
        other.id = "2b671a64-40d5-491e-99b0-da01ff1f3341"
        #expect((0..<60).map { other.transition(after: $0) } != chosen)
        #expect(ExportFixtures.tape(transition: .crossfade).transition(after: 7) == .crossfade)
    }

    private static let expected: [TapeRecord.Transition] = [
        .slideRightToLeft, .crossfade, .slideLeftToRight, .slideRightToLeft,
    ]
}
