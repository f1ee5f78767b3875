internal import MediaCore
internal import MediaFiles
public import MediaStore
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
