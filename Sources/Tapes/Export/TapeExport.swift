public import MediaStore

/// A tape in a form that other programs read (tapes contract section 8). Paths are read, never files.
public enum TapeExport: String, Sendable, CaseIterable {
    /// Playlist: order only.
    case m3u8
    /// Everything that is known; documented in docs/tapes.md.
    case json
    /// OpenTimelineIO: order and trims.
    case otio

    /// The bytes of the file.
    ///
    /// - Parameters:
    ///   - tape: The tape.
    ///   - clips: Its clips in order.
    /// - Throws: `TapesError` `.nothingToExport` for a tape without clips that have a path.
    public func bytes(of tape: TapeRecord, clips: [ClipRecord]) throws(TapesError) -> [UInt8] {
        throw TapesError(.internalError, detail: "not there yet")
    }

    /// The extension of the file, with its dot.
    public var fileExtension: String { "." + rawValue }
}
