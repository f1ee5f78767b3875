internal import GigHive
internal import MediaTransport

/// Where one upload stands, with everything a display needs.
struct UploadProgress: Sendable, Equatable {
    /// The stages that are shown.
    enum Phase: String, Sendable, CaseIterable {
        case connecting
        /// What was sent by an earlier run is compared with the file.
        case proving
        case sending
        case processing
        case receiving
        case retrying
        case resolving
        /// The server is told what the bytes are that it has.
        case finalizing
        /// An earlier request may still be at work.
        case quiet
        case waiting

        init(_ phase: TransferProgress.Phase) {
            self =
                switch phase {
                case .connecting: .connecting
                case .sending: .sending
                case .processing: .processing
                case .receiving: .receiving
                case .waitingToRetry: .retrying
                }
        }

        /// Whether every byte is out and an answer is due, so that a stop means waiting.
        var isPastLastByte: Bool {
            switch self {
            case .processing, .receiving, .finalizing, .waiting: true
            case .connecting, .proving, .sending, .retrying, .resolving, .quiet: false
            }
        }
    }

    var path: [UInt8]
    var phase = Phase.connecting
    /// Bytes of the body that the peer's kernel has.
    var bytesAcknowledged: Int64 = 0
    /// Length of the body, or of the file as long as the body is not known.
    var byteCount: Int64
    var attempt = 1
    /// Since the upload began.
    var elapsed = Duration.zero
    /// Since the phase began.
    var phaseElapsed = Duration.zero
    /// How long the phase may still take, where that is known.
    var phaseLimit: Duration?
    /// Over the last seconds; nil as long as too little is known.
    var bytesPerSecond: Double?
    /// Place in the batch, from 1.
    var position = 1
    var total = 1

    /// Whole percent, never 100 before the last byte is acknowledged.
    var percent: Int64 {
        byteCount > 0 ? min(100, Int64(Double(bytesAcknowledged) / Double(byteCount) * 100)) : 0
    }

    /// Time until the last byte at the present rate.
    var remaining: Duration? {
        guard let bytesPerSecond, bytesPerSecond >= 1 else { return nil }
        return .seconds(Double(byteCount - bytesAcknowledged) / bytesPerSecond)
    }
}

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

    mutating func enter(_ phase: UploadProgress.Phase, at time: Duration, limit: Duration? = nil) {
        guard phase != progress.phase else { return }
        progress.phase = phase
        progress.phaseLimit = limit
        phaseBegan = time
        lastRecord = nil
    }

    /// Takes a reading of the transfer.
    ///
    /// - Returns: How many bytes more than at the last reading the other side has.
    mutating func take(_ transfer: TransferProgress, at time: Duration) -> Int64 {
        let phase = UploadProgress.Phase(transfer.phase)
        enter(progress.phase == .waiting && phase != .sending ? .waiting : phase, at: time)
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
