/// An HTTP proxy in front of a TLS server: it connects its clients to a loopback port (CONNECT, RFC 9110 section
/// 9.3.6), or refuses to do so.
public final class TunnelProxy: Sendable {
    private let listener: ScriptedServer

    /// Starts listening on a free loopback port.
    ///
    /// - Parameters:
    ///   - port: Where the server listens on loopback, whatever address the clients request.
    ///   - status: The response to CONNECT; any but 200 refuses it.
    /// - Throws: An error if no port is available.
    public init(before port: Int, status: Int = 200) throws {
        listener = try ScriptedServer { connection, _ in
            try connection.readHead()
            guard status == 200 else { return try connection.respond(status, "") }
            let upstream = try ScriptedServer.Connection.opened(to: port)
            try connection.write("HTTP/1.1 200 Connection established\r\n\r\n")
            try CuttingProxy.pass(between: connection, and: upstream) { _ in false }
        }
    }

    /// `http://127.0.0.1:PORT`.
    public var address: String { listener.address }
}
