/// Why something with a capture did not end well: facts for the caller to classify and to phrase.
public struct CaptureError: Error, Sendable, CustomStringConvertible {
    /// Stable codes; the raw values appear in `--json` output.
    public enum Code: String, Sendable, CaseIterable {
        // Input.
        case fileNotFound = "file_not_found"
        case fileUnreadable = "file_unreadable"
        case notRegularFile = "not_regular_file"
        case emptyFile = "empty_file"
        case unknownMediaType = "unknown_media_type"
        case depthMapInvalid = "depth_map_invalid"
        case depthRequired = "depth_required"
        case videoMembersMissing = "video_members_missing"
        case settingsUnusable = "settings_unusable"
        case privacyModeOn = "privacy_mode_on"
        case imageLibrariesMissing = "image_libraries_missing"
        case sourceChanged = "source_changed"
        // Payload and signing.
        case payloadTooLarge = "payload_too_large"
        case signingFailed = "signing_failed"
        case keyUnusable = "key_unusable"
        case counterExhausted = "counter_exhausted"
        // Device.
        case notRegistered = "not_registered"
        case alreadyRegistered = "already_registered"
        case enrolmentImpossible = "enrolment_impossible"
        // Answers (hash-only contract 1.3, 3.2, 6.2).
        case badRequest = "bad_request"
        case clockWrong = "clock_wrong"
        case assertionRefused = "assertion_refused"
        case requestSignatureRefused = "request_signature_refused"
        case unauthorized
        case forbidden
        case deviceUnknown = "device_unknown"
        case deviceUnverified = "device_unverified"
        case captureNotFound = "capture_not_found"
        case duplicate
        case tooManyRequests = "too_many_requests"
        case bodyTooLarge = "body_too_large"
        case serverError = "server_error"
        case redirected
        case unexpectedAnswer = "unexpected_answer"
        case unknownOutcome = "unknown_outcome"
        // Local records.
        case captureUnknown = "capture_unknown"
        case localOnly = "local_only"
        case recordUnusable = "record_unusable"
        case vaultUnusable = "vault_unusable"
        case diskFull = "disk_full"
        case mediaDamaged = "media_damaged"
        case mediaMissing = "media_missing"
        case targetUnusable = "target_unusable"
        case targetExists = "target_exists"
        case hashMismatch = "hash_mismatch"
        case storeUnusable = "store_unusable"
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
    /// The server's `error.code`, when it gave one.
    public var serverCode: String?
    /// Whether the same call may succeed later.
    public var isRetryable: Bool
    /// Local path concerned, as bytes.
    public var path: [UInt8]?
    /// The offending value as given, or the id concerned.
    public var value: String?
    /// Sizes of a body's parts in bytes, for `.payloadTooLarge`.
    public var parts: [(name: String, byteCount: Int)]
    /// The error of a lower layer (`StoreError`, `TransportError` …).
    public var underlying: (any Error & Sendable)?

    /// Makes an error.
    public init(
        _ code: Code,
        detail: String = "",
        httpStatus: Int? = nil,
        serverCode: String? = nil,
        isRetryable: Bool = false,
        path: [UInt8]? = nil,
        value: String? = nil,
        parts: [(name: String, byteCount: Int)] = [],
        underlying: (any Error & Sendable)? = nil
    ) {
        self.code = code
        self.detail = detail
        self.httpStatus = httpStatus
        self.serverCode = serverCode
        self.isRetryable = isRetryable
        self.path = path
        self.value = value
        self.parts = parts
        self.underlying = underlying
    }

    /// Code and detail, for logs.
    public var description: String {
        detail.isEmpty ? code.rawValue : "\(code.rawValue): \(detail)"
    }
}
