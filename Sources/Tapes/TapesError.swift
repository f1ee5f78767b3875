/// Why something with a tape did not end well: facts for the caller to classify and to phrase. Trouble with an album is no
/// such error: it is a state of the tape (rule R9).
public struct TapesError: Error, Sendable, CustomStringConvertible {
    /// Stable codes; the raw values appear in `--json` output.
    public enum Code: String, Sendable, CaseIterable {
        // Naming.
        case tapeNotFound = "tape_not_found"
        case tapeAmbiguous = "tape_ambiguous"
        case clipNotFound = "clip_not_found"
        case titleEmpty = "title_empty"
        // Media.
        case fileNotFound = "file_not_found"
        case fileUnreadable = "file_unreadable"
        case notRegularFile = "not_regular_file"
        case emptyFile = "empty_file"
        case unknownMediaType = "unknown_media_type"
        // Values.
        case trimTooLong = "trim_too_long"
        case notForThisKind = "not_for_this_kind"
        case outOfRange = "out_of_range"
        // Albums, where the album is what was asked for.
        case albumNotFound = "album_not_found"
        case albumsOff = "albums_off"
        case libraryUnusable = "library_unusable"
        case albumTaken = "album_taken"
        // Exports.
        case nothingToExport = "nothing_to_export"
        case programMissing = "program_missing"
        case renderFailed = "render_failed"
        case targetExists = "target_exists"
        case targetUnusable = "target_unusable"
        case diskFull = "disk_full"
        // Ends.
        case storeUnusable = "store_unusable"
        case cancelled
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
    public init(
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
