import Foundation
import Synchronization
import TestSupport

/// A GigHive server whose response to each POST is set by a test. It stores nothing: every query for a file gets "not
/// here".
final class ScriptedSite: Sendable {
    /// Responds to one POST; the head is read, but the body is not.
    typealias Script = @Sendable (ScriptedServer.Connection, String) throws -> Void

    private let server: ScriptedServer
    private let received: Counter

    /// A site that responds "not here" to every query.
    convenience init(
        receiveBuffer: Int32? = nil,
        _ script: @escaping Script = { connection, _ in connection.close() }
    ) throws {
        try self.init(receiveBuffer: receiveBuffer, posts: script, queries: Self.denyEverything)
    }

    /// A site that responds to each POST, once its body is read, with this response.
    convenience init(
        respondingWith status: Int,
        _ body: String,
        type: String = "application/json",
        headers: [String] = []
    ) throws {
        try self.init { connection, head in
            try connection.readBody(of: head)
            try connection.respond(status, body, type: type, headers: headers)
        }
    }

    /// A site with every response set by a test.
    /// - Parameters:
    ///   - receiveBuffer: See `ScriptedServer`.
    ///   - script: Responds to POSTs.
    ///   - queries: Responds to everything else.
    /// - Throws: `ScriptError` if no port is available.
    init(receiveBuffer: Int32? = nil, posts script: @escaping Script, queries: @escaping Script) throws {
        let received = Counter()
        self.received = received
        server = try ScriptedServer(receiveBuffer: receiveBuffer) { connection, _ in
            while true {
                let head = try connection.readHead()
                guard !head.hasPrefix("POST ") else {
                    received.count.withLock { $0 += 1 }
                    try script(connection, head)
                    continue
                }
                try queries(connection, head)
            }
        }
    }

    var address: String { server.address }
    /// POSTs that arrived.
    var posts: Int { received.count.withLock { $0 } }
    var connections: Int { server.connectionCount }

    /// Serves nothing and lists nothing (gighive contract section 7).
    private static func denyEverything(_ connection: ScriptedServer.Connection, _ head: String) throws {
        if head.hasPrefix("HEAD ") {
            try connection.write("HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\nContent-Length: 9\r\n\r\n")
        } else if head.hasPrefix("GET /db/database.php") {
            let pagination =
                #"{"enabled":false,"total":0,"threshold":750,"page":1,"pageSize":750,"pageCount":1,"start":0,"end":0}"#
            try connection.respond(200, #"{"pagination":\#(pagination),"entries":[]}"#)
        } else {
            try connection.respond(404, #"{"error":"Not Found"}"#)
        }
    }

    /// Apache's page for a status (gighive contract section 1).
    static func page(_ title: String) -> String {
        "<!DOCTYPE HTML PUBLIC \"-//IETF//DTD HTML 2.0//EN\">\n<html><head>\n<title>\(title)</title>\n</head><body>\n"
            + "<h1>\(title)</h1>\n</body></html>\n"
    }

    /// A success without a checksum, so that the test does not need a digest.
    static let success =
        #"{"id":18,"asset_id":18,"file_type":"video","delete_token":"\#(String(repeating: "ab", count: 32))"}"#
}

/// A counter that connections increment and tests read.
private final class Counter: Sendable {
    let count = Mutex(0)
}

extension ScriptedServer.Connection {
    /// Reads the body of a request whose head was read, after sending the interim 100 if it was requested.
    func readBody(of head: String) throws {
        try proceed(head)
        try readBody(Self.contentLength(of: head))
    }

    /// Sends the interim 100 if it was requested (RFC 9110 section 10.1.1).
    func proceed(_ head: String) throws {
        if head.lowercased().contains("expect: 100-continue") {
            try write("HTTP/1.1 100 Continue\r\n\r\n")
        }
    }
}
