internal import Foundation
internal import Glibc
internal import MediaCore
internal import MediaFiles
public import MediaStore
internal import MediaSystem
internal import MediaTransport

/// A tape in a form that other programs read (tapes contract section 8). Paths are read, never files.
public enum TapeExport: String, Sendable, CaseIterable {
    /// Playlist: order only. Clips without a path are left out; a live picture is its still. Paths are the bytes that they
    /// are; one that a line cannot hold becomes a `file:` URL.
    case m3u8
    /// Everything that is known: see `TapeDocument`.
    case json
    /// OpenTimelineIO: order, trims and transitions: see `TapeTimeline`.
    case otio

    /// The bytes of the file.
    ///
    /// - Parameters:
    ///   - tape: The tape.
    ///   - clips: Its clips in order.
    /// - Returns: UTF-8, but for paths that are none, which a playlist has as they are.
    /// - Throws: `TapesError` `.nothingToExport` for a tape without clips that have a path.
    public func bytes(of tape: TapeRecord, clips: [ClipRecord]) throws(TapesError) -> [UInt8] {
        guard clips.contains(where: { $0.source != nil }) else {
            throw TapesError(.nothingToExport, detail: "no clip has a file", value: tape.id)
        }
        switch self {
        case .m3u8: return Self.playlist(of: tape, clips: clips).bytes
        case .json: return Array((TapeDocument(tape: tape, clips: clips).value.indented + "\n").utf8)
        case .otio: return Array((TapeTimeline(tape: tape, clips: clips).value.indented + "\n").utf8)
        }
    }

    /// The extension of the file, with its dot.
    public var fileExtension: String { "." + rawValue }

    private static func playlist(of tape: TapeRecord, clips: [ClipRecord]) -> M3UPlaylist {
        let entries = clips.compactMap { clip in
            clip.source.map { path in
                M3UPlaylist.Entry(
                    milliseconds: clip.kind == .video ? clip.durationMilliseconds : clip.imageMilliseconds,
                    name: clip.fileName,
                    location: M3UPlaylist.line(for: path)
                )
            }
        }
        return M3UPlaylist(title: tape.title, entries: entries)
    }
}

extension ClipRecord {
    /// The last component of its path; its id where it has none.
    var fileName: [UInt8] { source?.nameOfPath ?? Array(id.utf8) }
}

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

/// Where the clips of a tape lie in time: each begins where the one before ends, or earlier by a transition, in which both
/// are seen. All in milliseconds.
struct TapeTiming {
    /// How long each clip is seen; nil is unknown.
    let lengths: [Int64?]
    /// What each clip has in common with the next; one fewer than clips.
    let overlaps: [Int64]

    /// Times clips by what is known of them.
    init(tape: TapeRecord, clips: [ClipRecord]) {
        self.init(tape: tape, lengths: clips.map(\.shownMilliseconds))
    }

    /// Times clips by their lengths.
    init(tape: TapeRecord, lengths: [Int64?]) {
        self.lengths = lengths
        let wanted = tape.transition == .none ? 0 : Int64(tape.transitionMilliseconds)
        overlaps = zip(lengths, lengths.dropFirst()).map { Self.overlap(wanted, $0, $1) }
    }

    /// Never more than half of a clip, so that the transitions at its two ends do not meet.
    private static func overlap(_ wanted: Int64, _ before: Int64?, _ after: Int64?) -> Int64 {
        [before, after].compactMap { $0 }.reduce(wanted) { min($0, $1 / 2) }
    }

    /// The whole, with transitions taken off once (trap 20); nil when a clip's length is unknown.
    var total: Int64? {
        let known = lengths.compactMap { $0 }
        guard known.count == lengths.count else { return nil }
        return known.reduce(0, +) - overlaps.reduce(0, +)
    }
}

extension TapeRecord {
    /// The transition after a clip; never `.randomise`. What is chosen at random is the same for one tape every time.
    ///
    /// - Parameter index: Of the clip before it, from 0.
    /// - Returns: The tape's own, or one of the three that show something.
    func transition(after index: Int) -> Transition {
        guard transition == .randomise else { return transition }
        let choices: [Transition] = [.crossfade, .slideLeftToRight, .slideRightToLeft]
        return choices[Int(("\(id)#\(index)".utf8.fnv1a >> 32) % UInt64(choices.count))]
    }
}

/// The place of a file that an export writes, for playlists and videos alike.
public enum ExportTarget {
    /// Refuses a place where something would be lost. Blocks.
    ///
    /// - Parameters:
    ///   - path: The place, as bytes.
    ///   - isReplacing: Whether a file that has the name may go.
    ///   - originals: Paths of the originals of all tapes. None of them is ever replaced, under whatever name (rule R6).
    /// - Throws: `TapesError` `.targetUnusable` for an original, and for what is no regular file: a link itself, a
    ///   directory, a device; `.targetExists`.
    public static func check(
        _ path: [UInt8],
        replacing isReplacing: Bool,
        originals: [[UInt8]]
    ) throws(TapesError) {
        var named = stat()
        guard !path.contains(0) else { throw TapesError(.targetUnusable, detail: "no name has a NUL", path: path) }
        // Whatever else is wrong with the place shows when it is written to.
        guard lstat(path.map(CChar.init(bitPattern:)) + [0], &named) == 0 else { return }
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
    /// Whether a path leads to this very file.
    fileprivate func isFile(at path: [UInt8]) -> Bool {
        guard let other = FileIdentity(ofRegularFile: path) else { return false }
        return (device, inode) == (other.device, other.inode)
    }
}

/// A playlist in the extended M3U form: UTF-8, LF, one entry a medium. Names are made safe, so that none can begin a line
/// of its own; locations are bytes that the system opens, in whatever encoding they are.
struct M3UPlaylist {
    /// One medium.
    struct Entry {
        /// nil is unknown.
        var milliseconds: Int64?
        /// What a player shows.
        var name: [UInt8]
        /// A path, absolute or beginning with `./`; see `line(for:)`.
        var location: [UInt8]
    }

    var title: String
    var entries: [Entry]

    /// The bytes of the file.
    var bytes: [UInt8] {
        var lines: [[UInt8]] = [Array("#EXTM3U".utf8), Array("#PLAYLIST:\(TerminalText.escaped(title))".utf8)]
        for entry in entries {
            let name = TerminalText.escaped(entry.name)
            lines.append(Array("#EXTINF:\(Self.seconds(entry.milliseconds)),\(name)".utf8))
            lines.append(entry.location)
        }
        return Array(lines.map { $0 + [UInt8(ascii: "\n")] }.joined())
    }

    /// Whole seconds, as players of every age read them; at least 1 where anything is known, since 0 is no length to some.
    private static func seconds(_ milliseconds: Int64?) -> Int64 {
        guard let milliseconds else { return -1 }
        return max(1, (milliseconds + 500) / 1000)
    }

    /// The location of a file by its absolute path: the path itself, or, where a line cannot hold it, its URL.
    ///
    /// - Parameter path: Absolute, as bytes.
    /// - Returns: One line, without its end.
    static func line(for path: [UInt8]) -> [UInt8] {
        // A name that could steer a terminal, or that looks like another, is not written as it is.
        let isPlain = TerminalText.isPlain(path)
        // Players cut blanks at the end of a line off.
        if isPlain, let last = path.last, last != UInt8(ascii: " "), last != UInt8(ascii: "\t") { return path }
        return Array(FileURL.text(of: path).utf8)
    }
}

extension TerminalText {
    /// Whether the bytes hold no control and no format character; bytes that are no UTF-8 are no such characters.
    fileprivate static func isPlain(_ path: [UInt8]) -> Bool {
        var parser = Unicode.UTF8.ForwardParser()
        var iterator = path.makeIterator()
        while true {
            switch parser.parseScalar(from: &iterator) {
            case .valid(let encoded):
                let scalar = Unicode.UTF8.decode(encoded)
                if isDangerous(scalar) || scalar.properties.generalCategory == .format { return false }
            case .error: break
            case .emptyInput: return true
            }
        }
    }
}

/// URLs of local files (RFC 8089), made of bytes.
enum FileURL {
    /// `file:///…`; every byte that is not unreserved (RFC 3986 section 2.3) or a slash is percent-encoded.
    ///
    /// - Parameter path: Absolute, as bytes.
    /// - Returns: ASCII.
    static func text(of path: [UInt8]) -> String {
        let digits = Array("0123456789ABCDEF")
        return path.reduce(into: "file://") { text, byte in
            let scalar = Unicode.Scalar(byte)
            let isLetterOrDigit = scalar.isASCII && (scalar.properties.isAlphabetic || ("0"..."9").contains(scalar))
            if isLetterOrDigit || "-._~/".unicodeScalars.contains(scalar) {
                text.unicodeScalars.append(scalar)
            } else {
                text += "%\(digits[Int(byte >> 4)])\(digits[Int(byte & 15)])"
            }
        }
    }
}
