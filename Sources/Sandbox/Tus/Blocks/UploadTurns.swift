import Synchronization

/// One PATCH per upload at a time; the next one waits (gighive-d4 contract 4.1).
final class UploadTurns: Sendable {
    /// The requests that wait for each upload in use.
    private let waiting = Mutex<[String: [CheckedContinuation<Void, Never>]]>([:])

    func begin(_ id: String) async {
        await withCheckedContinuation { continuation in
            let isFree = waiting.withLock { waiting in
                guard waiting[id] == nil else {
                    waiting[id]?.append(continuation)
                    return false
                }
                waiting[id] = []
                return true
            }
            if isFree { continuation.resume() }
        }
    }

    func end(_ id: String) {
        let next = waiting.withLock { waiting -> CheckedContinuation<Void, Never>? in
            guard var queue = waiting[id], !queue.isEmpty else {
                waiting[id] = nil
                return nil
            }
            let next = queue.removeFirst()
            waiting[id] = queue
            return next
        }
        next?.resume()
    }
}
