internal import Synchronization

/// An action that may happen only once in a run, even if several tasks request it.
final class Once: Sendable {
    private let hasBegun = Atomic(false)

    /// Whether this is the first call.
    func begin() -> Bool { !hasBegun.exchange(true, ordering: .relaxed) }
}
