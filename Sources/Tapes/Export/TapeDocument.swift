internal import Foundation
internal import MediaCore
internal import MediaStore
internal import MediaTransport

/// A tape with every setting as one JSON object, schema `mediactl.tape-export/1`. All keys are always there; what is not
/// known, or does not apply, is null. Times are RFC 3339 in UTC with milliseconds.
///
/// - `schema`: `mediactl.tape-export/1`
/// - `tape`: object
///   - `id`, `title`, `created_at`, `updated_at`
///   - `orientation`: `portrait`, `landscape`
///   - `scale_mode`: `fit`, `fill`
///   - `transition`: `none`, `crossfade`, `slide_lr`, `slide_rl`, `randomise`
///   - `transition_ms`: 100 to 2000
///   - `duration_ms`: of the video that `--render` would make; null when a clip's is not known
///   - `association`: `none`, `pending_association`, `associated`; `association_reason`: a code of contract 2.3
/// - `clips`: array of objects, in the order of the tape
///   - `id`, `position` (from 0)
///   - `kind`: `video`, `image`, `live`
///   - `path`: absolute, with U+FFFD for bytes that are no UTF-8; `path_base64`: its bytes in base64 then, else null
///   - `paired_path`, `paired_path_base64`: the video of a live picture, likewise
///   - `size_bytes`, `modified_at_ns` (since 1970), `sha1`, `sha256`: of the file when its checksums were made
///   - `duration_ms`: of the whole file
///   - `trim_start_ms`, `trim_end_ms`: cut off at both ends
///   - `rotate_quarter_turns`: 0 to 3, clockwise
///   - `scale_override`: `fit`, `fill`, or null for the tape's
///   - `volume`: 0 to 1, null for full
///   - `image_ms`: how long a still is shown
///   - `association`: `pending`, `linked`, `failed`, `unlinkable`; `association_reason`; `attempts`; `next_attempt_at`
struct TapeDocument {
    var tape: TapeRecord
    var clips: [ClipRecord]

    /// The object.
    var value: JSONValue {
        .object([
            "schema": .string("mediactl.tape-export/1"),
            "tape": tapeValue,
            "clips": .array(clips.map(Self.value)),
        ])
    }

    private var tapeValue: JSONValue {
        .object([
            "id": .string(tape.id),
            "title": .string(tape.title),
            "created_at": Self.time(tape.createdAt),
            "updated_at": Self.time(tape.updatedAt),
            "orientation": .string(tape.orientation.rawValue),
            "scale_mode": .string(tape.scaleMode.rawValue),
            "transition": .string(tape.transition.rawValue),
            "transition_ms": .integer(Int64(tape.transitionMilliseconds)),
            "duration_ms": Self.number(TapeRendering.milliseconds(of: tape, clips: clips)),
            "association": .string(tape.association.rawValue),
            "association_reason": Self.text(tape.reason?.rawValue),
        ])
    }

    private static func value(_ clip: ClipRecord) -> JSONValue {
        .object([
            "id": .string(clip.id),
            "position": .integer(Int64(clip.position)),
            "kind": .string(clip.kind.rawValue),
            "path": path(clip.source),
            "path_base64": base64(clip.source),
            "paired_path": path(clip.pairedSource),
            "paired_path_base64": base64(clip.pairedSource),
            "size_bytes": number(clip.size),
            "modified_at_ns": number(clip.modifiedNanoseconds),
            "sha1": text(clip.sha1),
            "sha256": text(clip.sha256),
            "duration_ms": number(clip.durationMilliseconds),
            "trim_start_ms": .integer(clip.trimStartMilliseconds),
            "trim_end_ms": .integer(clip.trimEndMilliseconds),
            "rotate_quarter_turns": .integer(Int64(clip.rotateQuarterTurns)),
            "scale_override": text(clip.scaleOverride?.rawValue),
            "volume": clip.volume.map { .double($0) } ?? .null,
            "image_ms": .integer(clip.imageMilliseconds),
            "association": .string(clip.association.rawValue),
            "association_reason": text(clip.reason?.rawValue),
            "attempts": .integer(Int64(clip.attempts)),
            "next_attempt_at": clip.nextAttemptAt.map(time) ?? .null,
        ])
    }

    // MARK: Values

    static func text(_ text: String?) -> JSONValue { text.map { .string($0) } ?? .null }

    static func number(_ number: Int64?) -> JSONValue { number.map { .integer($0) } ?? .null }

    /// Lossless only where `base64` is null.
    static func path(_ path: [UInt8]?) -> JSONValue { text(path.map { String(decoding: $0, as: UTF8.self) }) }

    /// The bytes where they are no UTF-8.
    static func base64(_ path: [UInt8]?) -> JSONValue {
        guard let path, String(validating: path, as: UTF8.self) == nil else { return .null }
        return .string(Data(path).base64EncodedString())
    }

    private static func time(_ date: Date) -> JSONValue {
        .string(RFC3339.text(milliseconds: Int64((date.timeIntervalSince1970 * 1000).rounded())))
    }
}
