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
        var sound: [Child]
        var sound_duration: Double?
    }

    struct Child: Decodable, Equatable {
        var type: String
        var name: String?
        var source_range: [Double]?
        var available_range: [Double]?
        var url: String?
        var transition_type: String?
        var offsets: [Double]?
        /// Rate, start, count.
        var frames: [Double]?
        var available_frames: [Double]?
        var metadata: Metadata?
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

    private func load(
        _ tape: TapeRecord,
        _ clips: [ClipRecord],
        _ media: [String: ClipMedia] = [:]
    ) async throws -> Found {
        let home = try TemporaryDirectory()
        try Data(TapeExport.otio.bytes(of: tape, clips: clips, media: media))
            .write(to: URL(filePath: home.file("tape.otio")))
        let result = try await ChildProcess.run(
            Repository.python,
            [Repository.path("Tests/TapesTests/scripts/read_otio.py"), home.file("tape.otio")]
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
        // A still is available for the time it is shown.
        #expect(
            found.children.map(\.available_range) == [[0, 10_000], [0, 3000], [0, 2000], [0, 4000], [0, 40]]
        )
        #expect(
            found.children.map(\.url) == [
                "file:///m/50%25%20%C3%A9%0A.mov", "file:///m/a.jpg", "file:///m/l.mov", "file:///m/l.heic",
                "file:///%FF",
            ]
        )
        #expect(found.duration == 17_040)
        #expect(found.children.map(\.metadata?.path_base64) == [nil, nil, nil, nil, "L/8="])
        // Whether an unread file has audio is not known: it is in the timeline.
        #expect(found.sound.map(\.type) == ["clip", "gap", "clip", "gap", "clip"])
        #expect(found.sound.map(\.source_range) == [[1500, 8000], [0, 3000], [0, 2000], [0, 4000], [0, 40]])
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

    @Test func anUnknownLengthIsNotInvented() async throws {
        let bare = ClipRecord(id: "bare", tapeID: "t", kind: .video, source: nil)
        let found = try await load(
            ExportFixtures.tape(transition: .crossfade),
            [ExportFixtures.video("/a.mov", nil, trim: (100, 0)), bare]
        )
        #expect(found.same_again)
        #expect(found.children.map(\.type) == ["clip", "transition", "clip"])
        #expect(found.children.map(\.source_range) == [nil, nil, nil])
        #expect(found.children[0].metadata?.trim_start_ms == 100)
        #expect(found.children.map(\.url) == ["file:///a.mov", nil, nil])
        #expect(found.children[2].name == "bare")
    }

    /// Trap 20: the track is as long as the video. The cut is in the middle of each transition.
    @Test(
        arguments: [
            (.crossfade, "SMPTE_Dissolve"), (.slideLeftToRight, "Custom_Transition"),
            (.slideRightToLeft, "Custom_Transition"),
        ] as [(TapeRecord.Transition, String)]
    )
    func transitionsAreCenteredOnTheCut(_ kind: TapeRecord.Transition, _ type: String) async throws {
        let tape = ExportFixtures.tape(transition: kind, milliseconds: 1000)
        let clips = [
            ExportFixtures.video("/a.mov", 5000, trim: (500, 0)), ExportFixtures.still("/b.jpg", 3000),
            // At most half of 101.
            ExportFixtures.video("/c.mov", 101),
        ]
        let found = try await load(tape, clips)
        #expect(found.children.map(\.source_range) == [[500, 4000], nil, [500, 2475], nil, [25, 76]])
        #expect(found.children.map(\.offsets) == [nil, [500, 500], nil, [25, 25], nil])
        #expect(found.children.compactMap(\.transition_type) == [type, type])
        #expect(found.children[1].metadata?.transition == kind.rawValue)
        // 4500 + 3000 + 101 - 1000 - 50
        #expect(found.duration == 6551)
        #expect(found.duration == TapeRendering.milliseconds(of: tape, clips: clips).map(Double.init))
        #expect(found.same_again)
    }

    // MARK: Media

    /// A video with these properties, and its ID.
    private func video(
        _ id: String,
        _ milliseconds: Int64,
        _ rate: ClipMedia.FrameRate,
        trim: (Int64, Int64) = (0, 0),
        hasSound: Bool = true
    ) -> (clip: ClipRecord, media: ClipMedia) {
        var clip = ExportFixtures.video("/\(id).mov", milliseconds, trim: trim)
        clip.id = id
        return (clip, ClipMedia(frameRate: rate, milliseconds: milliseconds, hasSound: hasSound))
    }

    /// Times are in frames of each video. Calculated by hand: 25 per second for 4 s are 100, of which 0.5 s and 1 s are
    /// 12.5, rounded to 13, and 25; 30000/1001 per second for 5.005 s are 150; a still of 2 s has the rate of the first
    /// video.
    @Test func timesAreFramesOfTheMedia() async throws {
        let (a, b) = (video("a", 4000, .init(25), trim: (500, 1000)), video("b", 5005, .init(30_000, 1001)))
        let clips = [a.clip, ExportFixtures.still("/s.jpg", 2000), b.clip]
        let found = try await load(ExportFixtures.tape(), clips, ["a": a.media, "b": b.media])
        let ntsc = 30_000.0 / 1001
        #expect(found.children.map(\.frames) == [[25, 13, 62], [25, 0, 50], [ntsc, 0, 150]])
        #expect(found.children.map(\.available_frames) == [[25, 0, 100], [25, 0, 50], [ntsc, 0, 150]])
        // 62/25 s + 2 s + 5.005 s
        #expect(abs((found.duration ?? 0) - 9485) < 0.001)
        #expect(found.sound_duration == found.duration)
        #expect(found.same_again)
    }

    /// Silence is a gap as long as its video, and there is no track if everything is silent.
    @Test func silenceIsAGap() async throws {
        let (a, b) = (video("a", 4000, .init(25)), video("b", 1000, .init(50), hasSound: false))
        let media = ["a": a.media, "b": b.media]
        let found = try await load(ExportFixtures.tape(), [a.clip, b.clip, a.clip], media)
        #expect(found.sound.map(\.type) == ["clip", "gap", "clip"])
        #expect(found.sound.map(\.frames) == [[25, 0, 100], [50, 0, 50], [25, 0, 100]])
        #expect(found.sound_duration == 9000)
        #expect(try await load(ExportFixtures.tape(), [b.clip], media).sound.isEmpty)
        #expect(
            try await load(ExportFixtures.tape(), [ExportFixtures.still("/s.jpg")]).children[0].frames == [30, 0, 120]
        )
    }

    /// The halves of a transition are measured in frames of their clips: half of 500 ms is 250 ms, which is 6.25 frames
    /// at 25 per second, rounded to 6, and 7.5 at 30 per second, rounded to 8. Audio cross-fades where both clips have
    /// it.
    @Test func transitionsAreFramesOfBothClips() async throws {
        let tape = ExportFixtures.tape(transition: .slideLeftToRight, milliseconds: 500)
        let clips = [
            video("a", 4000, .init(25)), video("b", 3000, .init(30)), video("c", 2000, .init(25), hasSound: false),
        ]
        let media = Dictionary(uniqueKeysWithValues: clips.map { ($0.clip.id, $0.media) })
        let found = try await load(tape, clips.map(\.clip), media)
        #expect(found.children.map(\.frames) == [[25, 0, 94], nil, [30, 8, 74], nil, [25, 6, 44]])
        let offsets = [8_000.0 / 30, 240, 240, 8_000.0 / 30]
        for (offset, expected) in zip(found.children.compactMap(\.offsets).joined(), offsets) {
            #expect(abs(offset - expected) < 0.001)
        }
        #expect(found.sound.map(\.type) == ["clip", "transition", "clip", "gap"])
        #expect(found.sound[1].transition_type == "SMPTE_Dissolve")
        #expect(found.children[1].transition_type == "Custom_Transition")
        #expect(found.same_again)
    }

    /// Real files, compared with the output of ffprobe.
    @Test(.enabled(if: FilmKit.isInstalled, FilmKit.requirement))
    func realMedia() async throws {
        let kit = try FilmKit()
        let clips = [
            try await kit.video("a.mov", "color=red:s=64x36:r=25:d=2", sound: "sine=440:d=2.3"),
            try await kit.video("b.mkv", "color=red:s=64x36:r=30000/1001:d=1.001"),
            try await kit.still("s.png", "color=red:s=64x36"), kit.clip(kit.home.file("gone.mov")),
        ]
        let media = try await ClipMedia.read(clips, searchPath: FilmKit.searchPath)
        #expect(media.count == 2)
        for clip in clips.prefix(2) {
            let path = String(decoding: clip.source ?? [], as: UTF8.self)
            let question = ["-count_frames", "-show_entries", "stream=codec_type,r_frame_rate,nb_read_frames"]
            let streams = try await FilmKit.run(["ffprobe", "-v", "error", "-of", "csv=p=0"] + question + [path]).lines
            let picture = try #require(streams.first { $0.hasPrefix("video") }?.split(separator: ",").map(String.init))
            let known = try #require(media[clip.id])
            let rate = try #require(known.frameRate)
            #expect(picture[1] == "\(rate.numerator)/\(rate.denominator)")
            #expect(Int64(picture[2]) == known.milliseconds.map { rate.frame(at: $0) })
            #expect(known.hasSound == streams.contains { $0.hasPrefix("audio") })
        }
        let found = try await load(FilmKit.tape(), Array(clips.prefix(3)), media)
        #expect(found.children.map(\.frames) == [[25, 0, 50], [30_000.0 / 1001, 0, 30], [25, 0, 5]])
        #expect(found.sound.map(\.type) == ["clip", "gap", "gap"])
        // 2 s + 1.001 s + 0.2 s
        #expect(abs((found.duration ?? 0) - 3201) < 0.001)
        let missing = await #expect(throws: TapesError.self) {
            try await ClipMedia.read(clips, searchPath: kit.home.path)
        }
        #expect(missing?.code == .programMissing && missing?.value == "ffprobe")
    }

    /// Lengths of the file, as `tapes set` knows it, and of its video; trims of 3 s.
    @Test(
        arguments: [
            (2000, 2000, false), (3000, 3000, false), (3001, 3001, true), (3001, 1000, true), (nil, 3000, false),
            (nil, 3001, true),
        ] as [(Int64?, Int64, Bool)]
    )
    func trimsBeyondTheFileAreAnError(_ file: Int64?, _ video: Int64, _ isExported: Bool) throws {
        let clip = ExportFixtures.video("/b.mp4", file, trim: (2500, 500))
        let media = [clip.id: ClipMedia(frameRate: .init(25), milliseconds: video, hasSound: true)]
        func export() throws { _ = try TapeExport.otio.bytes(of: ExportFixtures.tape(), clips: [clip], media: media) }
        guard !isExported else { return try export() }
        let error = #expect(throws: TapesError.self, performing: export)
        #expect(error?.code == .trimTooLong && error?.path == clip.source)
    }

    /// A file of 5 s with a video of 2 s. Trims count from the ends of the file. The expected values are the first
    /// frame, the number of frames, and the number of available ones.
    @Test(
        arguments: [
            (0, 0, [0, 50, 50]), (0, 1000, [0, 50, 50]), (400, 3400, [10, 30, 50]), (3000, 0, [75, 50, 125]),
        ] as [(Int64, Int64, [Double])]
    )
    func audioBeyondTheVideo(_ trimStart: Int64, _ trimEnd: Int64, _ frames: [Double]) async throws {
        let long = video("a", 2000, .init(25), trim: (trimStart, trimEnd))
        var clip = long.clip
        clip.durationMilliseconds = 5000
        let found = try await load(ExportFixtures.tape(), [clip], [clip.id: long.media])
        #expect(found.children.map(\.frames) == [[25, frames[0], frames[1]]])
        #expect(found.children.map(\.available_frames) == [[25, 0, frames[2]]])
        #expect(found.sound.map(\.frames) == [[25, frames[0], frames[1]]])
    }

    @Test func oddTransitionsLoseNothing() async throws {
        let tape = ExportFixtures.tape(transition: .crossfade, milliseconds: 333)
        let clips = [ExportFixtures.video("/a.mov", 1000), ExportFixtures.video("/b.mov", 1000)]
        let found = try await load(tape, clips)
        #expect(found.children.map(\.source_range) == [[0, 833], nil, [166, 834]])
        #expect(found.children[1].offsets == [166, 167])
    }
}
