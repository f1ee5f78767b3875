import HTTPTypes
import Synchronization

/// The requests a sandbox has seen, oldest first, for tests that ask what reached the server.
final class RequestLog: Sendable {
    struct Entry: Sendable {
        var method: String
        var path: String
        /// The schemes of its credentials, never the secrets: `basic`, `bearer`, `upload-token`, `api-key`.
        var credentials: [String]
        /// Nil while unanswered, and for ever when no answer was sent.
        var status: Int?
        var bodyBytesRead = 0
        /// Nothing more is done for it: what is stored of it is stored, answered or not.
        var isOver = false
    }

    private let entries = Mutex<[Entry]>([])

    /// Notes a request; the number names it later.
    func begin(method: String, path: String, credentials: [String]) -> Int {
        entries.withLock { entries in
            entries.append(Entry(method: method, path: path, credentials: credentials))
            return entries.count - 1
        }
    }

    /// The schemes that a request shows.
    static func credentials(in headers: HTTPFields) -> [String] {
        let scheme = headers[.authorization].map { $0.prefix { $0 != " " }.lowercased() }
        func name(_ field: String, _ scheme: String) -> String? {
            HTTPField.Name(field).flatMap { headers[$0] }.map { _ in scheme }
        }
        return [scheme, name("X-Upload-Token", "upload-token"), name("X-API-Key", "api-key")].compactMap { $0 }
    }

    func update(_ number: Int, _ change: (inout Entry) -> Void) {
        entries.withLock { change(&$0[number]) }
    }

    var all: [Entry] { entries.withLock { $0 } }
}
