internal import Foundation

/// A value protected by a lock that the thread sanitizer supports.
///
/// The slow path of `Synchronization.Mutex` is inside the runtime, which the sanitizer does not instrument, so two
/// threads in real contention are reported as a race. `NSLock` is a pthread mutex, which the sanitizer supports.
///
/// `@unchecked Sendable`: `value` is accessed only with `lock` held.
package final class Locked<Value: Sendable>: @unchecked Sendable {
    private let lock = NSLock()
    private var value: Value

    package init(_ value: Value) {
        self.value = value
    }

    package func withLock<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
        lock.lock()
        defer { lock.unlock() }
        return try body(&value)
    }
}
