internal import Glibc
internal import MediaCore

/// The proxy that the environment sets for plain http, by libcurl's rules (curl(1), section ENVIRONMENT).
///
/// A transfer without a proxy disables libcurl's own choice, so both agree.
package enum ProxyChoice {
    /// The variable, such as `http_proxy`, that sends plain http to this server through a proxy; nil if requests go
    /// directly, and for `https`, which a proxy passes on encrypted.
    package static func variable(for origin: Origin, in variable: (String) -> String? = Self.ofThisProcess) -> String? {
        guard origin.scheme == "http" else { return nil }
        // HTTP_PROXY is ignored: clients of a CGI program could set it (httpoxy.org).
        let names = ["http_proxy", "all_proxy", "ALL_PROXY"]
        guard let name = names.first(where: { variable($0)?.isEmpty == false }) else { return nil }
        let exceptions = variable("no_proxy") ?? variable("NO_PROXY") ?? ""
        return isException(origin.host, in: exceptions) ? nil : name
    }

    /// Passwords in the variables that can set a proxy, for any scheme: as written, decoded, and as HTTP Basic sends
    /// them.
    package static func passwords(in variable: (String) -> String? = Self.ofThisProcess) -> [String] {
        ["http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"].compactMap { variable($0) }.flatMap {
            address in
            let afterScheme = address.firstRange(of: "://").map { address[$0.upperBound...] } ?? address[...]
            guard let at = afterScheme.lastIndex(of: "@") else { return [String]() }
            let login = afterScheme[..<at]
            guard let colon = login.firstIndex(of: ":") else { return [] }
            let password = String(login[login.index(after: colon)...])
            // libcurl decodes the password before it sends it.
            let decoded = PercentEncoding.decode(password)
            let user = PercentEncoding.decode(String(login[..<colon]))
            return [password, decoded, KnownSecrets.base64("\(user):\(decoded)")]
        }
    }

    package static func ofThisProcess(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }
    }

    /// Whether `no_proxy` lists the host: `*`, the name or a parent domain, the address or a network in CIDR notation.
    private static func isException(_ host: String, in list: String) -> Bool {
        let host = host.hasSuffix(".") ? host.dropLast() : host[...]
        let address = IPAddress(host)
        return list.split { $0 == "," || $0.isWhitespace }.contains { entry in
            if entry == "*" { return list.filter { !$0.isWhitespace } == "*" }
            guard let address else {
                let name = entry.lowercased().trimmingPrefix(".")
                return !name.isEmpty && (host == name || host.hasSuffix("." + name))
            }
            let parts = entry.split(separator: "/", maxSplits: 1)
            guard let network = parts.first.flatMap({ IPAddress($0) }) else { return false }
            let bits = parts.count == 2 ? Int(parts[1]) : network.bytes.count * 8
            return bits.map { address.hasPrefix(network, bits: $0) } ?? false
        }
    }
}
