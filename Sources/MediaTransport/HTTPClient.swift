/// Sends requests over libcurl. One thread owns all of libcurl; any number of tasks may call `execute` at once.
public final class HTTPClient: Sendable {
    /// The settings of all transfers.
    public let configuration: HTTPClientConfiguration

    /// Starts the transfer loop.
    ///
    /// - Throws: `TransportError` of kind `.unusable` when libcurl cannot be set up.
    public init(configuration: HTTPClientConfiguration = HTTPClientConfiguration()) throws(TransportError) {
        self.configuration = configuration
    }

    /// Sends a request and waits for its answer. Any status is an answer; only a missing one is an error.
    ///
    /// Cancelling the task stops a `.safe` request at once (`.cancelled`), and an `.atMostOnce` request only while body
    /// bytes remain; after that the call waits for the answer. `control` can do more.
    ///
    /// - Parameters:
    ///   - request: What to send.
    ///   - control: Stops this transfer from elsewhere.
    ///   - progress: Called on the loop's thread, at most ten times a second and once for each change of phase. Must
    ///     return quickly.
    /// - Throws: `TransportError`.
    public func execute(
        _ request: HTTPRequest,
        control: TransferControl = TransferControl(),
        progress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws(TransportError) -> HTTPResponse {
        throw TransportError(.unusable)
    }

    /// Refuses new requests and cancels running ones.
    public func shutdown() {}
}
