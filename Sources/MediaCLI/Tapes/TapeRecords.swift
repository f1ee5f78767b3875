internal import Foundation
internal import MediaCore
internal import MediaStore
internal import Tapes

extension JSONRenderer {
    /// In a dry run, a tape that the command would create does not have an ID.
    static func tape(_ tape: TapeRecord, isPlanned: Bool = false) -> JSONObject {
        [
            "tape_id": isPlanned ? .null : .string(tape.id), "title": .string(tape.title),
            "created_at": .time(tape.createdAt),
            "updated_at": .time(tape.updatedAt),
            "received_first_content": .bool(tape.hasReceivedFirstContent),
            "orientation": .string(tape.orientation.rawValue), "scale_mode": .string(tape.scaleMode.rawValue),
            "transition": .string(tape.transition.rawValue), "transition_ms": JSONValue(tape.transitionMilliseconds),
            "association": .string(tape.association.rawValue), "reason": JSONValue(tape.reason?.rawValue),
        ]
    }

    static func clip(_ clip: ClipRecord) -> JSONObject {
        [
            "clip_id": .string(clip.id), "tape_id": .string(clip.tapeID), "position": JSONValue(clip.position),
            "number": JSONValue(clip.number), "kind": .string(clip.kind.rawValue), "path": .path(clip.source),
            "path_base64": .pathBase64(clip.source), "paired_path": .path(clip.pairedSource),
            "paired_path_base64": .pathBase64(clip.pairedSource), "size_bytes": JSONValue(clip.size),
            "checksum_sha1": JSONValue(clip.sha1), "checksum_sha256": JSONValue(clip.sha256),
            "duration_ms": JSONValue(clip.durationMilliseconds),
            "trim_start_ms": .integer(clip.trimStartMilliseconds), "trim_end_ms": .integer(clip.trimEndMilliseconds),
            "rotate": JSONValue(clip.rotateQuarterTurns * 90), "scale": JSONValue(clip.scaleOverride?.rawValue),
            "volume": clip.volume.map { .verbatim("\($0)") } ?? .null,
            "image_ms": .integer(clip.imageMilliseconds), "association": .string(clip.association.rawValue),
            "reason": JSONValue(clip.reason?.rawValue), "attempts": JSONValue(clip.attempts),
            "next_attempt_at": .time(clip.nextAttemptAt),
        ]
    }
}

extension ClipRecord {
    /// Position as shown to users: the first clip is 1.
    var number: Int { position + 1 }
}

/// The text of `tapes` on standard output. Failures go to standard error.
extension TextRenderer {
    /// The state of a tape's album.
    static func words(for tape: TapeRecord) -> String {
        switch tape.association {
        case .none: "none"
        case .associated: "in the library"
        case .pending: "pending" + (tape.reason.map { " (\($0.words))" } ?? "")
        }
    }

    /// The path of the original, or the ID if the clip has none.
    static func name(of clip: ClipRecord) -> String { clip.source.map { TerminalText.escaped($0) } ?? brief(clip.id) }

    static func words(for kind: ClipRecord.Kind) -> String {
        kind.rawValue.replacing("_", with: " ")
    }
}
