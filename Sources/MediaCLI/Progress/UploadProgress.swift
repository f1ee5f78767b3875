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
    /// Whether the server's response will have no delete token.
    var isWithoutToken = false
    /// Bytes of the body that the peer's kernel has.
    var bytesAcknowledged: Int64 = 0
    /// Length of the body, or of the file as long as the body is not known.
    var byteCount: Int64
    var attempt = 1
    /// The number of the attempt that is waited for.
    var nextAttempt = 2
    /// Why it is waited for.
    var reason: String?
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
    var percent: Int64 { Progress.percent(bytesAcknowledged, of: byteCount) ?? 0 }

    /// Time until the last byte at the present rate.
    var remaining: Duration? {
        guard let bytesPerSecond, bytesPerSecond >= 1 else { return nil }
        return .seconds(Double(byteCount - bytesAcknowledged) / bytesPerSecond)
    }
}
