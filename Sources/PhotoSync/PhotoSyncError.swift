internal import MediaFiles
internal import MediaStore
internal import MediaSystem
internal import MediaTransport
@_exported public import Outcomes

/// An error in a PhotoSync operation.
public typealias PhotoSyncError = MediaError<PhotoSyncErrorFacts>

/// The facts of errors with photos.
public struct PhotoSyncErrorFacts: ErrorFacts {
    public var photoID: String?
    /// Whether a 401 requires a user name and password (Basic), which no PhotoSync server does.
    package var needsPassword = false

    public init() {}
}

extension PhotoSyncError {
    init(_ error: TransportError) {
        switch error.kind {
        case .receiverFailed:
            self = error.underlying as? PhotoSyncError ?? PhotoSyncError(.internalError, detail: error.description)
        case .bodyUnreadable: self.init(unreadable: error)
        default: self.init(noResponse: error, isRetryable: error.isWorthRepeating)
        }
        self.underlying = self.underlying ?? error
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

    init(_ error: FileWriteError) {
        self.init(error.code, detail: error.detail, isRetryable: error.kind == .busy, path: error.path)
    }

    /// Runs `work` on files in the target directory, and converts its errors.
    static func writing<Value>(_ work: () throws(FileWriteError) -> Value) throws(PhotoSyncError) -> Value {
        do { return try work() } catch { throw PhotoSyncError(error) }
    }

    /// The asynchronous form of `stored`.
    static func storing<Value>(
        _ value: @autoclosure () async throws(StoreError) -> Value
    ) async throws(PhotoSyncError) -> Value {
        do { return try await value() } catch { throw PhotoSyncError(error) }
    }

    /// Adds the path or photo concerned, unless the error already has one.
    func at(_ path: [UInt8]? = nil, photo id: String? = nil) -> PhotoSyncError {
        var error = self
        error.path = error.path ?? path
        error.photoID = error.photoID ?? id
        return error
    }
}
