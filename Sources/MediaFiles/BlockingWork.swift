internal import Foundation

/// Runs work that waits for a disk, or for hardware with a key, off Swift's cooperative threads.
package enum BlockingWork {
    private static let queue = DispatchQueue(label: "mediactl.blocking", attributes: .concurrent)

    /// Runs `work` on a thread that may block. Cancellation has no effect.
    package static func run<Value: Sendable, Failure: Error>(
        _ work: @escaping @Sendable () throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        let result: Result<Value, Failure> = await withCheckedContinuation { continuation in
            queue.async {
                do throws(Failure) {
                    continuation.resume(returning: .success(try work()))
                } catch {
                    continuation.resume(returning: .failure(error))
                }
            }
        }
        return try result.get()
    }
}
