internal import CCurl
internal import CCurlShims
internal import Glibc
internal import MediaCore

/// The scheme, host and port that credentials are bound to (RFC 9110 section 4.3.1).
public struct Origin: Sendable, Hashable, CustomStringConvertible {
    /// `http` or `https`.
    public let scheme: String
    /// Lower case; an internationalized name is in punycode; an IPv6 address is in brackets.
    public let host: String
    /// The effective port: the scheme's default if the address has none.
    public let port: Int

    /// Whether the address is loopback: `localhost`, `*.localhost` (RFC 6761 section 6.3), `127.0.0.0/8`, `[::1]`. An
    /// invalid address such as `127.0.0.1.5` is a host name, which a resolver may map to any machine.
    public var isLoopback: Bool {
        host == "localhost" || host.hasSuffix(".localhost") || IPAddress(host)?.isLoopback == true
    }

    public var hasDefaultPort: Bool {
        port == (scheme == "https" ? 443 : 80)
    }

    /// `host`, with `:port` if it is not the scheme's default: the key of the token store.
    public var scope: String {
        hasDefaultPort ? host : "\(host):\(port)"
    }

    /// `scheme://host[:port]`.
    public var description: String {
        "\(scheme)://\(scope)"
    }
}

/// Why a server address was refused.
public enum ServerURLError: Error, Equatable, Sendable {
    /// Not a valid address, with the reason.
    case malformed(String)
    /// A scheme other than `http` and `https`.
    case unsupportedScheme(String)
    /// `user:password@` in the address. The credentials are not kept.
    case containsCredentials
    /// A path, query or fragment after the host. Servers are at the root of their host (gighive contract, section 1).
    case containsPath(suggestion: String)
}

/// The address of a server: `http://host[:port]` or `https://host[:port]`, with a base path if one is allowed.
///
/// Parsed once, by libcurl's own URL parser, so the token scope, credential origin and request always agree on the
/// host.
public struct ServerURL: Sendable, Hashable, CustomStringConvertible {
    /// The origin that credentials and tokens are bound to.
    public let origin: Origin
    /// Whether the address had no scheme and `https://` was assumed.
    public let assumedScheme: Bool

    /// The server's path on its host: empty at the root, otherwise with a leading slash and without a trailing one.
    public let basePath: String

    /// Parses an address such as `media.example.org` or `http://localhost:8080/`; an address without a scheme gets
    /// `https://`.
    ///
    /// `allowingPath` accepts a base path, as used with a reverse proxy; slashes at its end are dropped. The error
    /// never contains a refused password.
    public init(_ text: String, allowingPath: Bool = false) throws(ServerURLError) {
        assumedScheme = !text.contains("://")
        guard Self.namesHost(text) else { throw Self.malformed("no host name") }
        let parts = try CurlURL.parse(assumedScheme ? "https://" + text : text)
        guard parts.scheme == "http" || parts.scheme == "https" else {
            throw .unsupportedScheme(parts.scheme)
        }
        if parts.hasCredentials {
            throw .containsCredentials
        }
        origin = Origin(scheme: parts.scheme, host: parts.host, port: parts.port)
        let path = parts.path.replacing(/\/+$/, with: "")
        guard path.isEmpty || allowingPath, !parts.hasQueryOrFragment else {
            throw .containsPath(suggestion: origin.description)
        }
        basePath = path
    }

    /// Whether the host directly follows the scheme. libcurl tolerates further slashes, and reads
    /// `http:///x` as the host `x`.
    private static func namesHost(_ text: String) -> Bool {
        let authority = text.firstRange(of: "://").map { text[$0.upperBound...] } ?? text[...]
        return authority.first.map { !"/\\?#".contains($0) } ?? false
    }

    fileprivate static func malformed(_ reason: String) -> ServerURLError {
        .malformed("\(reason); use the form https://HOST[:PORT]")
    }

    /// The token store's key: host, plus the port if it is not the scheme's default.
    public var scope: String { origin.scope }

    /// `scheme://host[:port]` and the base path, without a trailing slash.
    public var description: String { origin.description + basePath }

    /// The address of a resource. `path` is absolute, below the base path, and percent-encoded;
    /// `query` is encoded here.
    public func resource(_ path: String, query: [(name: String, value: String)] = []) -> RequestURL {
        var text = description + path
        for (index, item) in query.enumerated() {
            text +=
                (index == 0 ? "?" : "&") + PercentEncoding.encode(item.name) + "=" + PercentEncoding.encode(item.value)
        }
        return RequestURL(origin: origin, text: text)
    }
}

/// The complete address of one request. It can only be created from a `ServerURL`, so its origin is that of the server.
public struct RequestURL: Sendable, Hashable, CustomStringConvertible {
    /// The origin that the request is sent to.
    public let origin: Origin
    /// The address as passed to libcurl.
    public let text: String

    /// The address as passed to libcurl.
    public var description: String { text }
}

/// The parts of an address, as parsed by `curl_url`.
struct CurlURL {
    var scheme: String
    var host: String
    var port: Int
    var path: String
    var hasCredentials: Bool
    var hasQueryOrFragment: Bool

    static func parse(_ text: String) throws(ServerURLError) -> CurlURL {
        guard let handle = curl_url() else {
            throw .malformed("out of memory")
        }
        defer { curl_url_cleanup(handle) }
        // Unknown schemes are accepted here to let the error contain them.
        let flags = UInt32(CURLU_NON_SUPPORT_SCHEME)
        let code = curl_url_set(handle, CURLUPART_URL, text, flags)
        guard code == CURLUE_OK else {
            let reason = String(cString: curl_url_strerror(code))
            throw ServerURL.malformed(reason.prefix(1).lowercased() + reason.dropFirst())
        }
        let scheme = part(handle, CURLUPART_SCHEME) ?? ""
        guard let host = copied({ shim_url_get_host(handle, &$0) }), !host.isEmpty else {
            throw ServerURL.malformed("no host name")
        }
        // libcurl has decoded the host once; if it were written out and parsed again, it would be decoded to a
        // different host.
        guard !host.contains("%") else {
            throw ServerURL.malformed("a percent sign in the host name")
        }
        let port = part(handle, CURLUPART_PORT, UInt32(CURLU_DEFAULT_PORT)).flatMap { Int($0) } ?? 0
        return CurlURL(
            scheme: scheme.lowercased(),
            host: host.lowercased(),
            port: port,
            path: part(handle, CURLUPART_PATH) ?? "/",
            hasCredentials: part(handle, CURLUPART_USER) != nil || part(handle, CURLUPART_PASSWORD) != nil,
            hasQueryOrFragment: part(handle, CURLUPART_QUERY) != nil || part(handle, CURLUPART_FRAGMENT) != nil
        )
    }

    private static func part(_ handle: OpaquePointer, _ part: CURLUPart, _ flags: UInt32 = 0) -> String? {
        copied { curl_url_get(handle, part, &$0, flags) }
    }

    private static func copied(_ get: (inout UnsafeMutablePointer<CChar>?) -> CURLUcode) -> String? {
        var value: UnsafeMutablePointer<CChar>?
        guard get(&value) == CURLUE_OK, let value else { return nil }
        defer { curl_free(value) }
        return String(cString: value)
    }
}

/// A numeric IPv4 or IPv6 address.
struct IPAddress: Equatable {
    /// 4 or 16 bytes in network order.
    let bytes: [UInt8]

    /// Reads four decimal numbers separated by dots, or an IPv6 address with or without brackets; nil
    /// for anything else.
    init?(_ text: some StringProtocol) {
        let text = text.hasPrefix("[") && text.hasSuffix("]") ? String(text.dropFirst().dropLast()) : String(text)
        var four = in_addr()
        var sixteen = in6_addr()
        if inet_pton(AF_INET, text, &four) == 1 {
            bytes = withUnsafeBytes(of: four) { Array($0) }
        } else if inet_pton(AF_INET6, text, &sixteen) == 1 {
            bytes = withUnsafeBytes(of: sixteen) { Array($0) }
        } else {
            return nil
        }
    }

    /// `127.0.0.0/8` (RFC 1122 section 3.2.1.3) or `::1` (RFC 4291 section 2.5.3).
    var isLoopback: Bool {
        bytes.count == 4 ? bytes[0] == 127 : bytes.last == 1 && bytes.dropLast().allSatisfy { $0 == 0 }
    }

    /// Whether the first `bits` bits of both addresses are equal; never for addresses of different families.
    func hasPrefix(_ other: IPAddress, bits: Int) -> Bool {
        guard bytes.count == other.bytes.count, (0...bytes.count * 8).contains(bits) else { return false }
        return (0..<bits).allSatisfy { bit in
            (bytes[bit / 8] ^ other.bytes[bit / 8]) & (0x80 >> UInt8(bit % 8)) == 0
        }
    }
}
