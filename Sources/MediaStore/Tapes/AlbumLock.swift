import Foundation
import Synchronization

/// The right to work on the albums of one tape, or on one folder library: one task of one process has it at a time. It ends
/// with the process, however it ends.
///
/// A tape's lock may be held while that of a library is waited for, never the other way round; each kind has a file of its
/// own, so that no two names can stand in each other's way.
package final class AlbumLock: Sendable {
    /// What is locked.
    package enum Subject: Sendable {
        /// By the id of the tape.
        case tape(String)
        /// By the id in its marker.
        case folderLibrary(String)

        fileprivate var place: (file: String, name: String) {
            switch self {
            case .tape(let id): ("tapes", id)
            case .folderLibrary(let id): ("album-folders", id)
            }
        }
    }

    private let byte: LockedByte

    private init(_ byte: LockedByte) {
        self.byte = byte
    }

    /// Becomes the owner. Whoever waits does so on a thread of its own, without asking again and again.
    ///
    /// Cancelling ends the waiting with `CancellationError`.
    ///
    /// - Parameters:
    ///   - subject: What to lock.
    ///   - directory: The data directory.
    /// - Returns: The lock, until it is released.
    /// - Throws: `StoreError` when the lock file cannot be made; `CancellationError`.
    package static func acquire(_ subject: Subject, in directory: DataDirectory) async throws -> AlbumLock {
        try Task.checkCancellation()
        let place = subject.place
        let byte = try LockedByte(place.name, of: directory.lockFile(place.file))
        if try byte.tryLock() { return AlbumLock(byte) }
        try await AlbumLockWait(byte).end()
        return AlbumLock(byte)
    }

    /// Lets another become the owner. Also done when the last reference goes; a caller that must not lose the lock earlier
    /// keeps the object by calling this at the end.
    package func release() { byte.release() }
}

/// One wait for a lock. The system call cannot be called off: a wait that was cancelled goes on without anybody, and gives
/// the lock back as soon as it gets it.
private final class AlbumLockWait: Sendable {
    private enum State {
        case idle
        case waiting(CheckedContinuation<Void, any Error>)
        case ended
    }

    private let byte: LockedByte
    private let state = Mutex(State.idle)

    init(_ byte: LockedByte) {
        self.byte = byte
    }

    func end() async throws {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let isCancelled = state.withLock { state in
                    // Cancelled before it began.
                    if case .ended = state { return true }
                    state = .waiting(continuation)
                    return false
                }
                guard !isCancelled else { return continuation.resume(throwing: CancellationError()) }
                Thread.detachNewThread { [self] in
                    let result = Result { try byte.lock() }
                    if !resume(with: result) { byte.release() }
                }
            }
        } onCancel: {
            resume(with: .failure(CancellationError()))
        }
    }

    /// - Returns: Whether somebody was still waiting.
    @discardableResult
    private func resume(with result: Result<Void, any Error>) -> Bool {
        let waiting = state.withLock { state -> CheckedContinuation<Void, any Error>? in
            defer { state = .ended }
            guard case .waiting(let continuation) = state else { return nil }
            return continuation
        }
        waiting?.resume(with: result)
        return waiting != nil
    }
}
