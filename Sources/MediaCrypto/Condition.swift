internal import Glibc

/// A mutex and a condition variable in one (POSIX threads). Swift's `Mutex` cannot wait for a change.
final class Condition: @unchecked Sendable {
    // Unchecked: the mutex and the variable stay at fixed addresses from init to deinit and are accessed only by
    // pthread functions, which are safe from any thread.
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let variable = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

    init() {
        mutex.initialize(to: pthread_mutex_t())
        variable.initialize(to: pthread_cond_t())
        pthread_mutex_init(mutex, nil)
        pthread_cond_init(variable, nil)
    }

    deinit {
        pthread_cond_destroy(variable)
        pthread_mutex_destroy(mutex)
        variable.deallocate()
        mutex.deallocate()
    }

    func lock() { pthread_mutex_lock(mutex) }
    func unlock() { pthread_mutex_unlock(mutex) }

    /// Releases the lock until woken; may wake spuriously. The caller holds the lock.
    func wait() { pthread_cond_wait(variable, mutex) }
    func wakeAll() { pthread_cond_broadcast(variable) }

    func withLock<Result: ~Copyable>(_ body: () -> Result) -> Result {
        lock()
        defer { unlock() }
        return body()
    }
}
