import CaptureSubmission
import MediaTransport
import TestSupport

extension RecordingServer.Response {
    /// `data` in the envelope of a success (contract 1.3).
    static func data(_ status: Int, _ data: String) -> Self {
        Self(
            status: status,
            body: #"{"data":\#(data),"meta":{"request_id":"x","timestamp":"2026-11-22T02:16:05.123456789Z"}}"#
        )
    }

    /// `error` in the envelope of a refusal.
    static func refusal(_ status: Int, _ code: String, headers: [String] = []) -> Self {
        Self(
            status: status,
            body: #"{"error":{"code":"\#(code)","message":"No."},"meta":{"request_id":"x"}}"#,
            headers: headers
        )
    }
}

extension RecordingServer {
    /// A client for the server, with a path in the URL, and without delays between attempts.
    func client(timeouts: TransferTimeouts = TransferTimeouts()) throws -> CaptureClient {
        try Self.client(of: address + "/base", timeouts: timeouts)
    }

    /// The server, and a client for it.
    func withClient() throws -> (server: RecordingServer, client: CaptureClient) { (self, try client()) }

    static func client(
        of address: String,
        timeouts: TransferTimeouts = TransferTimeouts()
    ) throws -> CaptureClient {
        CaptureClient(
            server: try ServerURL(address, allowingPath: true),
            http: try HTTPClient(configuration: HTTPClientConfiguration(retry: RetryPolicy(retries: 3, base: .zero))),
            timeouts: timeouts
        )
    }
}
