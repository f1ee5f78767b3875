internal import MediaFiles
public import MediaStore
internal import MediaSystem
public import MediaTransport
@_exported public import Outcomes

/// An error in a PhotoSync operation: the facts from which the caller classifies the error and writes the message.
public struct PhotoSyncError: Error, Sendable, CustomStringConvertible {
    public var code: OutcomeCode
    /// Details from the server or the system. May contain control characters; escape before printing.
    public var detail: String
    /// Status of the response; nil if there was none.
    public var httpStatus: Int?
    /// Whether the same call may succeed later.
    public var isRetryable: Bool
    /// The local path, as bytes.
    public var path: [UInt8]?
    /// The invalid value as given.
    public var value: String?
    /// The exceeded limit, in bytes.
    public var limit: Int64?
    public var photoID: String?
    /// Whether a 401 requires a user name and password (Basic), which no PhotoSync server does.
    package var needsPassword = false
    /// The underlying error from the store.
    public var store: StoreError?
    /// The underlying error from the transport, for `.transport`.
    public var transport: TransportError?

    package init(
        _ code: OutcomeCode,
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
    init(_ error: TransportError) {
        switch error.kind {
        case .cancelled:
            self.init(.cancelled, detail: error.detail)
        case .receiverFailed:
            self = error.underlying as? PhotoSyncError ?? PhotoSyncError(.internalError, detail: error.description)
        case .bodyUnreadable:
            self.init(unreadable: error)
        case .responseTooLarge:
            self.init(.unexpectedResponse, detail: "the response is too long", httpStatus: error.head?.status)
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

    private init(unreadable error: TransportError) {
        switch error.underlying as? FileContentError {
        case .shrank(let expected, let actual):
            self.init(.sourceChanged, detail: "was truncated while it was being sent: \(actual) of \(expected) bytes")
        case .unreadable(let errno):
            self.init(.fileUnreadable, detail: "reading failed with errno \(errno)")
        case nil:
            self.init(.fileUnreadable, detail: error.detail)
        }
    }

    init(_ error: StoreError) {
        self.init(.storeUnusable, detail: error.description, store: error)
    }
}

extension PhotoSyncError {
    init(_ error: FileWriteError) {
        self.init(error.code, detail: error.detail, isRetryable: error.kind == .busy, path: error.path)
    }

    static func source(_ error: SourceFileError) -> PhotoSyncError {
        guard error.kind != .isDirectory else {
            return PhotoSyncError(.notRegularFile, detail: error.reason, path: error.path)
        }
        return PhotoSyncError(error.code, detail: error.detail, path: error.path)
    }

    /// Runs `work` on files in the target directory, and converts its errors.
    static func writing<Value>(_ work: () throws(FileWriteError) -> Value) throws(PhotoSyncError) -> Value {
        do { return try work() } catch { throw PhotoSyncError(error) }
    }

    /// Like `storing`, for work that does not wait.
    static func stored<Value>(_ value: @autoclosure () throws(StoreError) -> Value) throws(PhotoSyncError) -> Value {
        do { return try value() } catch { throw PhotoSyncError(error) }
    }

    /// Changes or reads the stores, and converts their errors.
    static func storing<Value>(
        _ work: () async throws(StoreError) -> Value
    ) async throws(PhotoSyncError) -> Value {
        do { return try await work() } catch { throw PhotoSyncError(error) }
    }

    /// Adds the path or photo concerned, unless the error already has one.
    func at(_ path: [UInt8]? = nil, photo id: String? = nil) -> PhotoSyncError {
        var error = self
        error.path = error.path ?? path
        error.photoID = error.photoID ?? id
        return error
    }
}

extension SourceFile {
    /// Like `init(path:)`, but throws `PhotoSyncError`.
    static func opened(_ path: [UInt8]) throws(PhotoSyncError) -> SourceFile {
        do { return try SourceFile(path: path) } catch { throw .source(error) }
    }

    /// The content for one upload; it closes its own descriptor.
    func content() throws(PhotoSyncError) -> FileContent {
        do {
            return FileContent(owning: try duplicateDescriptor(), byteCount: status.size)
        } catch {
            throw .source(error)
        }
    }
}
