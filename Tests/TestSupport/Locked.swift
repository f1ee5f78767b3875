internal import Foundation

/// A value behind a lock that the thread sanitizer understands.
///
/// `Synchronization.Mutex` takes its slow path inside the runtime, where the sanitizer does not look, and two threads that
/// really contend are then reported as a race. `NSLock` is a pthread mutex, which it knows.
///
/// `@unchecked Sendable`: `value` is touched with `lock` held only.
final class Locked<Value: Sendable>: @unchecked Sendable {
    private let lock = NSLock()
    private var value: Value

    init(_ value: Value) {
        self.value = value
    }

    func withLock<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
        lock.lock()
        defer { lock.unlock() }
        return try body(&value)
    }
}
