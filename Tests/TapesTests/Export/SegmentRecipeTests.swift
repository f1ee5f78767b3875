import MediaStore
import Testing

@testable import Tapes

/// The arguments of ffmpeg, without running it.
@Suite struct SegmentRecipeTests {
    private static let video = RenderClip(
        source: Array("/m/a.mov".utf8),
        input: "/tmp/links/0.mov",
        isStill: false,
        hasSound: true,
        videoEnd: 20_000,
        start: 1500,
        length: 10_000,
        quarterTurns: 1,
        scaleMode: .fit,
        volume: 0.5
    )

    private static let still: RenderClip = {
        var clip = video
        (clip.input, clip.isStill, clip.hasSound, clip.start) = ("/tmp/links/1.jpg", true, false, 0)
        (clip.quarterTurns, clip.scaleMode) = (0, .fill)
        return clip
    }()

    private func recipe(_ segment: RenderPlan.Segment, _ clips: [RenderClip] = [video, still]) throws -> SegmentRecipe {
        SegmentRecipe(segment: segment, clips: clips, format: try RenderFormat(.landscape, .init(longSide: 64)))
    }

    private static func picture(_ frames: Range<Int>) -> String {
        "tpad=stop_mode=clone:stop=-1,trim=start_frame=\(frames.lowerBound):end_frame=\(frames.upperBound),"
            + "setpts=PTS-STARTPTS,\(form)"
    }

    private static let form =
        "format=yuv420p,setparams=range=tv:color_primaries=bt709:color_trc=bt709:colorspace=bt709"

    @Test func aClipWithoutTransitions() throws {
        let recipe = try recipe(.init(begin: 0, count: 45, part: .init(clip: 0, skipped: 0)))
        // 1.5 s are 45 frames. All of them are read, because the last one may have to be repeated.
        #expect(recipe.inputs == ["-protocol_whitelist", "file", "-i", "file:/tmp/links/0.mov"])
        #expect(
            recipe.graph
                == "[0:V:0]fps=fps=30:start_time=0:eof_action=pass,"
                + "transpose=clock,scale=w=iw*sar:h=ih,setsar=1,"
                + "scale=w=64:h=36:force_original_aspect_ratio=decrease:out_range=tv:out_color_matrix=bt709,"
                + "pad=64:36:(ow-iw)/2:(oh-ih)/2,setsar=1,\(Self.picture(45..<90))[v];"
                + "[0:a:0]aresample=48000:async=1:first_pts=0,"
                + "aformat=sample_fmts=fltp:sample_rates=48000:channel_layouts=stereo,"
                + "volume=0.5,apad,atrim=start_sample=72000:end_sample=144000,asetpts=N/SR/TB[a]"
        )
    }

    @Test func aStillIsOneImageAndSilence() throws {
        let recipe = try recipe(.init(begin: 45, count: 45, part: .init(clip: 1, skipped: 12)))
        #expect(recipe.inputs == ["-protocol_whitelist", "file", "-i", "file:/tmp/links/1.jpg"])
        #expect(
            recipe.graph
                == "[0:v:0]trim=end_frame=1,fps=fps=30:start_time=0:eof_action=pass,"
                + "scale=w=iw*sar:h=ih,setsar=1,"
                + "scale=w=64:h=36:force_original_aspect_ratio=increase:out_range=tv:out_color_matrix=bt709,"
                + "crop=64:36,setsar=1,\(Self.picture(0..<45))[v];"
                + "anullsrc=r=48000:cl=stereo,aformat=sample_fmts=fltp:sample_rates=48000:channel_layouts=stereo,"
                + "atrim=end_sample=72000[a]"
        )
    }

    /// The last half second of a ten-second clip fades into a still. Reading starts two seconds before that.
    @Test(
        arguments: [
            (.crossfade, "fade"), (.slideLeftToRight, "slideright"), (.slideRightToLeft, "slideleft"),
        ] as [(TapeRecord.Transition, String)]
    )
    func twoClipsInATransition(_ transition: TapeRecord.Transition, _ name: String) throws {
        let recipe = try recipe(
            .init(
                begin: 285,
                count: 15,
                part: .init(clip: 0, skipped: 285),
                next: .init(clip: 1, skipped: 0),
                transition: transition
            )
        )
        // 1.5 + 9.5 - 2
        #expect(recipe.inputs.filter { $0.hasPrefix("9.") } == ["9.000000"])
        #expect(recipe.inputs.filter { $0 == "-i" }.count == 2)
        let chains = recipe.chains
        for (chain, output) in zip(chains, ["v0", "a0", "v1", "a1", "v", "a"]) {
            #expect(chain.hasSuffix("[\(output)]"))
        }
        #expect(chains.count == 6)
        #expect(chains[0].contains("trim=start_frame=60:end_frame=75"))
        #expect(chains[1].contains("atrim=start_sample=96000:end_sample=120000"))
        #expect(chains[2].hasPrefix("[1:v:0]"))
        #expect(
            chains[4] == "[v0][v1]xfade=transition=\(name):duration=0.500000:offset=0,\(Self.form)[v]"
        )
        #expect(chains[5] == "[a0][a1]acrossfade=nb_samples=24000[a]")
    }

    /// Reading starts two seconds before the required part, or before the end of the video if that is earlier: after
    /// it, there is no frame to repeat. The rate is 30 frames per second.
    @Test(
        arguments: [
            (start: 0, videoEnd: 20_000, skipped: 0, seek: nil, frames: 0),
            (start: 0, videoEnd: 20_000, skipped: 60, seek: nil, frames: 60),
            (start: 0, videoEnd: 20_000, skipped: 75, seek: "0.500000", frames: 60),
            (start: 1500, videoEnd: 20_000, skipped: 285, seek: "9.000000", frames: 60),
            (start: 10_000, videoEnd: 20_000, skipped: 0, seek: "8.000000", frames: 60),
            (start: 1010, videoEnd: 20_000, skipped: 0, seek: "0.010000", frames: 30),
            (start: 1500, videoEnd: 4500, skipped: 285, seek: "2.500000", frames: 255),
            (start: 9000, videoEnd: 4500, skipped: 3, seek: "2.500000", frames: 198),
            (start: 9000, videoEnd: 100, skipped: 0, seek: nil, frames: 270),
        ] as [(start: Int64, videoEnd: Int64, skipped: Int, seek: String?, frames: Int)]
    )
    func whereReadingStarts(_ start: Int64, _ videoEnd: Int64, _ skipped: Int, _ seek: String?, _ frames: Int) throws {
        var clip = Self.video
        (clip.start, clip.videoEnd) = (start, videoEnd)
        let recipe = try recipe(.init(begin: 0, count: 3, part: .init(clip: 0, skipped: skipped)), [clip])
        #expect(recipe.inputs.dropFirst(2).first == (seek == nil ? "-i" : "-ss"))
        #expect(recipe.inputs.count == (seek == nil ? 4 : 6))
        if let seek { #expect(recipe.inputs[3] == seek) }
        #expect(recipe.graph.contains("trim=start_frame=\(frames):end_frame=\(frames + 3)"))
        #expect(recipe.graph.contains("atrim=start_sample=\(frames * 1600):"))
    }

    @Test(arguments: [(0, ""), (1, "transpose=clock,"), (2, "hflip,vflip,"), (3, "transpose=cclock,")])
    func rotationsAreClockwise(_ turns: Int, _ expected: String) throws {
        var clip = Self.video
        clip.quarterTurns = turns
        let recipe = try recipe(.init(begin: 0, count: 1, part: .init(clip: 0, skipped: 0)), [clip])
        #expect(recipe.graph.contains("start_time=0:eof_action=pass,\(expected)scale="))
    }

    /// If the sample rate is not divisible by the frame rate, audio is rounded on the timeline of the whole video.
    @Test func samplesDoNotDrift() throws {
        let format = try RenderFormat(.landscape, .init(longSide: 64, frameRate: 7))
        let counts = (0..<7).map { frame in
            SegmentRecipe(
                segment: .init(begin: frame, count: 1, part: .init(clip: 0, skipped: frame)),
                clips: [Self.still],
                format: format
            ).chains[1].firstMatch(of: /atrim=end_sample=(\d+)\[a\]$/).flatMap { Int($0.1) }
        }
        #expect(counts.compactMap(\.self).reduce(0, +) == 48_000)
    }

    @Test(arguments: [(0, "0.000000"), (1, "0.000001"), (1_500_000, "1.500000"), (3_600_000_001, "3600.000001")])
    func secondsAreExact(_ microseconds: Int64, _ expected: String) {
        #expect(SegmentRecipe.seconds(microseconds) == expected)
    }
}
