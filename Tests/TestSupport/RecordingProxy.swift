/// Forwards everything between a client and a server, and records the requests in the order of arrival.
public final class RecordingProxy: Sendable {
    /// A request as it was sent.
    public struct Request: Sendable {
        /// The request line and the header fields, without the empty line.
        public var head: [String]
        /// As much of the body as was sent.
        public var body: [UInt8] = []
    }

    /// Shared with the threads of the connections, which may outlive the proxy.
    private final class Log: Sendable {
        let requests = Locked<[Request]>([])

        func begin(_ head: [String]) -> Int {
            requests.withLock { requests in
                requests.append(Request(head: head))
                return requests.count - 1
            }
        }

        func append(_ bytes: ArraySlice<UInt8>, to number: Int) {
            requests.withLock { $0[number].body += bytes }
        }
    }

    /// Splits the bytes of a connection into requests. A body has the length that its header specifies.
    private struct Splitter {
        let log: Log
        private var rest: [UInt8] = []
        private var number = 0
        private var missing = 0

        init(_ log: Log) { self.log = log }

        mutating func take(_ bytes: ArraySlice<UInt8>) {
            rest += bytes
            while !rest.isEmpty {
                if missing > 0 {
                    let count = min(missing, rest.count)
                    log.append(rest[..<count], to: number)
                    rest.removeFirst(count)
                    missing -= count
                } else {
                    guard let end = rest.firstRange(of: Array("\r\n\r\n".utf8)) else { return }
                    let head = String(decoding: rest[..<end.lowerBound], as: UTF8.self)
                    number = log.begin(head.split(separator: "\r\n").map(String.init))
                    missing = ScriptedServer.Connection.contentLength(of: head)
                    rest.removeFirst(end.upperBound)
                }
            }
        }
    }

    private let log: Log
    private let listener: ScriptedServer

    /// Starts listening on a free loopback port.
    ///
    /// - Parameter port: Where the server listens on loopback.
    /// - Throws: An error if no port is available.
    public init(before port: Int) throws {
        let log = Log()
        self.log = log
        listener = try ScriptedServer { connection, _ in
            let upstream = try ScriptedServer.Connection.opened(to: port)
            var splitter = Splitter(log)
            try CuttingProxy.pass(between: connection, and: upstream) { bytes in
                splitter.take(bytes)
                return false
            }
        }
    }

    /// `http://127.0.0.1:PORT`.
    public var address: String { listener.address }

    /// The requests since the last call. The client must have exited, so no request is in transit.
    public func takeRequests() -> [Request] {
        _ = listener.waitUntilIdle()
        return log.requests.withLock { requests in
            defer { requests = [] }
            return requests
        }
    }
}
