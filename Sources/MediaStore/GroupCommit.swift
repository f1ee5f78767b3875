import Dispatch
import GRDB
import Glibc
import Synchronization

/// Lets concurrent callers share one transaction, and thus one fsync (docs/adr/0047).
///
/// An urgent caller starts the writer immediately; callers that arrive while it waits for the disk share the next
/// transaction. Callers that can wait are written with the next urgent one, as soon as there are 64, or after 2 ms. The
/// writer has its own queue, so a slow disk does not block Swift's few cooperative threads.
final class GroupCommit: Sendable {
    typealias Change = @Sendable (Database) throws -> Void
    /// Calls a function on the queue of the writer after a time.
    typealias Timer = @Sendable (Duration, @escaping @Sendable () -> Void) -> Void

    private struct Waiting: Sendable {
        let change: Change
        let continuation: CheckedContinuation<Result<Void, StoreError>, Never>
    }

    private struct Inbox {
        var waiting: [Waiting] = []
        /// Whether the writer should take the waiting callers as soon as possible.
        var isDue = false
        /// Counts the groups that the writer has taken, so the timer of an earlier group does not end a later one.
        var group = 0
    }

    private enum Start {
        case now
        case later(group: Int)
        /// A writer or timer was already started for the waiting callers.
        case started
    }

    /// The number of waiting callers at which a group is written.
    static let groupLimit = 64
    /// Maximum time that a caller waits for others.
    static let groupDelay = Duration.milliseconds(2)

    private let connection: StoreConnection
    private let inbox = Mutex(Inbox())
    /// Number of callers in the last transaction; only the writer sets it.
    private let lastCount = Atomic(0)
    /// Not private, because a test blocks it.
    let writer: DispatchQueue
    private let after: Timer

    /// Only tests pass a timer.
    init(_ connection: StoreConnection, after timer: Timer? = nil) {
        self.connection = connection
        let writer = DispatchQueue(label: "mediactl.store.commit")
        self.writer = writer
        after =
            timer ?? { delay, body in
                writer.asyncAfter(deadline: .now() + .nanoseconds(Int(delay / .nanoseconds(1))), execute: body)
            }
    }

    /// Applies a change; durable when this returns. Canceling the task does not stop it.
    func commit(isUrgent: Bool = true, _ change: @escaping Change) async throws(StoreError) {
        let result = await withCheckedContinuation { continuation in
            switch add(Waiting(change: change, continuation: continuation), isUrgent: isUrgent) {
            case .now: writer.async { self.writeAll() }
            case .later(let group): after(Self.groupDelay) { self.writeAll(ofGroup: group) }
            case .started: break
            }
        }
        try result.get()
    }

    private func add(_ new: Waiting, isUrgent: Bool) -> Start {
        inbox.withLock { inbox in
            inbox.waiting.append(new)
            guard !inbox.isDue else { return .started }
            inbox.isDue = isUrgent || inbox.waiting.count >= Self.groupLimit
            if inbox.isDue { return .now }
            return inbox.waiting.count == 1 ? .later(group: inbox.group) : .started
        }
    }

    /// Number of callers whose changes the writer has not taken yet.
    var waitingCount: Int { inbox.withLock { $0.waiting.count } }

    /// The time that the writer waits for further callers, in microseconds: about as long as a fast disk takes for a
    /// transaction. With a slow disk, just as many callers accumulate without this wait.
    private static let gatheringTime: UInt32 = 150

    /// Writes a group that has waited long enough; does nothing if it has already been written.
    private func writeAll(ofGroup group: Int) {
        let isWaiting = inbox.withLock { inbox in
            guard inbox.group == group, !inbox.isDue else { return false }
            inbox.isDue = true
            return true
        }
        if isWaiting { writeAll() }
    }

    private func writeAll() {
        // Callers that arrived together before will probably do so again.
        if lastCount.load(ordering: .relaxed) > 1 { usleep(Self.gatheringTime) }
        let batch = inbox.withLock { inbox in
            defer { inbox = Inbox(group: inbox.group + 1) }
            return inbox.waiting
        }
        lastCount.store(batch.count, ordering: .relaxed)
        let result = write(batch)
        // One row that is invalid, or for which there is no disk space left, must not make the others fail. With a busy
        // database, a retry would only wait again.
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

    /// Waits until everything that was written before this call is on disk. Canceling the task does not stop it.
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
        let callers = waiting.withLock { exchange(&$0, with: []) }
        let code = fdatasync(file.descriptor) == 0 ? 0 : errno
        for caller in callers { caller.resume(returning: code) }
    }
}
