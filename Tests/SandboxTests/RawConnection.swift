import Foundation
import Glibc

/// A TCP connection that a test can interrupt in several ways.
final class RawConnection {
    struct Failure: Error {}

    private let descriptor: Int32
    private var isOpen = true

    init(port: Int) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        // The pointer is used during the call only; sockaddr_in starts with the members of sockaddr.
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else { throw Failure() }
    }

    deinit { close() }

    func send(_ text: String) throws {
        try send(Array(text.utf8))
    }

    /// Sends this many zeros.
    func send(zeros count: Int) throws {
        let piece = [UInt8](repeating: 0, count: 1 << 20)
        var rest = count
        while rest > 0 {
            try send(Array(piece.prefix(rest)))
            rest -= min(rest, piece.count)
        }
    }

    private func send(_ bytes: [UInt8]) throws {
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { throw Failure() }
            sent += count
        }
    }

    /// Closes the sending side only.
    func finishSending() {
        shutdown(descriptor, Int32(SHUT_WR))
    }

    /// Everything that the server sends until it closes the connection.
    func response() -> String {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            guard count > 0 else { return String(decoding: bytes, as: UTF8.self) }
            bytes += buffer[..<count]
        }
    }

    /// Closes with a TCP reset.
    func reset() {
        var option = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
        close()
    }

    func close() {
        guard isOpen else { return }
        isOpen = false
        Glibc.close(descriptor)
    }
}
