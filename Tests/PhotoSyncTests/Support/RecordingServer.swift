import Foundation
import MediaTransport
import PhotoSync
import Synchronization
import TestSupport

/// A server that returns fixed responses and records its requests.
final class RecordingServer: Sendable {
    /// A received request.
    struct Request: Sendable {
        var head: String
        var body: [UInt8]

        /// `POST /api/sync/photos`.
        var line: String {
            head.split(separator: "\r\n").first.map { String($0.dropLast(" HTTP/1.1".count)) } ?? ""
        }

        /// Values of a header field; its name is in lower case.
        func values(of name: String) -> [String] {
            head.split(separator: "\r\n").dropFirst().compactMap { field in
                let parts = field.split(separator: ":", maxSplits: 1)
                guard parts.count == 2, parts[0].lowercased() == name else { return nil }
                return parts[1].trimmingCharacters(in: .whitespaces)
            }
        }

        /// The JSON of the body.
        var json: NSDictionary? {
            try? JSONSerialization.jsonObject(with: Data(body)) as? NSDictionary
        }
    }

    /// A response.
    struct Response: Sendable {
        var status = 200
        var body = "{}"
        /// nil sends none.
        var type: String? = "application/json"
        var headers: [String] = []

        /// The text form of an error (photosync contract section 0).
        static func text(_ status: Int, _ sentence: String) -> Response {
            Response(status: status, body: sentence + "\n", type: "text/plain; charset=utf-8")
        }

        /// The JSON form of an error.
        static func json(_ status: Int, _ sentence: String) -> Response {
            Response(status: status, body: "{\"error\":\"\(sentence)\"}\n")
        }
    }

    private let server: ScriptedServer
    private let log: Log

    /// Returns these responses in order, and the last one for all further requests.
    convenience init(_ responses: Response...) throws {
        try self.init { _, number in responses[min(number, responses.count) - 1] }
    }

    /// Returns the response that is chosen for a request and its number, from 1.
    init(_ choose: @escaping @Sendable (Request, Int) -> Response) throws {
        let log = Log()
        server = try ScriptedServer { connection, _ in
            while true {
                let (head, body) = try connection.readRequest()
                let request = Request(head: head, body: body)
                let response = choose(request, log.add(request))
                let type = response.type.map { "Content-Type: \($0)\r\n" } ?? ""
                let fields = response.headers.map { $0 + "\r\n" }.joined()
                try connection.write(
                    "HTTP/1.1 \(response.status) Scripted\r\n\(type)\(fields)Content-Length: \(response.body.utf8.count)\r\n\r\n"
                        + response.body
                )
            }
        }
        self.log = log
    }

    /// The requests so far.
    var requests: [Request] { log.all }

    var url: ServerURL {
        get throws { try ServerURL(server.address, allowingPath: true) }
    }

    /// A client of this server without delays between attempts.
    func client(key: String? = "key-1", path: String = "", retries: Int = 3) throws -> PhotoSyncClient {
        let url = try ServerURL(server.address + path, allowingPath: true)
        let http = try HTTPClient(
            configuration: HTTPClientConfiguration(retry: RetryPolicy(retries: retries, base: .zero))
        )
        return PhotoSyncClient(
            server: url,
            http: http,
            authorization: key.map { .apiKey($0, for: url.origin) }
        )
    }

    private final class Log: Sendable {
        private let requests = Mutex<[Request]>([])

        var all: [Request] { requests.withLock { $0 } }

        func add(_ request: Request) -> Int {
            requests.withLock { requests in
                requests.append(request)
                return requests.count
            }
        }
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
