internal import MediaCore
internal import MediaStore
internal import MediaTransport

/// A tape as OpenTimelineIO (`Timeline.1` → `Stack.1` → one `Track.1` → `Clip.1`), in milliseconds (rate 1000).
///
/// - A clip's `source_range` is what its trims leave. It is missing where the length is unknown, and so is
///   `available_range`. A still has no `available_range`: its length is arbitrary.
/// - OpenTimelineIO centers a transition on a cut, and takes from both clips what is beyond it. Here two clips overlap
///   for the whole transition, so the cut is in its middle: the clip before ends half of it earlier, the one after
///   starts half of it later. The length of the track is that of the video (trap 20).
/// - A clip without a path has a `MissingReference.1`. A live picture plays its video.
/// - Everything else is in `metadata` under `mediactl`, with the names of `TapeDocument`.
struct TapeTimeline {
    var tape: TapeRecord
    var clips: [ClipRecord]

    var value: JSONValue {
        let track = Self.object(
            "Track.1",
            name: "clips",
            [
                "kind": .string("Video"), "source_range": .null, "effects": .array([]), "markers": .array([]),
                "children": .array(children),
            ]
        )
        let stack = Self.object(
            "Stack.1",
            name: "tracks",
            ["source_range": .null, "effects": .array([]), "markers": .array([]), "children": .array([track])]
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

    private var children: [JSONValue] {
        let timing = TapeTiming(tape: tape, clips: clips)
        var children: [JSONValue] = []
        for (index, clip) in clips.enumerated() {
            let before = index > 0 ? timing.overlaps[index - 1] : 0
            let after = timing.overlaps.dropFirst(index).first ?? 0
            // The part after the cut is the rest of the overlap, whose half may be odd.
            let range = timing.lengths[index].map { length in
                let begin = before / 2
                return Self.range(clip.trimmedStart + begin, length - begin - (after - after / 2))
            }
            children.append(Self.clip(clip, range: range ?? .null))
            if after > 0 { children.append(transition(after: index, milliseconds: after)) }
        }
        return children
    }

    private static func clip(_ clip: ClipRecord, range: JSONValue) -> JSONValue {
        let metadata: JSONObject = [
            "clip_id": .string(clip.id), "kind": .string(clip.kind.rawValue),
            "path_base64": TapeDocument.base64(clip.source),
            "trim_start_ms": .integer(clip.trimStartMilliseconds), "trim_end_ms": .integer(clip.trimEndMilliseconds),
            "rotate_quarter_turns": .integer(Int64(clip.rotateQuarterTurns)),
            "scale_override": JSONValue(clip.scaleOverride?.rawValue),
            "volume": clip.volume.map { .double($0) } ?? .null,
        ]
        return object(
            "Clip.1",
            name: String(decoding: clip.fileName, as: UTF8.self),
            metadata: metadata,
            [
                "source_range": range, "effects": .array([]), "markers": .array([]), "enabled": .bool(true),
                "media_reference": reference(clip),
            ]
        )
    }

    private static func reference(_ clip: ClipRecord) -> JSONValue {
        guard let path = clip.playedSource else {
            return object("MissingReference.1", name: "", ["available_range": .null])
        }
        let isStill = clip.playedSource == clip.source && clip.kind != .video
        let available = isStill ? nil : clip.durationMilliseconds.map { range(0, $0) }
        return object(
            "ExternalReference.1",
            name: "",
            ["target_url": .string(FileURL.text(of: path)), "available_range": available ?? .null]
        )
    }

    private func transition(after index: Int, milliseconds: Int64) -> JSONValue {
        let kind = tape.transition(after: index)
        return Self.object(
            "Transition.1",
            name: kind.rawValue,
            metadata: ["transition": .string(kind.rawValue), "duration_ms": .integer(milliseconds)],
            [
                "transition_type": .string(kind == .crossfade ? "SMPTE_Dissolve" : "Custom_Transition"),
                "in_offset": Self.time(milliseconds / 2),
                "out_offset": Self.time(milliseconds - milliseconds / 2),
            ]
        )
    }

    // MARK: Values

    private static func object(
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

    private static func range(_ start: Int64, _ length: Int64) -> JSONValue {
        .object([
            "OTIO_SCHEMA": .string("TimeRange.1"), "start_time": time(start), "duration": time(length),
        ])
    }

    private static func time(_ milliseconds: Int64) -> JSONValue {
        .object([
            "OTIO_SCHEMA": .string("RationalTime.1"), "rate": .double(1000), "value": .double(Double(milliseconds)),
        ])
    }
}

extension ClipRecord {
    /// The file to play: the video of a live picture, if it has one.
    var playedSource: [UInt8]? { kind == .live ? pairedSource ?? source : source }

    /// Where it starts in its file.
    var trimmedStart: Int64 { kind == .video ? trimStartMilliseconds : 0 }
}
