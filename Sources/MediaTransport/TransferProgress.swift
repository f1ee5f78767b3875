/// Where a transfer stands. A stream of these is all a progress display needs.
public struct TransferProgress: Sendable, Equatable {
    /// The stages of a transfer, in order.
    public enum Phase: Sendable, Equatable {
        /// Name look-up, TCP, TLS, and waiting for a free connection.
        case connecting
        /// The body is going out.
        case sending
        /// The peer's kernel has the whole body; the server has not answered yet.
        case processing
        /// The answer is coming in.
        case receiving
        /// A failed try is being waited out.
        case waitingToRetry
    }

    /// The stage.
    public var phase: Phase
    /// Body bytes that the peer's kernel has acknowledged: bytes written to the socket less those still in our send
    /// buffer. Never more than a slow reader has read plus the peer's receive buffer.
    public var bytesAcknowledged: Int64
    /// Length of the body; 0 without one.
    public var bodyByteCount: Int64
    /// Content bytes received.
    public var bytesReceived: Int64
    /// The number of the current try, from 1; that of the next one in a wait.
    public var attempt: Int
    /// Length of the wait that has begun, in `.waitingToRetry`.
    public var wait: Duration?

    /// Makes a progress value.
    package init(
        phase: Phase,
        bytesAcknowledged: Int64 = 0,
        bodyByteCount: Int64 = 0,
        bytesReceived: Int64 = 0,
        attempt: Int = 1,
        wait: Duration? = nil
    ) {
        self.wait = wait
        self.phase = phase
        self.bytesAcknowledged = bytesAcknowledged
        self.bodyByteCount = bodyByteCount
        self.bytesReceived = bytesReceived
        self.attempt = attempt
    }
}
