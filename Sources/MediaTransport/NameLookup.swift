internal import Glibc
internal import MediaSystem

package enum NameLookup {
    /// Looks up a name, or an address (IPv6 in brackets), on its own thread. Canceling does not stop it.
    ///
    /// - Returns: Numeric addresses in order of preference, each once.
    /// - Throws: `.unknownHost`.
    package static func addresses(host: String, port: Int) async throws(TransportError) -> [String] {
        try await BlockingWork.run { () throws(TransportError) in try lookUp(host, port) }
    }

    private static func lookUp(_ host: String, _ port: Int) throws(TransportError) -> [String] {
        let name = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(name, String(port), &hints, &list)
        guard code == 0 else {
            throw TransportError(.unknownHost, detail: String(cString: gai_strerror(code)))
        }
        defer { freeaddrinfo(list) }
        var addresses: [String] = []
        var next = list
        while let entry = next?.pointee {
            if let text = numeric(entry), !addresses.contains(text) { addresses.append(text) }
            next = entry.ai_next
        }
        return addresses
    }

    private static func numeric(_ entry: addrinfo) -> String? {
        var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
        guard getnameinfo(entry.ai_addr, entry.ai_addrlen, &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST) == 0
        else { return nil }
        return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}
