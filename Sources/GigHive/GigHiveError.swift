public import MediaStore
public import MediaTransport

/// Why an upload or a deletion did not end well: facts for the caller to classify and to phrase.
public struct GigHiveError: Error, Sendable, CustomStringConvertible {
    /// Stable codes; the raw values appear in `--json` output.
    public enum Code: String, Sendable, CaseIterable {
        // Found before anything is sent.
        case invalidDetail = "invalid_detail"
        case fileNotFound = "file_not_found"
        case fileUnreadable = "file_unreadable"
        case isDirectory = "is_directory"
        case notRegularFile = "not_regular_file"
        case emptyFile = "empty_file"
        case fileTooLarge = "file_too_large"
        case unknownExtension = "unknown_extension"
        case uploadInProgress = "upload_in_progress"
        case storeUnusable = "store_unusable"
        // Answers.
        case badRequest = "bad_request"
        case unauthorized = "unauthorized"
        case forbidden = "forbidden"
        case notFound = "not_found"
        case requestTimeout = "request_timeout"
        case payloadTooLarge = "payload_too_large"
        case unsupportedMedia = "unsupported_media"
        case locked = "locked"
        case rateLimited = "rate_limited"
        case serverError = "server_error"
        case redirected = "redirected"
        case unexpectedAnswer = "unexpected_answer"
        // Network.
        case unknownHost = "unknown_host"
        case cannotConnect = "cannot_connect"
        case tlsFailed = "tls_failed"
        case certificateUntrusted = "certificate_untrusted"
        case certificateNameMismatch = "certificate_name_mismatch"
        case pinnedKeyMismatch = "pinned_key_mismatch"
        case networkTimeout = "network_timeout"
        case connectionLost = "connection_lost"
        case outcomeUnknown = "outcome_unknown"
        // Integrity.
        case checksumMismatch = "checksum_mismatch"
        case sourceChanged = "source_changed"
        // Tokens.
        case tokenLost = "token_lost"
        case tokenNotStored = "token_not_stored"
        case invalidDeleteToken = "invalid_delete_token"
        case noDeleteToken = "no_delete_token"
        case idReused = "id_reused"
        case notDeleted = "not_deleted"
        case adminUnverified = "admin_unverified"
        // Resumable uploads.
        case tusUnavailable = "tus_unavailable"
        case uploadExpired = "upload_expired"
        case notResumable = "not_resumable"
        // Guests.
        case invalidEventLink = "invalid_event_link"
        case termsNotAccepted = "terms_not_accepted"
        // Ends.
        case cancelled
        case internalError = "internal_error"
    }

    /// Whose credentials a deletion needs (gighive contract 5.1 and 5.2).
    public enum NeededLogin: Sendable, Equatable {
        /// A deletion by token.
        case uploader
        /// A deletion without token.
        case admin
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
    /// The detail field concerned (`label`, `event_date`, …).
    public var field: String?
    /// The offending value as given.
    public var value: String?
    /// The limit that was passed, in the field's unit (bytes, scalars).
    public var limit: Int64?
    /// The server's id concerned.
    public var fileID: Int64?
    /// The rescue file that still holds a reply.
    public var rescuePath: String?
    /// Other hosts of the token store that know the id.
    public var otherHosts: [String]
    /// The login that the request was made for, when the server took it for one of another user.
    public var neededLogin: NeededLogin?
    /// `Retry-After`, in seconds.
    public var retryAfterSeconds: Int?
    /// The store's own error.
    public var store: StoreError?
    /// The transport's own error.
    public var transport: TransportError?

    /// Makes an error.
    public init(
        _ code: Code,
        detail: String = "",
        httpStatus: Int? = nil,
        isRetryable: Bool = false,
        path: [UInt8]? = nil,
        field: String? = nil,
        value: String? = nil,
        limit: Int64? = nil,
        fileID: Int64? = nil,
        rescuePath: String? = nil,
        otherHosts: [String] = [],
        neededLogin: NeededLogin? = nil,
        retryAfterSeconds: Int? = nil,
        store: StoreError? = nil,
        transport: TransportError? = nil
    ) {
        self.code = code
        self.detail = detail
        self.httpStatus = httpStatus
        self.isRetryable = isRetryable
        self.path = path
        self.field = field
        self.value = value
        self.limit = limit
        self.fileID = fileID
        self.rescuePath = rescuePath
        self.otherHosts = otherHosts
        self.neededLogin = neededLogin
        self.retryAfterSeconds = retryAfterSeconds
        self.store = store
        self.transport = transport
    }

    /// Code and detail, for logs.
    public var description: String {
        detail.isEmpty ? code.rawValue : "\(code.rawValue): \(detail)"
    }
}
