import Dispatch

/// Held while a process adopts the responses of ended processes. Another process waits, so that it does not read a
/// journal that is about to change.
package final class AdoptionLock: Sendable {
    private let byte: LockedByte

    private init(_ byte: LockedByte) {
        self.byte = byte
    }

    private static let waiting = DispatchQueue(label: "mediactl.adoption", attributes: .concurrent)

    /// Waits for the lock, on a thread that may block. Cancelling the task does not end it.
    ///
    /// - Parameter directory: The data directory.
    /// - Returns: The lock, which is held.
    /// - Throws: `StoreError`.
    package static func acquire(in directory: DataDirectory) async throws(StoreError) -> AdoptionLock {
        let byte = try LockedByte("adoption", of: directory.lockFile("uploads"))
        let result = await withCheckedContinuation { continuation in
            waiting.async {
                continuation.resume(returning: Result { () throws(StoreError) in try byte.lock() })
            }
        }
        try result.get()
        return AdoptionLock(byte)
    }

    /// Lets the next process acquire the lock.
    package func release() { byte.release() }
}
