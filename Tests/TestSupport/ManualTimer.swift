internal import Synchronization

/// A timer that expires only when a test calls `expire`.
public final class ManualTimer: Sendable {
    private let waiting = Mutex<[@Sendable () -> Void]>([])
    private let longest = Mutex(Duration.zero)

    /// A timer that was never set.
    public init() {}

    /// How many times it was set.
    public var count: Int { waiting.withLock { $0.count } }
    /// The longest time that it was set to.
    public var longestDelay: Duration { longest.withLock { $0 } }

    /// Stores `body` until `expire` is called.
    public func set(_ delay: Duration, _ body: @escaping @Sendable () -> Void) {
        longest.withLock { $0 = max($0, delay) }
        waiting.withLock { $0.append(body) }
    }

    /// Calls the closure passed to the call to `set` with this number, counted from 0, on this thread.
    public func expire(_ index: Int) {
        waiting.withLock { $0[index] }()
    }
}
