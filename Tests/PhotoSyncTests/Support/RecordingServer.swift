import MediaTransport
import PhotoSync
import TestSupport

extension RecordingServer.Response {
    /// The text form of an error (photosync contract section 0).
    static func text(_ status: Int, _ sentence: String) -> Self {
        Self(status: status, body: sentence + "\n", type: "text/plain; charset=utf-8")
    }

    /// The JSON form of an error.
    static func json(_ status: Int, _ sentence: String) -> Self {
        Self(status: status, body: "{\"error\":\"\(sentence)\"}\n")
    }
}

extension RecordingServer {
    var url: ServerURL {
        get throws { try ServerURL(address, allowingPath: true) }
    }

    /// A client for this server, without delays between attempts.
    func client(key: String? = "key-1", path: String = "", retries: Int = 3) throws -> PhotoSyncClient {
        try Self.client(of: address + path, key: key, retries: retries)
    }

    /// The server, and a client for it.
    func withClient() throws -> (server: RecordingServer, client: PhotoSyncClient) { (self, try client()) }

    static func client(of address: String, key: String? = "key-1", retries: Int = 3) throws -> PhotoSyncClient {
        let url = try ServerURL(address, allowingPath: true)
        let http = try HTTPClient(
            configuration: HTTPClientConfiguration(retry: RetryPolicy(retries: retries, base: .zero))
        )
        return PhotoSyncClient(server: url, http: http, authorization: key.map { .apiKey($0, for: url.origin) })
    }
}

/// The error thrown by a call.
func photoSyncError(_ call: () async throws -> Void) async -> PhotoSyncError? {
    do {
        try await call()
        return nil
    } catch {
        return error as? PhotoSyncError
    }
}
