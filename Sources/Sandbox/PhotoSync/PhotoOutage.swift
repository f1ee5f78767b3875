import Synchronization

/// Whether PhotoSync's database is down: every route then answers 500 with plain text, until it is up again (photosync
/// contract, new facts 5).
final class PhotoOutage: Sendable {
    private let isOn = Atomic(false)

    /// What a request is answered with instead of work; nil while the database is up.
    var reply: Reply? { isOn.load(ordering: .acquiring) ? .photoSyncDatabaseError : nil }

    func set(_ isOn: Bool) { self.isOn.store(isOn, ordering: .releasing) }
}
