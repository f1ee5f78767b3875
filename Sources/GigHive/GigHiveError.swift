public import MediaStore
public import MediaTransport

/// Why an upload or a deletion did not end well: facts for the caller to classify and to phrase.
public struct GigHiveError: Error, Sendable, CustomStringConvertible {
    /// Stable codes; the raw values appear in `--json` output.
    public enum Code: String, Sendable, CaseIterable {
        // Found before anything is sent.
        /// A detail breaks a rule of the server's; `field`, `value`, `detail` and `limit` say which.
        case invalidDetail = "invalid_detail"
        /// There is no such file.
        case fileNotFound = "file_not_found"
        /// The file cannot be opened, or reading it failed.
        case fileUnreadable = "file_unreadable"
        /// It is a directory; only files are sent.
        case isDirectory = "is_directory"
        /// It is a FIFO, a socket or a device.
        case notRegularFile = "not_regular_file"
        /// The file has no bytes.
        case emptyFile = "empty_file"
        /// It has more bytes than `limit`.
        case fileTooLarge = "file_too_large"
        /// The server does not list the extension, and `UploadOptions.anyExtension` is off.
        case unknownExtension = "unknown_extension"
        /// A living process is sending the same file. Passes when that has ended.
        case uploadInProgress = "upload_in_progress"
        /// The token store or its directory failed; see `store`. Nothing is sent without it.
        case storeUnusable = "store_unusable"
        // Answers.
        /// 400.
        case badRequest = "bad_request"
        /// 401: wrong user or password, or a user without this right.
        case unauthorized = "unauthorized"
        /// 401 of a server that requires a login, not a password; or a login that it does not accept any more. See `origin`.
        case loginRequired = "login_required"
        /// The stored login expired. Nothing was sent; see `origin` and `expiredAt`.
        case loginExpired = "login_expired"
        /// The server has no login; it requires a user name and password.
        case loginUnavailable = "login_unavailable"
        /// 403: the login may not do this; see `neededLogin`.
        case forbidden = "forbidden"
        /// 404: no such address, or no such file.
        case notFound = "not_found"
        /// 408: the server waited too long for the body.
        case requestTimeout = "request_timeout"
        /// 409 that is not a duplicate: the request conflicts with the state of the server.
        case conflict
        /// 413: too large for the web server or the application, or, from the application, a part that it does not
        /// know.
        case payloadTooLarge = "payload_too_large"
        /// 415: the server does not take this type of file.
        case unsupportedMedia = "unsupported_media"
        /// 423, for longer than a tus lock is waited for where it is one.
        case locked = "locked"
        /// 429; see `retryAfterSeconds`.
        case rateLimited = "rate_limited"
        /// 5xx, when the server cannot have stored the file or was asked and has not.
        case serverError = "server_error"
        /// 503: the web server responds, and the application or the tus server behind it is not running (trap T24).
        case serverUnavailable = "server_unavailable"
        /// The server lost the upload because other uploads created the same event or number at the same time (trap T19).
        case serverRace = "server_race"
        /// The server has these bytes as `fileID`, in another event, and refused to add them to this one.
        case refusedDuplicate = "refused_duplicate"
        /// 3xx, never followed; `detail` is the `Location`.
        case redirected = "redirected"
        /// An answer that cannot be understood, or is far too long; often a proxy's.
        case unexpectedAnswer = "unexpected_answer"
        // Network.
        /// The host name has no address.
        case unknownHost = "unknown_host"
        /// No connection: refused, unreachable, or a proxy's refusal.
        case cannotConnect = "cannot_connect"
        /// No secure connection, for another reason than the three below.
        case tlsFailed = "tls_failed"
        /// The certificate is not signed by a known authority.
        case certificateUntrusted = "certificate_untrusted"
        /// The certificate names another host.
        case certificateNameMismatch = "certificate_name_mismatch"
        /// The server's public key is not the pinned one. Nothing was sent.
        case pinnedKeyMismatch = "pinned_key_mismatch"
        /// Connecting, sending or the answer took longer than `TransferTimeouts` allows, and the server cannot have
        /// acted.
        case networkTimeout = "network_timeout"
        /// The connection broke, or the answer ended early, and the server cannot have acted.
        case connectionLost = "connection_lost"
        /// The answer was lost, and asking did not tell whether the server has the file. It is never sent again on a
        /// guess.
        case outcomeUnknown = "unknown_outcome"
        // Integrity.
        /// The server's SHA-256 is not that of the bytes sent. The token is kept, so that the bad copy can be deleted.
        case checksumMismatch = "checksum_mismatch"
        /// The file is not the one that was begun: changed while it was sent, or since the upload was cut.
        case sourceChanged = "source_changed"
        // Tokens.
        /// The file is on the server as `fileID`, and its delete token came to nobody.
        case tokenLost = "token_lost"
        /// The file is on the server, and its token is safe only in `rescuePath`.
        case tokenNotStored = "token_not_stored"
        /// The server rejects the delete token although it still has the file.
        case invalidDeleteToken = "invalid_delete_token"
        /// There is no token for `fileID` of this host here; `otherHosts` have one.
        case noDeleteToken = "no_delete_token"
        /// The server has another file under this id now. Nothing was deleted.
        case idReused = "id_reused"
        /// The server answered, and did not confirm the deletion.
        case notDeleted = "not_deleted"
        /// The server reports that it deleted other files than the requested one; `detail` has their IDs.
        case otherFilesDeleted = "other_files_deleted"
        /// A deletion without token was asked for, and that the server has the same file cannot be made sure of.
        case adminUnverified = "admin_unverified"
        // Listings.
        /// The server does not report the value that a filter compares; `field` is the filter.
        case filterUnavailable = "filter_unavailable"
        // Resumable uploads.
        /// The server offers no resumable uploads, and nothing else was allowed.
        case tusUnavailable = "tus_unavailable"
        /// The server has forgotten the upload (404 or 410). A new one may begin.
        case uploadExpired = "upload_expired"
        /// The upload has ended, belongs to another host, or its file is gone.
        case notResumable = "not_resumable"
        // Guests.
        /// The event link is malformed, expired, revoked, or for another server.
        case invalidEventLink = "invalid_event_link"
        /// The organizer requires the terms to be accepted, and `GuestAccess` does not accept them.
        case termsNotAccepted = "terms_not_accepted"
        // Ends.
        /// The task was cancelled, or a stop was asked for, while that was still possible.
        case cancelled
        /// A mistake of this library's, or a client that was shut down.
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
    /// The detail field concerned (`label`, `event_date`, …); `transport` when another `TransportChoice` avoids the failure.
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
    /// The hosts on which the entry of the id was removed from the store.
    public var removedHosts: [String] = []
    /// The server that a login is for.
    public var origin: Origin?
    /// When the login expired, in seconds since 1970.
    public var expiredAt: Int64?
    /// The login that the request was made for, when the server took it for one of another user.
    public var neededLogin: NeededLogin?
    /// `Retry-After`, in seconds.
    public var retryAfterSeconds: Int?
    /// Whether it is about the tus server, which is a service apart from the application.
    package var isOfTusServer = false
    /// Whether it was not retried, so that it shows nothing about the other uploads of the run.
    var isIsolated = false
    /// Whether a tus server refuses further uploads because of those that were not completed (gighive-d4 contract 4.5).
    package var isPendingLimit: Bool {
        isOfTusServer && httpStatus == 429 && detail.contains("Too many pending uploads")
    }
    /// The store's own error.
    public var store: StoreError?
    /// The transport's own error.
    public var transport: TransportError?

    /// Makes an error.
    package init(
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
        detail.isEmpty ? code.rawValue : "\(code.rawValue): \(KnownSecrets.masked(detail))"
    }
}
