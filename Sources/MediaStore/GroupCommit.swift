import Dispatch
import GRDB
import Glibc
import Synchronization

/// Lets concurrent callers share one transaction, and so one fsync.
///
/// The first caller starts the writer; callers that arrive while it waits for the disk share the next transaction. The
/// writer has its own queue, so that a slow disk does not block Swift's few cooperative threads.
final class GroupCommit: Sendable {
    typealias Change = @Sendable (Database) throws -> Void

    private struct Waiting: Sendable {
        let change: Change
        let continuation: CheckedContinuation<Result<Void, StoreError>, Never>
    }

    private let connection: StoreConnection
    private let inbox = Mutex<[Waiting]>([])
    /// Callers of the last transaction; only the writer sets it.
    private let lastCount = Atomic(0)
    /// Not private, so that a test can block it.
    let writer = DispatchQueue(label: "mediactl.store.commit")

    init(_ connection: StoreConnection) {
        self.connection = connection
    }

    /// Applies a change; durable when this returns. Canceling the task does not stop it.
    func commit(_ change: @escaping Change) async throws(StoreError) {
        let result = await withCheckedContinuation { continuation in
            let isFirst = inbox.withLock { inbox in
                inbox.append(Waiting(change: change, continuation: continuation))
                return inbox.count == 1
            }
            if isFirst { writer.async { self.writeAll() } }
        }
        try result.get()
    }

    /// Callers whose change the writer has not taken yet.
    var waitingCount: Int { inbox.withLock { $0.count } }

    /// How long the writer waits for further callers, in microseconds: about as long as a fast disk takes for a
    /// transaction. A slow one collects as many callers without that.
    private static let gatheringTime: UInt32 = 150

    private func writeAll() {
        // Callers that arrived together before will probably do so again.
        if lastCount.load(ordering: .relaxed) > 1 { usleep(Self.gatheringTime) }
        let batch = inbox.withLock { inbox in
            defer { inbox = [] }
            return inbox
        }
        lastCount.store(batch.count, ordering: .relaxed)
        let result = write(batch)
        // One bad row, or one too many for the disk, must not fail the others. A busy database would only cause more
        // waiting.
        if case .failure(let error) = result, error.kind != .busy, batch.count > 1 {
            for waiting in batch { waiting.continuation.resume(returning: write([waiting])) }
        } else {
            for waiting in batch { waiting.continuation.resume(returning: result) }
        }
    }

    private func write(_ batch: [Waiting]) -> Result<Void, StoreError> {
        Result { () throws(StoreError) in
            try connection.write { db in
                for waiting in batch { try waiting.change(db) }
            }
        }
    }
}

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

    /// Waits until everything that was written before this call is on the disk. Canceling the task does not stop it.
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
