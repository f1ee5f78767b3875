internal import Foundation
internal import Glibc
internal import MediaCore
internal import MediaFiles
public import MediaStore
internal import MediaSystem
internal import MediaTransport

/// Exports a tape in the formats of other programs (tapes contract section 8). Uses paths but never reads files: a
/// timeline gets their properties from `ClipMedia.read`.
public enum TapeExport: String, Sendable, CaseIterable {
    /// Playlist: order only. Clips without a path are omitted; a live photo is represented by its still. Paths are
    /// written as bytes; a path that a line cannot represent becomes a `file:` URL.
    case m3u8
    /// All properties; see `TapeDocument`.
    case json
    /// OpenTimelineIO: order, trims, transitions and audio; see `TapeTimeline`.
    case otio

    /// Generates the content of the file: UTF-8, except that the paths in a playlist may contain arbitrary bytes.
    ///
    /// `clips` are in order. For a timeline, a video has the duration of its current file, and `media` contains the
    /// properties of the files by clip ID; without these, its times are in milliseconds.
    ///
    /// - Throws: `TapesError` `.nothingToExport` if none of the tape's clips has a path; for a timeline, `.trimTooLong`
    ///   with the file of a video that is not longer than its trims.
    public func bytes(
        of tape: TapeRecord,
        clips: [ClipRecord],
        media: [String: ClipMedia] = [:]
    ) throws(TapesError) -> [UInt8] {
        guard clips.contains(where: { $0.source != nil }) else {
            throw TapesError(.nothingToExport, detail: "no clip has a file", value: tape.id)
        }
        switch self {
        case .m3u8: return TapePlaylist.bytes(of: tape, clips: clips, links: [:])
        case .json: return Array((TapeDocument(tape: tape, clips: clips).value.indented + "\n").utf8)
        case .otio:
            for clip in clips where clip.kind == .video {
                // The length that limits the trims; audio may be longer than the video.
                guard let length = clip.durationMilliseconds ?? media[clip.id]?.milliseconds else { continue }
                _ = try clip.shownMilliseconds(ofFile: length)
            }
            return Array((TapeTimeline(tape: tape, clips: clips, media: media).value.indented + "\n").utf8)
        }
    }
}

extension ClipRecord {
    var fileName: [UInt8] { source?.nameOfPath ?? Array(id.utf8) }

    /// Shown duration, in milliseconds, of a video whose file currently has this length.
    ///
    /// - Throws: `.trimTooLong` with the path, if the file has been replaced by a shorter one since it was trimmed.
    func shownMilliseconds(ofFile length: Int64) throws(TapesError) -> Int64 {
        let shown = length - trimStartMilliseconds - trimEndMilliseconds
        guard shown > 0 else {
            throw TapesError(.trimTooLong, detail: "the trims exceed its length of \(length) ms", path: source)
        }
        return shown
    }
}

/// A tape with all properties as one JSON object, schema `mediactl.tape-export/1`. All keys are always present; unknown
/// and inapplicable values are null. Times are RFC 3339 in UTC with milliseconds.
///
/// - `schema`: `mediactl.tape-export/1`
/// - `tape`: object
///   - `id`, `title`, `created_at`, `updated_at`
///   - `orientation`: `portrait`, `landscape`
///   - `scale_mode`: `fit`, `fill`
///   - `transition`: `none`, `crossfade`, `slide_lr`, `slide_rl`, `randomise`
///   - `transition_ms`: 100 to 2000
///   - `duration_ms`: of the video that `--render` would create; null if the duration of a clip is unknown
///   - `association`: `none`, `pending_association`, `associated`; `association_reason`: a code of contract 2.3
/// - `clips`: array of objects, in the order of the tape
///   - `id`, `position` (from 0)
///   - `kind`: `video`, `image`, `live`
///   - `path`: absolute, with U+FFFD for invalid UTF-8; `path_base64`: its bytes in base64 if so, otherwise null
///   - `paired_path`, `paired_path_base64`: the video of a live photo, in the same form
///   - `size_bytes`, `modified_at_ns` (since 1970), `sha1`, `sha256`: of the file when its checksums were computed
///   - `duration_ms`: of the whole file
///   - `trim_start_ms`, `trim_end_ms`: removed at both ends
///   - `rotate_quarter_turns`: 0 to 3, clockwise
///   - `scale_override`: `fit`, `fill`, or null for the tape's
///   - `volume`: 0 to 1, null for full
///   - `image_ms`: display duration of a still
///   - `association`: `pending`, `linked`, `failed`, `unlinkable`; `association_reason`; `attempts`; `next_attempt_at`
struct TapeDocument {
    var tape: TapeRecord
    var clips: [ClipRecord]

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
            "duration_ms": JSONValue(TapeRendering.milliseconds(of: tape, clips: clips)),
            "association": .string(tape.association.rawValue),
            "association_reason": JSONValue(tape.reason?.rawValue),
        ])
    }

    private static func value(_ clip: ClipRecord) -> JSONValue {
        .object([
            "id": .string(clip.id),
            "position": .integer(Int64(clip.position)),
            "kind": .string(clip.kind.rawValue),
            "path": .path(clip.source),
            "path_base64": .pathBase64(clip.source),
            "paired_path": .path(clip.pairedSource),
            "paired_path_base64": .pathBase64(clip.pairedSource),
            "size_bytes": JSONValue(clip.size),
            "modified_at_ns": JSONValue(clip.modifiedNanoseconds),
            "sha1": JSONValue(clip.sha1),
            "sha256": JSONValue(clip.sha256),
            "duration_ms": JSONValue(clip.durationMilliseconds),
            "trim_start_ms": .integer(clip.trimStartMilliseconds),
            "trim_end_ms": .integer(clip.trimEndMilliseconds),
            "rotate_quarter_turns": .integer(Int64(clip.rotateQuarterTurns)),
            "scale_override": JSONValue(clip.scaleOverride?.rawValue),
            "volume": clip.volume.map { .double($0) } ?? .null,
            "image_ms": .integer(clip.imageMilliseconds),
            "association": .string(clip.association.rawValue),
            "association_reason": JSONValue(clip.reason?.rawValue),
            "attempts": .integer(Int64(clip.attempts)),
            "next_attempt_at": clip.nextAttemptAt.map(time) ?? .null,
        ])
    }

    private static func time(_ date: Date) -> JSONValue {
        .string(RFC3339.text(milliseconds: Int64((date.timeIntervalSince1970 * 1000).rounded())))
    }
}

/// Times of the clips of a tape in milliseconds: each clip starts where the previous one ends, or earlier during a
/// transition that shows both.
struct TapeTiming {
    /// Shown duration of each clip; nil if unknown.
    let lengths: [Int64?]
    /// Overlap of each clip with the next; one fewer than the number of clips.
    let overlaps: [Int64]

    init(tape: TapeRecord, clips: [ClipRecord]) {
        self.init(tape: tape, lengths: clips.map(\.shownMilliseconds))
    }

    init(tape: TapeRecord, lengths: [Int64?]) {
        self.lengths = lengths
        let wanted = tape.transition == .none ? 0 : Int64(tape.transitionMilliseconds)
        overlaps = zip(lengths, lengths.dropFirst()).map { Self.overlap(wanted, $0, $1) }
    }

    /// At most half of a clip, so the transitions at its two ends do not overlap.
    private static func overlap(_ wanted: Int64, _ before: Int64?, _ after: Int64?) -> Int64 {
        [before, after].compactMap { $0 }.reduce(wanted) { min($0, $1 / 2) }
    }

    /// The total duration, counting transitions once (trap 20); nil if a clip's duration is unknown.
    var total: Int64? {
        let known = lengths.compactMap { $0 }
        guard known.count == lengths.count else { return nil }
        return known.reduce(0, +) - overlaps.reduce(0, +)
    }
}

extension TapeRecord {
    /// The transition after a clip; never `.randomise`. A random choice is always the same for a given tape.
    func transition(after index: Int) -> Transition {
        guard transition == .randomise else { return transition }
        let choices: [Transition] = [.crossfade, .slideLeftToRight, .slideRightToLeft]
        return choices[Int(("\(id)#\(index)".utf8.fnv1a >> 32) % UInt64(choices.count))]
    }
}

/// The target file of an export, for playlists and videos.
public enum ExportTarget {
    /// Rejects a target if writing it would lose data. The `originals` (of all tapes) are never replaced, under any
    /// name (rule R6). Blocks.
    ///
    /// - Throws: `TapesError` `.targetUnusable` for an original, and for anything other than a regular file, such as a
    ///   link, a directory or a device; `.targetExists`.
    public static func check(
        _ path: [UInt8],
        replacing isReplacing: Bool,
        originals: [[UInt8]]
    ) throws(TapesError) {
        var named = stat()
        guard !path.contains(0) else { throw TapesError(.targetUnusable, detail: "the name contains NUL", path: path) }
        // Other problems are detected when the file is written.
        guard lstat(path.cString, &named) == 0 else { return }
        if let file = FileIdentity(ofRegularFile: path), originals.contains(where: { file.isFile(at: $0) }) {
            throw TapesError(.targetUnusable, detail: "it is an original of a tape", path: path)
        }
        guard isReplacing else { throw TapesError(.targetExists, path: path) }
        guard named.st_mode & S_IFMT == S_IFREG else {
            throw TapesError(.targetUnusable, detail: "it is not a regular file", path: path)
        }
    }
}

extension FileIdentity {
    fileprivate func isFile(at path: [UInt8]) -> Bool {
        guard let other = FileIdentity(ofRegularFile: path) else { return false }
        return (device, inode) == (other.device, other.inode)
    }
}

/// A playlist in extended M3U: UTF-8, LF, one entry per clip. Names are escaped and cannot start a new line; locations
/// are bytes that the system can open, in any encoding.
struct M3UPlaylist {
    struct Entry {
        var milliseconds: Int64?
        var name: [UInt8]
        /// A path, absolute or starting with `./`; see `line(for:)`.
        var location: [UInt8]
    }

    var title: String
    var entries: [Entry]

    var bytes: [UInt8] {
        var lines: [[UInt8]] = [Array("#EXTM3U".utf8), Array("#PLAYLIST:\(TerminalText.escaped(title))".utf8)]
        for entry in entries {
            let name = TerminalText.escaped(entry.name)
            lines.append(Array("#EXTINF:\(Self.seconds(entry.milliseconds)),\(name)".utf8))
            lines.append(entry.location)
        }
        return Array(lines.map { $0 + [UInt8(ascii: "\n")] }.joined())
    }

    /// Whole seconds, for old players; at least 1 if known, since some treat 0 as unknown.
    private static func seconds(_ milliseconds: Int64?) -> Int64 {
        guard let milliseconds else { return -1 }
        return max(1, (milliseconds + 500) / 1000)
    }

    /// The location of a file: its path, or its URL if a line cannot represent the path.
    static func line(for path: [UInt8]) -> [UInt8] {
        // A name that could control a terminal, or that looks like a different name, is encoded.
        let isPlain = TerminalText.isPlain(path)
        // Players remove whitespace at the end of a line.
        if isPlain, let last = path.last, last != UInt8(ascii: " "), last != UInt8(ascii: "\t") { return path }
        return Array(FileURL.text(of: path).utf8)
    }
}

extension TerminalText {
    /// Whether the path has no control or format characters; invalid UTF-8 is allowed.
    fileprivate static func isPlain(_ path: [UInt8]) -> Bool {
        // Invalid bytes become U+FFFD, which is neither a control nor a format character.
        String(decoding: path, as: UTF8.self).unicodeScalars
            .allSatisfy { !isDangerous($0) && $0.properties.generalCategory != .format }
    }
}

enum FileURL {
    /// `file:///…`; every byte that is not unreserved (RFC 3986 section 2.3) or a slash is percent-encoded.
    static func text(of path: [UInt8]) -> String { "file://" + PercentEncoding.encode(path: path) }
}
