import HTTPTypes
import HummingbirdCore
import Synchronization

/// The requests a sandbox has received, oldest first, for tests that verify them.
final class RequestLog: Sendable {
    struct Entry: Sendable {
        var method: String
        var path: String
        /// The schemes of its credentials, never the secrets: `basic`, `bearer`, `upload-token`, `api-key`.
        var credentials: [String]
        /// Nil if no response was sent.
        var status: Int?
        var bodyBytesRead = 0
        /// Whether the sandbox has finished with the request, with or without a response.
        var isOver = false
    }

    private let entries = Mutex<[Entry]>([])

    func begin(_ request: Request) -> Int {
        let scheme = request.headers[.authorization].map { $0.prefix { $0 != " " }.lowercased() }
        let others = [("X-Upload-Token", "upload-token"), ("X-API-Key", "api-key")].filter { name, _ in
            request.headers.contains { $0.name.canonicalName == name.lowercased() }
        }
        let credentials = (scheme.map { [$0] } ?? []) + others.map(\.1)
        let entry = Entry(method: request.method.rawValue, path: request.head.path ?? "", credentials: credentials)
        return entries.withLock { entries in
            entries.append(entry)
            return entries.count - 1
        }
    }

    func update(_ number: Int, _ change: (inout Entry) -> Void) { entries.withLock { change(&$0[number]) } }

    var all: [Entry] { entries.withLock { $0 } }
}
