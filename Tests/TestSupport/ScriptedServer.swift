import Foundation
import Glibc
import Synchronization

/// A raw TCP server on a free loopback port with every byte set by a test: it can stall, reset, respond early or
/// truncate a response. Each connection runs the script on a separate thread.
public final class ScriptedServer: Sendable {
    /// The port it listens on.
    public let port: Int
    private let listener: Int32
    private let counter = Counter()
    private let running = DispatchGroup()

    /// Starts listening.
    ///
    /// - Parameters:
    ///   - receiveBuffer: Size of the sockets' receive buffers in bytes, so that little can be acknowledged without
    ///     being read; nil leaves it to the kernel.
    ///   - everyInterface: Listens on all addresses of the machine instead of loopback only.
    ///   - script: Runs for each connection, with its number from 1. An error ends that connection.
    /// - Throws: `ScriptError` if no port is available.
    public init(
        receiveBuffer: Int32? = nil,
        everyInterface: Bool = false,
        _ script: @escaping @Sendable (Connection, Int) throws -> Void
    ) throws {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        listener = descriptor
        if var size = receiveBuffer {
            setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
        }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = everyInterface ? 0 : UInt32(0x7f00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let failed = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { raw in
                bind(descriptor, raw, length) != 0 || listen(descriptor, 64) != 0
                    || getsockname(descriptor, raw, &length) != 0
            }
        }
        guard !failed else { throw ScriptError.failed("bind: \(errno)") }
        port = Int(UInt16(bigEndian: address.sin_port))
        Thread.detachNewThread { [counter, running] in
            while true {
                let accepted = accept(descriptor, nil, nil)
                if accepted < 0 {
                    // Only here: if another thread closed it, the number could belong to another server before the
                    // next `accept`.
                    Glibc.close(descriptor)
                    return
                }
                let number = counter.next()
                running.enter()
                Thread.detachNewThread {
                    let connection = Connection(descriptor: accepted)
                    try? script(connection, number)
                    connection.close()
                    running.leave()
                }
            }
        }
    }

    deinit {
        stopListening()
    }

    /// Rejects new connections from now on; existing ones stay open.
    public func stopListening() {
        Glibc.shutdown(listener, Int32(SHUT_RDWR))
    }

    /// `http://127.0.0.1:PORT`.
    public var address: String { "http://127.0.0.1:\(port)" }

    /// Waits until the scripts of all connections have ended: if the peer has exited, everything it sent has then been
    /// processed.
    ///
    /// - Returns: false if a script is still running after three minutes.
    public func waitUntilIdle() -> Bool {
        running.wait(timeout: .now() + 180) == .success
    }

    /// Connections accepted so far.
    public var connectionCount: Int { counter.value }

    /// A counter that the accepting thread increments and tests read.
    private final class Counter: Sendable {
        private let count = Mutex(0)

        var value: Int { count.withLock { $0 } }

        func next() -> Int {
            count.withLock { count in
                count += 1
                return count
            }
        }
    }

    /// The reason why a script ends.
    public enum ScriptError: Error {
        /// The peer closed the connection, or a system call failed.
        case failed(String)
    }

    /// One connection, accepted or opened. Used by the thread of its script only.
    public final class Connection {
        /// The socket.
        public let descriptor: Int32
        private var buffered: [UInt8] = []
        private var isClosed = false

        init(descriptor: Int32) {
            self.descriptor = descriptor
            var timeout = timeval(tv_sec: 180, tv_usec: 0)
            setsockopt(
                descriptor,
                SOL_SOCKET,
                SO_RCVTIMEO,
                &timeout,
                socklen_t(MemoryLayout<timeval>.size)
            )
        }

        deinit { close() }

        /// Reads up to and including the empty line that ends a request head.
        @discardableResult
        public func readHead() throws -> String {
            let end = Array("\r\n\r\n".utf8)
            while true {
                if let range = buffered.firstRange(of: end) {
                    defer { buffered.removeFirst(range.upperBound) }
                    return String(decoding: buffered[..<range.upperBound], as: UTF8.self)
                }
                buffered += try receive(65_536)
            }
        }

        /// Reads exactly this many body bytes.
        @discardableResult
        public func readBody(_ count: Int) throws -> [UInt8] {
            while buffered.count < count {
                buffered += try receive(min(1 << 20, count - buffered.count))
            }
            defer { buffered.removeFirst(count) }
            return Array(buffered[..<count])
        }

        /// Reads a whole request: head, the interim 100 if it is requested, and the body announced by its
        /// `Content-Length`.
        @discardableResult
        public func readRequest() throws -> (head: String, body: [UInt8]) {
            let head = try readHead()
            if head.lowercased().contains("expect: 100-continue") {
                try write("HTTP/1.1 100 Continue\r\n\r\n")
            }
            return (head, try readBody(Self.contentLength(of: head)))
        }

        /// The announced length of a request's body; 0 without one.
        public static func contentLength(of head: String) -> Int {
            let line = head.lowercased().split(separator: "\r\n").first { $0.hasPrefix("content-length:") }
            return line.flatMap { Int($0.dropFirst(15).drop { $0 == " " }) } ?? 0
        }

        /// Sends text.
        public func write(_ text: String) throws {
            try checkIsOpen()
            var bytes = Array(text.utf8)[...]
            while !bytes.isEmpty {
                let count = bytes.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
                guard count > 0 else { throw ScriptError.failed("send: \(errno)") }
                bytes = bytes.dropFirst(count)
            }
        }

        /// Sends a response with these bytes as its body.
        public func respond(_ status: Int, bytes: [UInt8], headers: [String] = []) throws {
            let extra = headers.map { $0 + "\r\n" }.joined()
            try write("HTTP/1.1 \(status) Scripted\r\n\(extra)Content-Length: \(bytes.count)\r\n\r\n")
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = rest.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
                guard count > 0 else { throw ScriptError.failed("send: \(errno)") }
                rest = rest.dropFirst(count)
            }
        }

        /// Sends a response with a body and its length.
        public func respond(
            _ status: Int,
            _ body: String,
            type: String = "application/json",
            headers: [String] = []
        ) throws {
            let extra = headers.map { $0 + "\r\n" }.joined()
            try write(
                "HTTP/1.1 \(status) Scripted\r\nContent-Type: \(type)\r\n\(extra)Content-Length: \(body.utf8.count)\r\n\r\n"
                    + body
            )
        }

        /// Waits until the peer closes, or sends nothing for three minutes; incoming bytes are discarded.
        public func waitForClose() {
            while (try? receive(65_536)) != nil {}
        }

        /// Closes with a TCP reset.
        public func reset() {
            var linger = linger(l_onoff: 1, l_linger: 0)
            setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<linger>.size))
            close()
        }

        /// Closes without a reset.
        public func close() {
            guard !isClosed else { return }
            isClosed = true
            Glibc.close(descriptor)
        }

        /// Throws after `close`: the system may have given the descriptor's number to another connection.
        private func checkIsOpen() throws {
            guard !isClosed else { throw ScriptError.failed("closed") }
        }

        private func receive(_ limit: Int) throws -> [UInt8] {
            try checkIsOpen()
            let bytes = [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
                count = max(0, recv(descriptor, buffer.baseAddress, limit, 0))
            }
            guard !bytes.isEmpty else { throw ScriptError.failed("closed") }
            return bytes
        }
    }
}

/// A signal between two sides of a test.
public final class Gate: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)

    /// A closed gate.
    public init() {}

    /// Releases one waiter.
    public func open() {
        semaphore.signal()
    }

    /// Blocks a dedicated thread (never a task's).
    ///
    /// - Returns: false if the gate is not opened within three minutes.
    @discardableResult
    public func wait() -> Bool {
        semaphore.wait(timeout: .now() + 180) == .success
    }

    /// Waits without blocking a task's thread.
    @discardableResult
    public func opened() async -> Bool {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread { continuation.resume(returning: self.wait()) }
        }
    }
}
