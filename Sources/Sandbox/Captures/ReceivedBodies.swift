import Foundation
import Synchronization

/// Every body that reached a capture route, refused ones too, for tests that search the wire.
final class ReceivedBodies: Sendable {
    private let entries = Mutex<[(path: String, body: [UInt8])]>([])

    func add(_ path: String, _ body: [UInt8]) { entries.withLock { $0.append((path, body)) } }

    var all: [(path: String, body: [UInt8])] { entries.withLock { $0 } }
}
