internal import Foundation
internal import MediaFiles
internal import MediaStore
internal import MediaTransport

extension Pull {
    /// Waits until no other process lists this server's photos.
    ///
    /// - Throws: `PhotoSyncError`: `.busy` after `lockTimeout`, with the ID of the other process; `.cancelled` on a stop.
    func lock(
        _ control: TransferControl,
        _ progress: (@Sendable (PullProgress) -> Void)?
    ) async throws(PhotoSyncError) -> PullLock {
        let (index, server) = (account.index, account.server)
        let deadline = ContinuousClock.now + options.lockTimeout
        while true {
            let (lock, owner) = try await queue.run {
                let lock = try index.lockPull(of: server)
                return (lock, lock == nil ? index.pullOwner(of: server) : nil)
            }
            if let lock { return lock }
            guard ContinuousClock.now < deadline else {
                let name = owner.map { "process \($0)" } ?? "another process"
                throw PhotoSyncError(.busy, detail: "\(name) is listing its photos", isRetryable: true)
            }
            progress?(PullProgress(photos: 0, pages: 0, expected: nil, attempt: 1, waitsForProcess: owner ?? 0))
            if await control.waitForStop(upTo: .milliseconds(200)) { throw PhotoSyncError(.cancelled) }
        }
    }

    /// Whether the last full listing is too old. A time in the future indicates a wrong clock.
    func isFullDue(after state: SyncState?) -> Bool {
        guard let interval = options.fullInterval, let state else { return false }
        guard let last = state.lastFullAt else { return true }
        let age = account.now().timeIntervalSince(last)
        return age < 0 || age >= Double(interval.components.seconds)
    }
}
