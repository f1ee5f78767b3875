internal import Dispatch
internal import MediaStore

/// Runs what waits for SQLite or a disk, one piece at a time, on a thread that is not one of Swift's few.
final class StoreQueue: Sendable {
    private let queue = DispatchQueue(label: "mediactl.sync.store")

    /// Waits for `body`, which is not begun before the ones asked for earlier have ended. Cancelling does not stop it.
    ///
    /// - Throws: What `body` throws; an error of the store as `.busy` or `.storeUnusable`.
    func run<Value: Sendable>(
        _ body: @escaping @Sendable () throws -> Value
    ) async throws(PhotoSyncError) -> Value {
        let result: Result<Value, PhotoSyncError> = await withCheckedContinuation { continuation in
            queue.async {
                continuation.resume(returning: Result(catching: body).mapError(PhotoSyncError.ofStore))
            }
        }
        return try result.get()
    }
}

extension PhotoSyncError {
    /// What an error of a store means to a run. A busy one is no broken one: another process has begun a run, or is
    /// writing for a long time.
    static func ofStore(_ error: any Error) -> PhotoSyncError {
        switch error {
        case let error as PhotoSyncError:
            return error
        case let error as StoreError:
            var own = PhotoSyncError(error)
            if error.kind == .busy {
                own.code = .busy
                own.isRetryable = true
            }
            return own
        default:
            return PhotoSyncError(.internalError, detail: "\(error)")
        }
    }
}
