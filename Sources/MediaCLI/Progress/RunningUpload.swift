internal import MediaTransport

/// One upload that is running, as the display follows it.
struct RunningUpload: Sendable {
    private(set) var progress: UploadProgress
    private var began: Duration
    private var phaseBegan: Duration
    private var rate = TransferRate()
    /// When its last record was written; nil when one is due.
    var lastRecord: Duration?

    init(_ progress: UploadProgress, at time: Duration) {
        self.progress = progress
        began = time
        phaseBegan = time
    }

    /// What the server's response will have.
    mutating func expect(token: Bool) { progress.isWithoutToken = !token }

    mutating func enter(_ phase: UploadProgress.Phase, at time: Duration, limit: Duration? = nil) {
        guard phase != progress.phase else { return }
        progress.phase = phase
        progress.phaseLimit = limit
        phaseBegan = time
        lastRecord = nil
    }

    /// Waits for an attempt; each wait has its own countdown.
    mutating func waitFor(_ attempt: Int, because reason: String, at time: Duration, limit: Duration) {
        enter(.retrying, at: time)
        progress.nextAttempt = attempt
        progress.reason = reason
        progress.phaseLimit = limit
        phaseBegan = time
    }

    /// Takes a reading of the transfer.
    ///
    /// - Returns: How many bytes more than at the last reading the other side has.
    mutating func take(_ transfer: TransferProgress, at time: Duration) -> Int64 {
        let phase = UploadProgress.Phase(transfer.phase)
        if let wait = transfer.wait, progress.phase != .waiting {
            // After a 429 or 503 all requests to the server wait. An attempt of the upload has only one request.
            let attempt = max(transfer.attempt, progress.reason == nil ? 1 : progress.nextAttempt)
            waitFor(attempt, because: progress.reason ?? "server busy or unavailable", at: time, limit: wait)
        } else {
            enter(progress.phase == .waiting && phase != .sending ? .waiting : phase, at: time)
        }
        let gain = max(0, transfer.bytesAcknowledged - progress.bytesAcknowledged)
        progress.bytesAcknowledged = transfer.bytesAcknowledged
        progress.attempt = transfer.attempt
        if transfer.bodyByteCount > 0 {
            progress.byteCount = transfer.bodyByteCount
        }
        rate.add(bytes: transfer.bytesAcknowledged, at: time)
        return gain
    }

    /// Bytes that need no sending, because an earlier run has sent them.
    mutating func begin(from offset: Int64) {
        progress.bytesAcknowledged = offset
    }

    mutating func prove(_ bytes: Int64, of count: Int64, at time: Duration) {
        enter(.proving, at: time)
        progress.bytesAcknowledged = bytes
        progress.byteCount = count
    }

    /// As it stands at a time.
    mutating func reading(at time: Duration) -> UploadProgress {
        progress.elapsed = time - began
        progress.phaseElapsed = time - phaseBegan
        progress.bytesPerSecond = rate.bytesPerSecond
        return progress
    }
}
