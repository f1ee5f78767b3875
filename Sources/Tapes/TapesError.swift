internal import MediaStore

/// Why something with a tape did not end well: facts for the caller to classify and to phrase. Trouble with an album is no
/// such error: it is a state of the tape (rule R9).
public struct TapesError: Error, Sendable, CustomStringConvertible {
    /// Stable codes; the raw values appear in `--json` output.
    public enum Code: String, Sendable, CaseIterable {
        // Naming.
        /// No tape has this title or id, or it was deleted meanwhile.
        case tapeNotFound = "tape_not_found"
        /// Several tapes may be meant; see `candidates`.
        case tapeAmbiguous = "tape_ambiguous"
        /// The tape has no such clip, or several may be meant.
        case clipNotFound = "clip_not_found"
        /// Nothing is left of the title after trimming.
        case titleEmpty = "title_empty"
        // Media.
        /// There is no such file.
        case fileNotFound = "file_not_found"
        /// The file cannot be opened or read.
        case fileUnreadable = "file_unreadable"
        /// It is a directory, a FIFO, a socket or a device.
        case notRegularFile = "not_regular_file"
        /// The file has no bytes.
        case emptyFile = "empty_file"
        /// The content is neither a picture nor a video.
        case unknownMediaType = "unknown_media_type"
        // Values.
        /// The trims leave nothing of the clip.
        case trimTooLong = "trim_too_long"
        /// The setting is for clips of another kind: trims are of videos, durations of pictures.
        case notForThisKind = "not_for_this_kind"
        /// A value outside its range; `value` is it, `detail` the range.
        case outOfRange = "out_of_range"
        // Albums, where the album is what was asked for.
        /// The library has no album with this id.
        case albumNotFound = "album_not_found"
        /// Albums are switched off (`AlbumService.Policy`).
        case albumsOff = "albums_off"
        /// The library does not let the album be looked at or made; see `underlying` (`AlbumError`).
        case libraryUnusable = "library_unusable"
        /// The album is that of another tape, the first of `candidates`.
        case albumTaken = "album_taken"
        // Exports.
        /// No clip of the tape has a file, or the trims leave no picture.
        case nothingToExport = "nothing_to_export"
        /// `ffmpeg` or `ffprobe` is not in `PATH`.
        case programMissing = "program_missing"
        /// ffmpeg failed, or made something else than it should have; `detail` has its words.
        case renderFailed = "render_failed"
        /// The target of an export exists, and replacing it was not asked for.
        case targetExists = "target_exists"
        /// An export cannot be written there; an original of a tape is never replaced.
        case targetUnusable = "target_unusable"
        /// No space left for an export. Nothing of it stays behind.
        case diskFull = "disk_full"
        // Ends.
        /// `library.sqlite` failed; see `underlying` (`StoreError`).
        case storeUnusable = "store_unusable"
        /// The task was cancelled. What was kept stays.
        case cancelled
        /// A mistake of this library's.
        case internalError = "internal_error"
    }

    /// What happened.
    public var code: Code
    /// What the system or the rule said. May hold control characters; escape before printing.
    public var detail: String
    /// Local path concerned, as bytes.
    public var path: [UInt8]?
    /// The offending value as given, or the id concerned.
    public var value: String?
    /// Ids that the value may have meant, for `.tapeAmbiguous`.
    public var candidates: [String]
    /// The error of a lower layer (`StoreError`, `AlbumError` …).
    public var underlying: (any Error & Sendable)?

    /// Makes an error.
    package init(
        _ code: Code,
        detail: String = "",
        path: [UInt8]? = nil,
        value: String? = nil,
        candidates: [String] = [],
        underlying: (any Error & Sendable)? = nil
    ) {
        self.code = code
        self.detail = detail
        self.path = path
        self.value = value
        self.candidates = candidates
        self.underlying = underlying
    }

    /// Code and detail, for logs.
    public var description: String { detail.isEmpty ? code.rawValue : "\(code.rawValue): \(detail)" }
}

extension TapesError {
    /// The local store cannot be used.
    init(_ error: StoreError) {
        self.init(.storeUnusable, detail: error.description, path: Array(error.path.utf8), underlying: error)
    }
}
