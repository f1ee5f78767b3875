internal import Foundation
internal import Glibc
internal import Synchronization

/// An unreliable network: forwards bytes between a client and a server, and interrupts the connection whenever a
/// given number of bytes has arrived from the client.
public final class CuttingProxy: Sendable {
    /// How a connection is interrupted.
    public enum Ending: Sendable, CaseIterable {
        /// Both sides are reset.
        case reset
        /// Both sides are closed.
        case close
        /// The server gets no further bytes and sees the end of the stream; its response is forwarded.
        case halfClose
        /// The server gets no further bytes; its response is forwarded.
        case stall
    }

    private struct Plan {
        var every: Int
        var cutsLeft: Int
        var cuts = 0
        var bytesSinceCut = 0
        var bytesFromClient = 0

        /// Counts bytes from the client; true if the connection that sent them is to be interrupted.
        mutating func take(_ count: Int) -> Bool {
            bytesFromClient += count
            bytesSinceCut += count
            guard cutsLeft > 0, bytesSinceCut >= every else { return false }
            bytesSinceCut = 0
            cutsLeft -= 1
            cuts += 1
            return true
        }
    }

    /// Shared with the threads of the connections, which may outlive the proxy.
    private final class Progress: Sendable {
        let plan: Mutex<Plan>

        init(_ plan: Plan) { self.plan = Mutex(plan) }
    }

    private let progress: Progress
    private let listener: ScriptedServer

    /// Starts listening on a free loopback port.
    ///
    /// - Parameters:
    ///   - port: Where the server listens on loopback.
    ///   - byteCount: Bytes from clients, over all connections, between two interruptions.
    ///   - times: The number of interruptions; everything is forwarded after the last one.
    ///   - ending: The kind of interruption.
    /// - Throws: An error if no port is available.
    public init(before port: Int, cuttingEvery byteCount: Int, times: Int, ending: Ending = .reset) throws {
        let progress = Progress(Plan(every: byteCount, cutsLeft: times))
        self.progress = progress
        listener = try ScriptedServer { connection, _ in
            let upstream = try ScriptedServer.Connection.opened(to: port)
            try Self.pass(between: connection, and: upstream, ending: ending) { bytes in
                progress.plan.withLock { $0.take(bytes.count) }
            }
        }
    }

    /// The port it listens on.
    public var port: Int { listener.port }
    /// `http://127.0.0.1:PORT`.
    public var address: String { listener.address }
    /// The number of interruptions so far.
    public var cuts: Int { progress.plan.withLock { $0.cuts } }
    /// Bytes sent by clients, including request heads.
    public var bytesFromClient: Int { progress.plan.withLock { $0.bytesFromClient } }

    /// Forwards bytes until one side ends, or until `isLast` returns true for bytes from the client: then the
    /// connection is interrupted, and those bytes are not forwarded.
    static func pass(
        between client: ScriptedServer.Connection,
        and server: ScriptedServer.Connection,
        ending: Ending = .reset,
        isLast: (ArraySlice<UInt8>) -> Bool
    ) throws {
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            var ends = [client, server].map { pollfd(fd: $0.descriptor, events: Int16(POLLIN), revents: 0) }
            guard poll(&ends, nfds_t(ends.count), 60_000) > 0 else { return }
            if ends[0].revents != 0 {
                let count = recv(client.descriptor, &buffer, buffer.count, 0)
                guard count > 0 else { return }
                guard !isLast(buffer[..<count]) else {
                    switch ending {
                    case .reset:
                        client.reset()
                        return server.reset()
                    case .close: return
                    case .halfClose: shutdown(server.descriptor, Int32(SHUT_WR))
                    case .stall: break
                    }
                    return try passResponse(from: server, to: client)
                }
                try server.write(bytes: buffer[..<count])
            }
            if ends[1].revents != 0 {
                let count = recv(server.descriptor, &buffer, buffer.count, 0)
                guard count > 0 else { return }
                try client.write(bytes: buffer[..<count])
            }
        }
    }

    /// Forwards the rest of the server's bytes.
    private static func passResponse(
        from server: ScriptedServer.Connection,
        to client: ScriptedServer.Connection
    ) throws {
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = recv(server.descriptor, &buffer, buffer.count, 0)
            guard count > 0 else { return }
            try client.write(bytes: buffer[..<count])
        }
    }
}

extension ScriptedServer.Connection {
    /// Connects to a loopback port.
    static func opened(to port: Int) throws -> ScriptedServer.Connection {
        let connection = ScriptedServer.Connection(descriptor: socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        let failed = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { raw in
                connect(connection.descriptor, raw, socklen_t(MemoryLayout<sockaddr_in>.size)) != 0
            }
        }
        guard !failed else { throw ScriptedServer.ScriptError.failed("connect: \(errno)") }
        return connection
    }

    fileprivate func write(bytes: ArraySlice<UInt8>) throws {
        var rest = bytes
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard count > 0 else { throw ScriptedServer.ScriptError.failed("send: \(errno)") }
            rest = rest.dropFirst(count)
        }
    }
}
