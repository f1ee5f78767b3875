internal import Synchronization

/// An action that may happen only once in a run, even if several tasks request it.
final class Once: Sendable {
    private let isTaken = Atomic(false)

    /// Whether this is the first call.
    func begin() -> Bool { !isTaken.exchange(true, ordering: .relaxed) }

    var hasBegun: Bool { isTaken.load(ordering: .relaxed) }
}
