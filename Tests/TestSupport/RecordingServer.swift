public import Foundation

/// A server that returns scripted responses and records its requests.
public final class RecordingServer: Sendable {
    /// A received request.
    public struct Request: Sendable {
        /// The request line and the header fields.
        public var head: String
        /// As received.
        public var body: [UInt8]

        /// `POST /api/sync/photos`.
        public var line: String {
            head.split(separator: "\r\n").first.map { String($0.dropLast(" HTTP/1.1".count)) } ?? ""
        }

        /// Values of a header field; its name is in lowercase.
        public func values(of name: String) -> [String] {
            head.split(separator: "\r\n").dropFirst().compactMap { field in
                let parts = field.split(separator: ":", maxSplits: 1)
                guard parts.count == 2, parts[0].lowercased() == name else { return nil }
                return parts[1].trimmingCharacters(in: .whitespaces)
            }
        }

        /// The first value of a header field.
        public func value(of name: String) -> String? { values(of: name).first }

        /// The body, parsed as JSON.
        public var json: NSDictionary? {
            try? JSONSerialization.jsonObject(with: Data(body)) as? NSDictionary
        }
    }

    /// A response.
    public struct Response: Sendable {
        /// The status code.
        public var status: Int
        /// Text.
        public var body: String
        /// The content type; nil omits the field.
        public var type: String?
        /// Whole fields.
        public var headers: [String]

        /// A response; by default an empty JSON object.
        public init(
            status: Int = 200,
            body: String = "{}",
            type: String? = "application/json",
            headers: [String] = []
        ) {
            (self.status, self.body, self.type, self.headers) = (status, body, type, headers)
        }
    }

    private let server: ScriptedServer
    private let log: Locked<[Request]>

    /// Returns these responses in order, and the last one for all further requests.
    /// - Throws: An error if no port is available.
    public convenience init(_ responses: Response...) throws {
        try self.init { _, number in responses[min(number, responses.count) - 1] }
    }

    /// Returns the response that is chosen for a request and its number, from 1.
    /// - Throws: An error if no port is available.
    public convenience init(_ choose: @escaping @Sendable (Request, Int) -> Response) throws {
        try self.init { connection, request, number in
            let response = choose(request, number)
            let type = response.type.map { "Content-Type: \($0)\r\n" } ?? ""
            let fields = response.headers.map { $0 + "\r\n" }.joined()
            try connection.write(
                "HTTP/1.1 \(response.status) Scripted\r\n\(type)\(fields)Content-Length: \(response.body.utf8.count)\r\n\r\n"
                    + response.body
            )
        }
    }

    /// Performs this action once a request, with its number from 1, has been read.
    /// - Throws: An error if no port is available.
    public init(_ act: @escaping @Sendable (ScriptedServer.Connection, Request, Int) throws -> Void) throws {
        let log = Locked<[Request]>([])
        server = try ScriptedServer { connection, _ in
            while true {
                let (head, body) = try connection.readRequest()
                let request = Request(head: head, body: body)
                let number = log.withLock { requests in
                    requests.append(request)
                    return requests.count
                }
                try act(connection, request, number)
            }
        }
        self.log = log
    }

    /// The requests so far.
    public var requests: [Request] { log.withLock { $0 } }
    /// The port it listens on.
    public var port: Int { server.port }
    /// `http://127.0.0.1:PORT`.
    public var address: String { server.address }
}
