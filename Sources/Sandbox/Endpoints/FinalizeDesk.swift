import Synchronization

/// Which uploads are being finalized right now.
final class FinalizeDesk: Sendable {
    private let running = Mutex<Set<String>>([])

    /// False when somebody else is at it.
    func begin(_ id: String) -> Bool { running.withLock { $0.insert(id).inserted } }

    func end(_ id: String) { running.withLock { _ = $0.remove(id) } }
}
