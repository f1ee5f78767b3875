internal import MediaCore
internal import MediaStore
internal import MediaTransport

/// A tape as OpenTimelineIO: `Timeline.1` → `Stack.1` → one `Track.1` of video, and one of audio if any clip has audio
/// → `Clip.1`.
///
/// - Times are frames of the clip's own video. Stills and silence have the rate of the first video, or 30 frames per
///   second if there is no video. Times of a video with an unknown rate are in milliseconds (rate 1000).
/// - A clip's `source_range` is the trimmed range, in whole frames, without audio after the end of the video, unless
///   nothing else remains. `source_range` and `available_range` are omitted if the length is unknown. The available
///   range of a still is its display duration, since its length is arbitrary.
/// - OpenTimelineIO centers a transition on a cut, and takes frames of both clips from beyond the cut. Here, two clips
///   overlap for the whole transition, so the cut is in the middle of the transition: the clip before the cut ends
///   earlier by half the transition, and the clip after it starts later by half. The tracks are as long as the video
///   (trap 20).
/// - Both tracks have the same ranges. A clip without audio is a `Gap.1` in the audio track; a clip whose file could
///   not be read is assumed to have audio.
/// - A clip without a path has a `MissingReference.1`. A live photo plays its video.
/// - All other properties are in `metadata` under `mediactl`, with the names of `TapeDocument`.
struct TapeTimeline {
    private let tape: TapeRecord
    private let items: [Item]
    /// Overlaps of transitions between clips, in milliseconds; one fewer than items.
    private let overlaps: [Int64]

    /// `media` is keyed by clip ID; missing properties are taken from the clips.
    init(tape: TapeRecord, clips: [ClipRecord], media: [String: ClipMedia] = [:]) {
        var clips = clips
        var lengths = clips.map(\.shownMilliseconds)
        for (index, clip) in clips.enumerated() {
            guard let video = media[clip.id]?.milliseconds else { continue }
            let file = max(video, clip.durationMilliseconds ?? video)
            let shown = min(video, file - clip.trimEndMilliseconds) - clip.trimmedStart
            clips[index].durationMilliseconds = shown > 0 ? video : file
            lengths[index] = shown > 0 ? shown : clips[index].shownMilliseconds
        }
        let unknown = ClipMedia.FrameRate(1000)
        let hasUnknown = clips.contains { $0.playedVideo != nil && media[$0.id]?.frameRate == nil }
        let common =
            clips.lazy.compactMap { media[$0.id]?.frameRate }.first ?? (hasUnknown ? unknown : ClipMedia.FrameRate(30))
        let timing = TapeTiming(tape: tape, lengths: lengths)
        self.tape = tape
        overlaps = timing.overlaps
        items = clips.enumerated().map { index, clip in
            let isVideo = clip.kind == .video || clip.playedVideo != nil
            let known = media[clip.id]
            return Item(
                clip,
                rate: isVideo ? known?.frameRate ?? unknown : common,
                hasSound: isVideo && known?.hasSound ?? true,
                length: timing.lengths[index],
                head: index > 0 ? timing.overlaps[index - 1] / 2 : 0,
                // If the overlap is an odd number, the part after the cut is the larger one.
                tail: timing.overlaps.dropFirst(index).first.map { $0 - $0 / 2 } ?? 0
            )
        }
    }

    var value: JSONValue {
        let stack = Self.object(
            "Stack.1",
            name: "tracks",
            [
                "source_range": .null, "effects": .array([]), "markers": .array([]),
                "children": .array([track("clips", "Video")] + (hasSound ? [track("sound", "Audio")] : [])),
            ]
        )
        let metadata: JSONObject = [
            "tape_id": .string(tape.id), "orientation": .string(tape.orientation.rawValue),
            "scale_mode": .string(tape.scaleMode.rawValue), "transition": .string(tape.transition.rawValue),
            "transition_ms": .integer(Int64(tape.transitionMilliseconds)),
        ]
        return Self.object(
            "Timeline.1",
            name: tape.title,
            metadata: metadata,
            ["global_start_time": .null, "tracks": stack]
        )
    }

    private var hasSound: Bool { items.contains(where: \.hasSound) }

    private func track(_ name: String, _ kind: String) -> JSONValue {
        let isSound = kind == "Audio"
        var children: [JSONValue] = []
        for (index, item) in items.enumerated() {
            children.append(isSound && !item.hasSound ? item.gap : item.value)
            guard index < overlaps.count, overlaps[index] > 0 else { continue }
            let next = items[index + 1]
            if !isSound || item.hasSound && next.hasSound {
                children.append(transition(after: index, milliseconds: overlaps[index], isSound: isSound))
            }
        }
        return Self.object(
            "Track.1",
            name: name,
            [
                "kind": .string(kind), "source_range": .null, "effects": .array([]), "markers": .array([]),
                "children": .array(children),
            ]
        )
    }

    /// Covers the frames that both clips contribute to the transition, each at its own frame rate.
    private func transition(after index: Int, milliseconds: Int64, isSound: Bool) -> JSONValue {
        let kind = tape.transition(after: index)
        let isDissolve = isSound || kind == .crossfade
        let (before, after) = (items[index], items[index + 1])
        return Self.object(
            "Transition.1",
            name: kind.rawValue,
            metadata: ["transition": .string(kind.rawValue), "duration_ms": .integer(milliseconds)],
            [
                "transition_type": .string(isDissolve ? "SMPTE_Dissolve" : "Custom_Transition"),
                "in_offset": Self.time(after.headFrames, after.rate),
                "out_offset": Self.time(before.tailFrames, before.rate),
            ]
        )
    }

    /// A clip with its times in frames.
    private struct Item {
        let clip: ClipRecord
        let rate: ClipMedia.FrameRate
        let hasSound: Bool
        /// Frames contributed to the transitions before and after the clip.
        let headFrames: Int64
        let tailFrames: Int64
        /// nil if the clip's length is unknown.
        private let shown: Range<Int64>?
        private let available: Int64?

        /// Creates an item from times in milliseconds.
        init(
            _ clip: ClipRecord,
            rate: ClipMedia.FrameRate,
            hasSound: Bool,
            length: Int64?,
            head: Int64,
            tail: Int64
        ) {
            self.clip = clip
            self.rate = rate
            self.hasSound = hasSound
            headFrames = rate.frame(at: head)
            tailFrames = rate.frame(at: tail)
            guard let length else {
                (shown, available) = (nil, nil)
                return
            }
            let start = clip.trimmedStart
            let begin = rate.frame(at: start)
            let whole = max(begin, rate.frame(at: start + length))
            shown = begin + headFrames..<max(begin + headFrames, whole - tailFrames)
            available = clip.kind == .video ? clip.durationMilliseconds.map { rate.frame(at: $0) } : whole
        }

        var value: JSONValue {
            let metadata: JSONObject = [
                "clip_id": .string(clip.id), "kind": .string(clip.kind.rawValue),
                "path_base64": .pathBase64(clip.source),
                "trim_start_ms": .integer(clip.trimStartMilliseconds),
                "trim_end_ms": .integer(clip.trimEndMilliseconds),
                "rotate_quarter_turns": .integer(Int64(clip.rotateQuarterTurns)),
                "scale_override": JSONValue(clip.scaleOverride?.rawValue),
                "volume": clip.volume.map { .double($0) } ?? .null,
            ]
            return TapeTimeline.object(
                "Clip.1",
                name: String(decoding: clip.fileName, as: UTF8.self),
                metadata: metadata,
                [
                    "source_range": range, "effects": .array([]), "markers": .array([]), "enabled": .bool(true),
                    "media_reference": reference,
                ]
            )
        }

        /// A gap as long as the clip, for the audio track.
        var gap: JSONValue {
            TapeTimeline.object(
                "Gap.1",
                name: "",
                [
                    "source_range": shown.map { TapeTimeline.range(0, Int64($0.count), rate) } ?? .null,
                    "effects": .array([]), "markers": .array([]), "enabled": .bool(true),
                ]
            )
        }

        private var range: JSONValue {
            shown.map { TapeTimeline.range($0.lowerBound, Int64($0.count), rate) } ?? .null
        }

        private var reference: JSONValue {
            let availableRange = available.map { TapeTimeline.range(0, $0, rate) } ?? .null
            guard let path = clip.playedSource else {
                return TapeTimeline.object("MissingReference.1", name: "", ["available_range": availableRange])
            }
            return TapeTimeline.object(
                "ExternalReference.1",
                name: "",
                ["target_url": .string(FileURL.text(of: path)), "available_range": availableRange]
            )
        }
    }

    // MARK: Values

    fileprivate static func object(
        _ schema: String,
        name: String,
        metadata: JSONObject = [:],
        _ members: JSONObject
    ) -> JSONValue {
        let common: JSONObject = [
            "OTIO_SCHEMA": .string(schema), "name": .string(name),
            "metadata": .object(metadata.isEmpty ? [:] : ["mediactl": .object(metadata)]),
        ]
        return .object(members + common)
    }

    fileprivate static func range(_ start: Int64, _ length: Int64, _ rate: ClipMedia.FrameRate) -> JSONValue {
        .object([
            "OTIO_SCHEMA": .string("TimeRange.1"), "start_time": time(start, rate), "duration": time(length, rate),
        ])
    }

    private static func time(_ frames: Int64, _ rate: ClipMedia.FrameRate) -> JSONValue {
        .object([
            "OTIO_SCHEMA": .string("RationalTime.1"), "rate": .double(rate.perSecond), "value": .double(Double(frames)),
        ])
    }
}

extension ClipRecord {
    /// The file to play: the video of a live photo if it has one, otherwise the source.
    var playedSource: [UInt8]? { kind == .live ? pairedSource ?? source : source }

    /// Start of the clip in its file, in milliseconds.
    var trimmedStart: Int64 { kind == .video ? trimStartMilliseconds : 0 }
}
