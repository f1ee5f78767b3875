internal import Synchronization

/// The observed size limit of a server for one request: no response reports the limits of PHP and proxies (trap T23).
final class DirectLimit: Sendable {
    private let smallestRefused = Mutex(Int64.max)

    /// A file of this many bytes was refused for its size.
    func note(refused byteCount: Int64) {
        smallestRefused.withLock { $0 = min($0, byteCount) }
    }

    /// Whether a file of this many bytes, or a smaller one, was refused.
    func isExceeded(by byteCount: Int64) -> Bool {
        smallestRefused.withLock { byteCount >= $0 }
    }
}
