/// Why something with a capture did not end well: facts for the caller to classify and to phrase.
public struct CaptureError: Error, Sendable, CustomStringConvertible {
    /// Stable codes; the raw values appear in `--json` output.
    public enum Code: String, Sendable, CaseIterable {
        // Input.
        /// There is no such file; also for a full upload of which only a digest was given.
        case fileNotFound = "file_not_found"
        /// The file cannot be opened or read.
        case fileUnreadable = "file_unreadable"
        /// It is a directory, a FIFO, a socket or a device.
        case notRegularFile = "not_regular_file"
        /// The media file has no bytes.
        case emptyFile = "empty_file"
        /// Neither photo nor video, or not the type that was said.
        case unknownMediaType = "unknown_media_type"
        /// The depth map cannot be read, or does not fit the capture.
        case depthMapInvalid = "depth_map_invalid"
        /// There is no depth map, and leaving it out was not asked for.
        case depthRequired = "depth_required"
        /// Hash chain, frame count or duration of a video is missing or impossible.
        case videoMembersMissing = "video_members_missing"
        /// The file of the privacy settings cannot be read or understood: nothing is sent by guessed rules.
        case settingsUnusable = "settings_unusable"
        /// The media was to be sent, and the privacy settings forbid that.
        case privacyModeOn = "privacy_mode_on"
        /// A depth map in PNG, in a build without the trait `ImageLibraries`.
        case imageLibrariesMissing = "image_libraries_missing"
        /// The file changed while it was read, or between reading and sending. Nothing of it was sent as true.
        case sourceChanged = "source_changed"
        // Payload and signing.
        /// The body would have `HashOnlyBody.byteLimit` bytes or more, and `parts` says what takes the room; or 413; or a full
        /// upload larger than such servers take, which is found before anything is sent.
        case payloadTooLarge = "payload_too_large"
        /// The key or the signing program made no signature, or none that its public key verifies.
        case signingFailed = "signing_failed"
        /// The key cannot be read, is no P-256 key, or is not the one that was registered.
        case keyUnusable = "key_unusable"
        /// The signature counter of the device has no next value: the device must be registered anew.
        case counterExhausted = "counter_exhausted"
        // Device.
        /// This machine is no device of the server.
        case notRegistered = "not_registered"
        /// This machine is a device there already, or the server has the key under another one (409).
        case alreadyRegistered = "already_registered"
        /// The server takes no device of this platform or with this evidence (422 among others).
        case enrolmentImpossible = "enrolment_impossible"
        // Answers (hash-only contract 1.3, 3.2, 6.2).
        /// The server refused the request itself: any 400 to 499 without a code of its own here.
        case badRequest = "bad_request"
        /// The server finds the time of the request too far from its own; `value` is its `Date`, when it sent one.
        case clockWrong = "clock_wrong"
        /// The server does not accept the signature over the capture; it does not say why.
        case assertionRefused = "assertion_refused"
        /// The server does not accept the signature of the request, or has seen its counter before.
        case requestSignatureRefused = "request_signature_refused"
        /// 401 without a code of its own here, or `DEVICE_AUTH_REQUIRED`.
        case unauthorized
        /// 403: the device may not do this.
        case forbidden
        /// The server does not know the device.
        case deviceUnknown = "device_unknown"
        /// The server takes nothing from a device of this level.
        case deviceUnverified = "device_unverified"
        /// The server has no such capture, or none with this hash.
        case captureNotFound = "capture_not_found"
        /// The server has this hash already, from another device or as another capture (409).
        case duplicate
        /// 404 without a more specific code: a wrong address, or another server.
        case notFound = "not_found"
        /// 408: the server waited too long for the request.
        case requestTimeout = "request_timeout"
        /// 409 in response to a request that creates nothing.
        case conflict
        /// 415: the server does not accept this type of body.
        case unsupportedMedia = "unsupported_media"
        /// 423: locked on the server.
        case locked
        /// 429: the server asks for fewer requests.
        case rateLimited = "rate_limited"
        /// 503, and any 5xx after which the server cannot have acted.
        case serverError = "server_error"
        /// 3xx, never followed; `value` is the `Location`.
        case redirected
        /// An answer that cannot be understood, or that is about another capture.
        case unexpectedAnswer = "unexpected_answer"
        /// The whole request was sent and no usable answer came: the server may have the capture. It is never sent
        /// again on a guess.
        case unknownOutcome = "unknown_outcome"
        // Local records.
        /// No record here has this id or hash, or several begin like the prefix that was given.
        case captureUnknown = "capture_unknown"
        /// The record is from before there were modes and was never meant for a server; sending it must be said.
        case localOnly = "local_only"
        /// The record lacks or garbles what is needed: its payload, hash or media type.
        case recordUnusable = "record_unusable"
        /// The vault or its key cannot be opened, read or written. Nothing in it was changed.
        case vaultUnusable = "vault_unusable"
        /// No space left for the vault, a record or an export.
        case diskFull = "disk_full"
        /// A file of the vault is not what was sealed: changed, cut, or of another capture.
        case mediaDamaged = "media_damaged"
        /// The vault does not have what was asked for.
        case mediaMissing = "media_missing"
        /// An export cannot be written there.
        case targetUnusable = "target_unusable"
        /// The target of an export exists; it was left as it is.
        case targetExists = "target_exists"
        /// What the vault holds decrypts to another hash than the record's.
        case checksumMismatch = "checksum_mismatch"
        /// `library.sqlite` or the counters failed; see `underlying` (`StoreError`).
        case storeUnusable = "store_unusable"
        // Ends.
        /// No answer, and the server cannot have acted; see `underlying` (`TransportError`).
        case transport
        /// The task was cancelled, or a stop was asked for. What was kept stays, and `retry` goes on.
        case cancelled
        /// Another process holds the device's counter or the capture. Nothing was done.
        case busy
        /// A mistake of this library's.
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
    package init(
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
