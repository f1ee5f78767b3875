internal import MediaStore
internal import MediaTransport

extension SyncAccount {
    /// Waits until no other process does the same work for this server. The caller keeps the lock until the work is
    /// done. `onWait` is called repeatedly during the wait, with the ID of the other process (0 if unknown).
    ///
    /// - Throws: `PhotoSyncError`: `.busy` after `timeout`, with the ID of the other process; `.cancelled` on a stop.
    func lock(
        _ work: SyncLock.Work,
        timeout: Duration,
        control: TransferControl,
        onWait: @Sendable (Int32) -> Void
    ) async throws(PhotoSyncError) -> SyncLock {
        let (index, server) = (index, server)
        let deadline = ContinuousClock.now + timeout
        while true {
            let (lock, owner) = try await StoreWork.run {
                let lock = try index.lock(work, of: server)
                return (lock, lock == nil ? index.owner(of: work, for: server) : nil)
            }
            if let lock { return lock }
            guard ContinuousClock.now < deadline else {
                let name = owner.map { "process \($0)" } ?? "another process"
                let words =
                    switch work {
                    case .listing: "is listing its photos"
                    case .push: "is uploading photos"
                    }
                throw PhotoSyncError(.busy, detail: "\(name) \(words)", isRetryable: true)
            }
            onWait(owner ?? 0)
            if await control.waitForStop(upTo: .milliseconds(200)) { throw PhotoSyncError(.cancelled) }
        }
    }
}
