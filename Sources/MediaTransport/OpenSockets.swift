internal import CCurl
internal import CCurlShims
internal import Glibc

/// The sockets that libcurl has open: a transfer uses them to query the kernel for its unacknowledged bytes.
///
/// libcurl reports a transfer's socket only after the transfer ends (`CURLINFO_ACTIVESOCKET`), but its local port as
/// soon as it is connected, even on a kept connection. Used only on the loop's thread.
final class OpenSockets {
    /// The sockets with their local ports; 0 until the port is known. A connected socket keeps its port.
    private var ports: [curl_socket_t: Int] = [:]

    /// Tracks the sockets that a handle opens. libcurl keeps the context with each connection, so this object must live
    /// as long as the multi handle.
    func follow(_ handle: UnsafeMutableRawPointer) {
        let context = Unmanaged.passUnretained(self).toOpaque()
        _ = shim_set_socket_opened(handle, openedCallback, context)
        _ = shim_set_socket_close(handle, closeCallback, context)
    }

    func socket(localPort: Int) -> curl_socket_t? {
        if let known = ports.first(where: { $0.value == localPort }) { return known.key }
        for (socket, port) in ports where port == 0 {
            // A socket that is not connected yet has no port.
            ports[socket] = max(0, Int(shim_socket_local_port(socket)))
            if ports[socket] == localPort { return socket }
        }
        return nil
    }

    fileprivate func opened(_ socket: curl_socket_t) {
        ports[socket] = 0
    }

    fileprivate func close(_ socket: curl_socket_t) -> CInt {
        ports[socket] = nil
        return Glibc.close(socket)
    }
}

/// The context is an `OpenSockets` that the loop owns; libcurl calls back on the loop's thread, and for the last time
/// from `curl_multi_cleanup`.
private func openSockets(_ context: UnsafeMutableRawPointer?) -> OpenSockets? {
    context.map { Unmanaged<OpenSockets>.fromOpaque($0).takeUnretainedValue() }
}

private let openedCallback: shim_socket_opened_callback = { context, socket, _ in
    openSockets(context)?.opened(socket)
    return CInt(CURL_SOCKOPT_OK)
}

private let closeCallback: shim_socket_close_callback = { context, socket in
    openSockets(context)?.close(socket) ?? Glibc.close(socket)
}
