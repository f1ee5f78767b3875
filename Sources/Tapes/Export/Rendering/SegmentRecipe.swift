internal import Foundation
internal import MediaStore

struct SegmentRecipe {
    var segment: RenderPlan.Segment
    var clips: [RenderClip]
    var format: RenderFormat

    /// Reading starts this long before the required part: a frame may last longer than one frame interval, and a seek
    /// drops frames that started before it.
    private static let leadSeconds = 2

    /// The segment's one or two clips, in the order of the inputs.
    private var parts: [RenderPlan.Part] { [segment.part] + (segment.next.map { [$0] } ?? []) }

    var inputs: [String] {
        parts.flatMap { part in
            let clip = clips[part.clip]
            let seek = clip.isStill ? 0 : clip.start * 1000 + format.microseconds(ofFrame: firstRead(part))
            return FFmpeg.input(clip.input, seekMicroseconds: seek)
        }
    }

    /// The first frame to read, relative to the clip's start; negative in the trimmed part. It is at most the last
    /// frame in the file, since otherwise there would be no frame to repeat.
    private func firstRead(_ part: RenderPlan.Part) -> Int {
        let clip = clips[part.clip]
        if clip.isStill { return 0 }
        let behind = Int((clip.videoEnd - clip.start) * Int64(format.frameRate) / 1000)
        let beginOfFile = -Int(clip.start * Int64(format.frameRate) / 1000)
        return max(beginOfFile, min(part.skipped, behind) - Self.leadSeconds * format.frameRate)
    }

    /// The filter graph from the inputs to `[v]` and `[a]`, both exactly as long as the segment. It consists of fixed
    /// words and numbers, without file names or titles, so nothing needs to be escaped.
    var graph: String { chains.joined(separator: ";") }

    var chains: [String] {
        let isTransition = segment.next != nil
        let single = parts.enumerated().flatMap { index, part in
            [
                video(part, index, to: isTransition ? "v\(index)" : "v"),
                sound(part, index, to: isTransition ? "a\(index)" : "a"),
            ]
        }
        guard isTransition else { return single }
        let duration = Self.seconds(format.microseconds(ofFrame: segment.count))
        return single + [
            Self.chain(
                ["v0", "v1"],
                // `slide` works with full-resolution colors.
                ["xfade=transition=\(Self.name(of: segment.transition)):duration=\(duration):offset=0"] + Self.form,
                "v"
            ),
            Self.chain(["a0", "a1"], ["acrossfade=nb_samples=\(sampleCount)"], "a"),
        ]
    }

    private static func chain(_ inputs: [String], _ filters: [String], _ output: String) -> String {
        inputs.map { "[\($0)]" }.joined() + filters.joined(separator: ",") + "[\(output)]"
    }

    private var sampleCount: Int {
        format.sample(ofFrame: segment.begin + segment.count) - format.sample(ofFrame: segment.begin)
    }

    // MARK: One clip

    private func video(_ part: RenderPlan.Part, _ index: Int, to output: String) -> String {
        let clip = clips[part.clip]
        let skipped = clip.isStill ? 0 : part.skipped - firstRead(part)
        let filters: [String] =
            (clip.isStill ? ["trim=end_frame=1"] : [])
            // A track that ends before the middle of a frame would not yield a frame: pass its last frame anyway.
            + ["fps=fps=\(format.frameRate):start_time=0:eof_action=pass"]
            + Self.rotation(clip.quarterTurns)
            // Makes pixels square.
            + ["scale=w=iw*sar:h=ih", "setsar=1"]
            + scale(clip.scaleMode)
            + [
                // Repeats the last frame for a still, and for a file that ends too early.
                "tpad=stop_mode=clone:stop=-1",
                "trim=start_frame=\(skipped):end_frame=\(skipped + segment.count)",
                "setpts=PTS-STARTPTS",
            ] + Self.form
        // `V`: without cover images.
        return Self.chain([clip.isStill ? "\(index):v:0" : "\(index):V:0"], filters, output)
    }

    /// Identical for all parts, which can then be joined without encoding.
    private static let form = [
        "format=yuv420p", "setparams=range=tv:color_primaries=bt709:color_trc=bt709:colorspace=bt709",
    ]

    private static func rotation(_ quarterTurns: Int) -> [String] {
        switch quarterTurns {
        case 1: ["transpose=clock"]
        case 2: ["hflip", "vflip"]
        case 3: ["transpose=cclock"]
        default: []
        }
    }

    private func scale(_ mode: TapeRecord.ScaleMode) -> [String] {
        let isFit = mode == .fit
        let size = "\(format.width):\(format.height)"
        return [
            "scale=w=\(format.width):h=\(format.height)"
                + ":force_original_aspect_ratio=\(isFit ? "decrease" : "increase")"
                + ":out_range=tv:out_color_matrix=bt709",
            isFit ? "pad=\(size):(ow-iw)/2:(oh-ih)/2" : "crop=\(size)",
            "setsar=1",
        ]
    }

    private func sound(_ part: RenderPlan.Part, _ index: Int, to output: String) -> String {
        let clip = clips[part.clip]
        let rate = RenderFormat.sampleRate
        let form = "aformat=sample_fmts=fltp:sample_rates=\(rate):channel_layouts=stereo"
        guard clip.hasSound, !clip.isStill else {
            return Self.chain([], ["anullsrc=r=\(rate):cl=stereo", form, "atrim=end_sample=\(sampleCount)"], output)
        }
        let skipped = format.sample(ofFrame: part.skipped - firstRead(part))
        let filters = [
            // Preserves the timing of audio that starts late or has gaps.
            "aresample=\(rate):async=1:first_pts=0",
            form,
            "volume=\(clip.volume)",
            "apad",
            "atrim=start_sample=\(skipped):end_sample=\(skipped + sampleCount)",
            "asetpts=N/SR/TB",
        ]
        return Self.chain(["\(index):a:0"], filters, output)
    }

    // MARK: Formatting

    /// ffmpeg's name for a transition: the direction in which the new image moves.
    private static func name(of transition: TapeRecord.Transition) -> String {
        switch transition {
        case .slideLeftToRight: "slideright"
        case .slideRightToLeft: "slideleft"
        case .crossfade, .none, .randomise: "fade"
        }
    }

    /// Formats seconds with six decimals.
    static func seconds(_ microseconds: Int64) -> String {
        let rest = String(microseconds % 1_000_000)
        return "\(microseconds / 1_000_000).\(String(repeating: "0", count: 6 - rest.count))\(rest)"
    }
}
