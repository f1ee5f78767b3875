import Foundation
import Synchronization

/// Apache's disk cache as it treats `/api/upload-token.php`: for a day, a link that was valid stays so (gighive contract 1, 6).
final class TokenCache: Sendable {
    private static let lifetime = 86_400.0

    private struct Entry {
        var reply: Reply
        var storedAt: Double
    }

    private let entries = Mutex<[String: Entry]>([:])

    /// The answer that was given to this path and query before, with its age; nil when there is none.
    func reply(to url: String) -> Reply? {
        let now = Date().timeIntervalSince1970
        guard let entry = entries.withLock({ $0[url] }), now < entry.storedAt + Self.lifetime else { return nil }
        var reply = entry.reply
        reply.headers.append(("Age", String(Int(now - entry.storedAt))))
        return reply
    }

    func store(_ reply: Reply, for url: String) {
        entries.withLock { $0[url] = Entry(reply: reply, storedAt: Date().timeIntervalSince1970) }
    }
}
