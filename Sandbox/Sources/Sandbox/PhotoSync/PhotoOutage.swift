import HTTPTypes
import Synchronization

/// Whether PhotoSync's database is down: every route then returns 500, with plain text unless a test sets JSON, until it is up
/// again (photosync contract, new facts 5, and 1.1 for the check of keys).
final class PhotoOutage: Sendable {
    private let current = Mutex<Reply?>(nil)

    /// What a request is answered with instead of work; nil while the database is up.
    var reply: Reply? { current.withLock { $0 } }

    /// The plain text, or the `error` of the JSON, of all responses.
    func begin(_ text: String?, json: String?) {
        let reply =
            json.map { Reply.photoSyncError(.internalServerError, $0) }
            ?? text.map { Reply.photoSyncText(.internalServerError, $0) } ?? .photoSyncDatabaseError
        current.withLock { $0 = reply }
    }

    func end() { current.withLock { $0 = nil } }
}
