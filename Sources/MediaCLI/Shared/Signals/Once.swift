internal import Synchronization

/// Something that may happen only once in a run, whichever task comes first.
final class Once: Sendable {
    private let hasBegun = Atomic(false)

    /// Whether this is the first call.
    func begin() -> Bool { !hasBegun.exchange(true, ordering: .relaxed) }
}
