import Synchronization

/// The requests a sandbox has seen, oldest first, for tests that ask what reached the server.
final class RequestLog: Sendable {
    struct Entry: Sendable {
        var method: String
        var path: String
        /// Nil while unanswered, and for ever when no answer was sent.
        var status: Int?
        var bodyBytesRead = 0
        /// Nothing more is done for it: what is stored of it is stored, answered or not.
        var isOver = false
    }

    private let entries = Mutex<[Entry]>([])

    /// Notes a request; the number names it later.
    func begin(method: String, path: String) -> Int {
        entries.withLock { entries in
            entries.append(Entry(method: method, path: path))
            return entries.count - 1
        }
    }

    func update(_ number: Int, _ change: (inout Entry) -> Void) {
        entries.withLock { change(&$0[number]) }
    }

    var all: [Entry] { entries.withLock { $0 } }
}
