public import MediaStore
public import MediaTransport

/// Why something with a PhotoSync server did not end well: facts for the caller to classify and to phrase.
public struct PhotoSyncError: Error, Sendable, CustomStringConvertible {
    /// Stable codes; the raw values appear in `--json` output.
    public enum Code: String, Sendable, CaseIterable {
        // Before anything is sent.
        case notLoggedIn = "not_logged_in"
        case noDevice = "no_device"
        case invalidDate = "invalid_date"
        case fileNotFound = "file_not_found"
        case fileUnreadable = "file_unreadable"
        case notRegularFile = "not_regular_file"
        case emptyFile = "empty_file"
        case fileTooLarge = "file_too_large"
        case unknownExtension = "unknown_extension"
        case unknownPhoto = "unknown_photo"
        case targetUnusable = "target_unusable"
        case diskFull = "disk_full"
        case storeUnusable = "store_unusable"
        case neverSynchronized = "never_synchronized"
        // Answers (photosync contract sections 0, 1.1, 3.3).
        case badRequest = "bad_request"
        case bodyTooSlow = "body_too_slow"
        case invalidAPIKey = "invalid_api_key"
        case forbidden = "forbidden"
        case notFound = "not_found"
        case setupRequired = "setup_required"
        case serverError = "server_error"
        case keyNotRotated = "key_not_rotated"
        case invalidDevice = "invalid_device"
        case redirected = "redirected"
        case unexpectedAnswer = "unexpected_answer"
        // What the listing shows.
        case stubServer = "stub_server"
        case listingIncomplete = "listing_incomplete"
        case repeatedCursor = "repeated_cursor"
        case ownershipDefect = "ownership_defect"
        case notOwned = "not_owned"
        // Integrity.
        case checksumMismatch = "checksum_mismatch"
        case lengthMismatch = "length_mismatch"
        case sourceChanged = "source_changed"
        case targetExists = "target_exists"
        // Ends.
        case transport
        case cancelled
        case busy
        case internalError = "internal_error"
    }

    /// What happened.
    public var code: Code
    /// What the server, the system or the rule said. May hold control characters; escape before printing.
    public var detail: String
    /// Status of the answer, when there was one.
    public var httpStatus: Int?
    /// Whether the same call may succeed later.
    public var isRetryable: Bool
    /// Local path concerned, as bytes.
    public var path: [UInt8]?
    /// The offending value as given.
    public var value: String?
    /// The limit that was passed, in bytes.
    public var limit: Int64?
    /// The photo concerned.
    public var photoID: String?
    /// The store's own error.
    public var store: StoreError?
    /// The transport's own error, for `.transport`.
    public var transport: TransportError?

    /// Makes an error.
    public init(
        _ code: Code,
        detail: String = "",
        httpStatus: Int? = nil,
        isRetryable: Bool = false,
        path: [UInt8]? = nil,
        value: String? = nil,
        limit: Int64? = nil,
        photoID: String? = nil,
        store: StoreError? = nil,
        transport: TransportError? = nil
    ) {
        self.code = code
        self.detail = detail
        self.httpStatus = httpStatus
        self.isRetryable = isRetryable
        self.path = path
        self.value = value
        self.limit = limit
        self.photoID = photoID
        self.store = store
        self.transport = transport
    }

    /// Code and detail, for logs.
    public var description: String {
        detail.isEmpty ? code.rawValue : "\(code.rawValue): \(detail)"
    }
}
