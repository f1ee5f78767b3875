import Dispatch
import Glibc
import Synchronization

/// Lets concurrent callers share one `fdatasync` of a file: callers that arrive while one is running share the next
/// one.
///
/// `fdatasync` runs on a separate queue: it would block a thread of Swift's pool, which has only one for each core.
final class SharedSync: Sendable {
    private let file: LockedFile
    private let waiting = Mutex<[CheckedContinuation<Int32, Never>]>([])
    private let queue = DispatchQueue(label: "mediactl.rescue.synchronize")

    init(_ file: LockedFile) {
        self.file = file
    }

    /// Waits until everything that was written before this call is on the disk. Cancelling the task does not stop it.
    ///
    /// - Throws: `StoreError`.
    func synchronize() async throws(StoreError) {
        let code = await withCheckedContinuation { continuation in
            let isFirst = waiting.withLock { waiting in
                waiting.append(continuation)
                return waiting.count == 1
            }
            if isFirst { queue.async { self.synchronizeAll() } }
        }
        guard code == 0 else { throw StoreError(errno: code, path: file.path, action: "cannot synchronize") }
    }

    private func synchronizeAll() {
        let callers = waiting.withLock { waiting in
            defer { waiting = [] }
            return waiting
        }
        let code = fdatasync(file.descriptor) == 0 ? 0 : errno
        for caller in callers { caller.resume(returning: code) }
    }
}
