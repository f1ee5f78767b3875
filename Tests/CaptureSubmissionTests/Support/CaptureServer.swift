import CaptureSubmission
import MediaTransport
import Synchronization
import TestSupport

/// A server that returns one response and records its requests.
final class CaptureServer: Sendable {
    /// A received request.
    struct Request: Sendable {
        var head: String
        var body: [UInt8]

        /// `POST /api/v1/captures/hash-only`.
        var line: String {
            head.split(separator: "\r\n").first.map { String($0.dropLast(" HTTP/1.1".count)) } ?? ""
        }

        /// The value of a header field; its name is in lower case.
        func value(of name: String) -> String? {
            head.split(separator: "\r\n").dropFirst()
                .first { $0.lowercased().hasPrefix(name + ":") }
                .map { String($0.dropFirst(name.count + 1)).trimmingBlanks }
        }
    }

    /// A response.
    struct Response: Sendable {
        var status: Int
        var body: String
        var type: String? = "application/json"
        var headers: [String] = []

        /// `data` in the envelope of a success (contract 1.3).
        static func data(_ status: Int, _ data: String) -> Response {
            Response(
                status: status,
                body: #"{"data":\#(data),"meta":{"request_id":"x","timestamp":"2026-11-22T02:16:05.123456789Z"}}"#
            )
        }

        /// `error` in the envelope of a refusal.
        static func refusal(_ status: Int, _ code: String, headers: [String] = []) -> Response {
            Response(
                status: status,
                body: #"{"error":{"code":"\#(code)","message":"No."},"meta":{"request_id":"x"}}"#,
                headers: headers
            )
        }
    }

    private let server: ScriptedServer
    private let log: Log

    /// Returns this response to every request.
    convenience init(_ response: Response) throws {
        try self.init { connection in
            let type = response.type.map { "Content-Type: \($0)\r\n" } ?? ""
            let fields = response.headers.map { $0 + "\r\n" }.joined()
            try connection.write(
                "HTTP/1.1 \(response.status) Scripted\r\n\(type)\(fields)Content-Length: \(response.body.utf8.count)\r\n\r\n"
                    + response.body
            )
        }
    }

    /// Performs this action once a request has been read.
    init(_ act: @escaping @Sendable (ScriptedServer.Connection) throws -> Void) throws {
        let log = Log()
        server = try ScriptedServer { connection, _ in
            while true {
                let (head, body) = try connection.readRequest()
                log.add(Request(head: head, body: body))
                try act(connection)
            }
        }
        self.log = log
    }

    /// The requests so far.
    var requests: [Request] { log.all }

    /// A client of it, with a path in the URL, without delays between attempts.
    func client(timeouts: TransferTimeouts = TransferTimeouts()) throws -> CaptureClient {
        try Self.client(of: server.address + "/base", timeouts: timeouts)
    }

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

    private final class Log: Sendable {
        private let requests = Mutex<[Request]>([])

        var all: [Request] { requests.withLock { $0 } }

        func add(_ request: Request) { requests.withLock { $0.append(request) } }
    }
}

extension String {
    fileprivate var trimmingBlanks: String { String(drop { $0 == " " }) }
}
