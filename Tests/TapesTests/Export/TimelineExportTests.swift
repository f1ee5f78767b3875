import Foundation
import MediaStore
import TestSupport
import Testing

@testable import Tapes

/// `tapes export --format otio`, as OpenTimelineIO itself reads it (contract 10).
@Suite struct TimelineExportTests {
    struct Found: Decodable, Equatable {
        var name: String
        var same_again: Bool
        var duration: Double?
        var children: [Child]
    }

    struct Child: Decodable, Equatable {
        var type: String
        var name: String?
        var source_range: [Double]?
        var available_range: [Double]?
        var url: String?
        var transition_type: String?
        var offsets: [Double]?
        var metadata: Metadata
    }

    struct Metadata: Decodable, Equatable {
        var kind: String?
        var path_base64: String?
        var trim_start_ms: Int?
        var rotate_quarter_turns: Int?
        var scale_override: String?
        var volume: Double?
        var transition: String?
    }

    private static let repository = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    private func load(_ tape: TapeRecord, _ clips: [ClipRecord]) async throws -> Found {
        let home = try TemporaryDirectory()
        try Data(TapeExport.otio.bytes(of: tape, clips: clips)).write(to: URL(filePath: home.file("tape.otio")))
        let result = try await ChildProcess.run(
            Self.repository.appending(path: ".build/venv/bin/python").path,
            [Self.repository.appending(path: "Tests/TapesTests/scripts/read_otio.py").path, home.file("tape.otio")]
        )
        #expect(result.errors == "")
        return try JSONDecoder().decode(Found.self, from: Data(result.output.utf8))
    }

    @Test func orderTrimsAndFiles() async throws {
        var turned = ExportFixtures.video("/m/50% é\n.mov", 10_000, trim: (1500, 500))
        turned.rotateQuarterTurns = 1
        turned.scaleOverride = .fill
        turned.volume = 0.5
        let clips = [
            turned,
            ExportFixtures.still("/m/a.jpg", 3000),
            ExportFixtures.live("/m/l.heic", video: "/m/l.mov", 2000),
            ExportFixtures.live("/m/l.heic", video: nil),
            ExportFixtures.video([0x2F, 0xFF], 40),
        ]
        let found = try await load(ExportFixtures.tape("Été \"1\""), clips)
        #expect(found.name == "Été \"1\"")
        #expect(found.same_again)
        #expect(found.children.map(\.name) == ["50% é\n.mov", "a.jpg", "l.heic", "l.heic", "\u{FFFD}"])
        #expect(
            found.children.map(\.source_range) == [[1500, 8000], [0, 3000], [0, 2000], [0, 4000], [0, 40]]
        )
        #expect(found.children.map(\.available_range) == [[0, 10_000], nil, [0, 2000], nil, [0, 40]])
        #expect(
            found.children.map(\.url) == [
                "file:///m/50%25%20%C3%A9%0A.mov", "file:///m/a.jpg", "file:///m/l.mov", "file:///m/l.heic",
                "file:///%FF",
            ]
        )
        #expect(found.duration == 17_040)
        #expect(found.children.map(\.metadata.path_base64) == [nil, nil, nil, nil, "L/8="])
        #expect(
            found.children[0].metadata
                == Metadata(
                    kind: "video",
                    trim_start_ms: 1500,
                    rotate_quarter_turns: 1,
                    scale_override: "fill",
                    volume: 0.5
                )
        )
    }

    @Test func aLengthThatIsNotKnownIsNotMadeUp() async throws {
        let bare = ClipRecord(id: "bare", tapeID: "t", kind: .video, source: nil)
        let found = try await load(
            ExportFixtures.tape(transition: .crossfade),
            [ExportFixtures.video("/a.mov", nil, trim: (100, 0)), bare]
        )
        #expect(found.same_again)
        #expect(found.children.map(\.type) == ["clip", "transition", "clip"])
        #expect(found.children.map(\.source_range) == [nil, nil, nil])
        #expect(found.children[0].metadata.trim_start_ms == 100)
        #expect(found.children.map(\.url) == ["file:///a.mov", nil, nil])
        #expect(found.children[2].name == "bare")
    }

    /// Trap 20: the track is as long as the video. The cut lies in the middle of each transition.
    @Test(
        arguments: [
            (.crossfade, "SMPTE_Dissolve"), (.slideLeftToRight, "Custom_Transition"),
            (.slideRightToLeft, "Custom_Transition"),
        ] as [(TapeRecord.Transition, String)]
    )
    func transitionsLieOverTheCut(_ kind: TapeRecord.Transition, _ type: String) async throws {
        let tape = ExportFixtures.tape(transition: kind, milliseconds: 1000)
        let clips = [
            ExportFixtures.video("/a.mov", 5000, trim: (500, 0)), ExportFixtures.still("/b.jpg", 3000),
            // Half of 101 at most.
            ExportFixtures.video("/c.mov", 101),
        ]
        let found = try await load(tape, clips)
        #expect(found.children.map(\.source_range) == [[500, 4000], nil, [500, 2475], nil, [25, 76]])
        #expect(found.children.map(\.offsets) == [nil, [500, 500], nil, [25, 25], nil])
        #expect(found.children.compactMap(\.transition_type) == [type, type])
        #expect(found.children[1].metadata.transition == kind.rawValue)
        // 4500 + 3000 + 101 - 1000 - 50
        #expect(found.duration == 6551)
        #expect(found.duration == TapeRendering.milliseconds(of: tape, clips: clips).map(Double.init))
        #expect(found.same_again)
    }

    @Test func oddTransitionsLoseNothing() async throws {
        let tape = ExportFixtures.tape(transition: .crossfade, milliseconds: 333)
        let clips = [ExportFixtures.video("/a.mov", 1000), ExportFixtures.video("/b.mov", 1000)]
        let found = try await load(tape, clips)
        #expect(found.children.map(\.source_range) == [[0, 833], nil, [166, 834]])
        #expect(found.children[1].offsets == [166, 167])
    }
}
