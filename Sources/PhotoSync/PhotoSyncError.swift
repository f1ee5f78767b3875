internal import Glibc
internal import MediaFiles
public import MediaStore
internal import MediaSystem
public import MediaTransport

/// Why something with a PhotoSync server did not end well: facts for the caller to classify and to phrase.
public struct PhotoSyncError: Error, Sendable, CustomStringConvertible {
    /// Stable codes; the raw values appear in `--json` output.
    public enum Code: String, Sendable, CaseIterable {
        // Before anything is sent.
        /// No key is known for the server, or it refused e-mail address and password.
        case notLoggedIn = "not_logged_in"
        /// The account has no device yet; sending and claiming need one (`DeviceRegistration`).
        case noDevice = "no_device"
        /// A time outside the years 0000 to 9999, which RFC 3339 cannot write.
        case invalidDate = "invalid_date"
        /// There is no such file.
        case fileNotFound = "file_not_found"
        /// The file cannot be opened or read.
        case fileUnreadable = "file_unreadable"
        /// It is a directory, a FIFO, a socket or a device.
        case notRegularFile = "not_regular_file"
        /// The file has no bytes.
        case emptyFile = "empty_file"
        /// It exceeds the server's size limit.
        case fileTooLarge = "file_too_large"
        /// The server takes no files with this extension.
        case unknownExtension = "unknown_extension"
        /// The index has no photo with this id.
        case unknownPhoto = "unknown_photo"
        /// The directory or file of a download cannot be written.
        case targetUnusable = "target_unusable"
        /// No space left for a download. What has arrived is kept, and the next run goes on.
        case diskFull = "disk_full"
        /// `index.sqlite` or `library.sqlite` failed; see `store`.
        case storeUnusable = "store_unusable"
        /// The index knows nothing complete of this server yet; `Pull` comes first.
        case neverSynchronized = "never_synchronized"
        // Answers (photosync contract sections 0, 1.1, 3.3).
        /// A 4xx that has no code of its own here.
        case badRequest = "bad_request"
        /// The server stopped waiting for the body: it takes 30 seconds at most (contract 3.4).
        case bodyTooSlow = "body_too_slow"
        /// 401: the key is not (or no longer) the account's.
        case unauthorized
        /// 403: the photo is another user's, or nobody's.
        case forbidden = "forbidden"
        /// 404: no such address, photo or device.
        case notFound = "not_found"
        /// 408: the server waited too long for the request.
        case requestTimeout = "request_timeout"
        /// 409: the request conflicts with the state of the server.
        case conflict
        /// 413: the body is too large for the server, or for a proxy before it.
        case payloadTooLarge = "payload_too_large"
        /// 415: the server does not accept this type of body.
        case unsupportedMedia = "unsupported_media"
        /// 423: locked on the server.
        case locked
        /// 429: too many requests.
        case rateLimited = "rate_limited"
        /// The server has not been set up yet; `value` is where that is done, when it says so.
        case setupRequired = "setup_required"
        /// 5xx without a more specific code.
        case serverError = "server_error"
        /// A login by password could not save the new key. The old key goes on working.
        case keyNotRotated = "key_not_rotated"
        /// The server does not know this machine's device as one of this user.
        case invalidDevice = "invalid_device"
        /// 3xx, never followed; `value` is the `Location`.
        case redirected = "redirected"
        /// An answer that cannot be understood; often a proxy's.
        case unexpectedAnswer = "unexpected_answer"
        // What the listing shows.
        /// The server lists no more than one page: it runs without PostgreSQL (contract section 5).
        case stubServer = "stub_server"
        /// The listing breaks off, or does not add up. Nothing was recorded as complete.
        case listingIncomplete = "listing_incomplete"
        /// The listing came back to a cursor it had given before.
        case repeatedCursor = "repeated_cursor"
        /// The server stores uploads without an owner, and deletes such photos by itself. No second one is sent.
        case ownershipDefect = "ownership_defect"
        /// The server has the bytes and does not list them as this account's. The original must be kept.
        case notOwned = "not_owned"
        // Integrity.
        /// The bytes are not those with the digest that the server, or this machine, recorded.
        case checksumMismatch = "checksum_mismatch"
        /// More or fewer bytes than were announced.
        case lengthMismatch = "length_mismatch"
        /// The file changed while it was read or sent, or since its copy was recorded.
        case sourceChanged = "source_changed"
        /// A file of that name has appeared meanwhile; it was left as it is.
        case targetExists = "target_exists"
        // Ends.
        /// No answer; see `transport`.
        case transport
        /// The task was cancelled, or a stop was asked for. What was done stays, and the next run goes on.
        case cancelled
        /// Another process is at work on the same server's index, or in the same directory.
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
    package init(
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
        detail.isEmpty ? code.rawValue : "\(code.rawValue): \(KnownSecrets.masked(detail))"
    }
}

extension PhotoSyncError {
    /// Why there is no answer.
    init(_ error: TransportError) {
        switch error.kind {
        case .cancelled:
            self.init(.cancelled, detail: error.detail)
        case .receiverFailed:
            self = error.underlying as? PhotoSyncError ?? PhotoSyncError(.internalError, detail: error.description)
        case .bodyUnreadable:
            self.init(unreadable: error)
        case .responseTooLarge:
            self.init(.unexpectedAnswer, detail: "the answer is far too long", httpStatus: error.head?.status)
        default:
            self.init(
                .transport,
                detail: error.detail,
                httpStatus: error.head?.status,
                isRetryable: error.isWorthRepeating
            )
        }
        transport = error
    }

    /// Why the file that was being sent could not be read to its end.
    private init(unreadable error: TransportError) {
        switch error.underlying as? FileContentError {
        case .shrank(let expected, let actual):
            self.init(.sourceChanged, detail: "became shorter while it was being sent: \(actual) of \(expected) bytes")
        case .unreadable(let errno):
            self.init(.fileUnreadable, detail: "reading failed with errno \(errno)")
        case nil:
            self.init(.fileUnreadable, detail: error.detail)
        }
    }

    /// Why the local store cannot be used.
    init(_ error: StoreError) {
        self.init(.storeUnusable, detail: error.description, store: error)
    }
}

extension PhotoSyncError {
    /// A file that could not be written.
    init(_ error: FileWriteError) {
        let code: Code =
            switch error.kind {
            case .full: .diskFull
            case .denied, .unsafe, .io: .targetUnusable
            case .exists: .targetExists
            case .busy: .busy
            }
        self.init(code, detail: error.detail, isRetryable: error.kind == .busy, path: error.path)
    }

    /// A local file cannot be read.
    static func source(_ error: SourceFileError) -> PhotoSyncError {
        switch error.kind {
        case .notFound: PhotoSyncError(.fileNotFound, path: error.path)
        case .permissionDenied: PhotoSyncError(.fileUnreadable, detail: "permission denied", path: error.path)
        case .isDirectory: PhotoSyncError(.notRegularFile, detail: "it is a directory", path: error.path)
        case .notRegular: PhotoSyncError(.notRegularFile, path: error.path)
        case .empty: PhotoSyncError(.emptyFile, path: error.path)
        case .io(let number):
            PhotoSyncError(.fileUnreadable, detail: SystemError.words(number), path: error.path)
        }
    }
}
