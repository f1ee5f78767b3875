internal import MediaCore

/// Held while this machine is registered with a capture server: a second registration in the meantime would leave a
/// device on the server that no machine uses. The lock is released whenever the process exits.
package final class RegistrationLock: Sendable {
    private let file: LockedFile

    private init(_ file: LockedFile) {
        self.file = file
    }

    /// Locks the registration with a server, waiting for another process, or object, that has locked it. No thread
    /// waits; canceling interrupts the wait.
    ///
    /// - Throws: `StoreError`, `.busy` after `timeout`; `CancellationError`.
    package static func lock(
        server: String,
        in directory: DataDirectory,
        timeout: Duration = .seconds(60)
    ) async throws -> RegistrationLock {
        RegistrationLock(
            try await LockedFile.awaiting(
                directory.lockFile("registration-" + String(server.utf8.fnv1a, radix: 16)),
                timeout: timeout,
                "another process is registering this machine"
            )
        )
    }

    /// Releases the lock, like the release of the last reference; a caller that must not lose the lock earlier keeps
    /// the object alive by calling this at the end.
    package func release() { file.unlock() }
}
