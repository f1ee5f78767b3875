/// The environment variable that sends requests through a proxy. libcurl reads it, so that a connection that cannot be
/// made may be the proxy's fault and not the server's.
struct ProxyVariable: Sendable, Equatable {
    /// For example `https_proxy`.
    var name: String
    /// Host of the proxy, without the credentials that the variable may hold.
    var host: String

    /// Finds the variable that libcurl's words on a failed connection speak of: those name the proxy itself (`no_proxy`
    /// keeps it out of them), or say that it refused the tunnel.
    init?(blamedBy detail: String, environment: [String: String]) {
        // The names that libcurl knows (curl(1), section ENVIRONMENT). HTTP_PROXY is not among them on purpose.
        let names = ["https_proxy", "HTTPS_PROXY", "http_proxy", "all_proxy", "ALL_PROXY"]
        let variables = names.compactMap { name in
            environment[name].flatMap { $0.isEmpty ? nil : Self(name: name, address: $0) }
        }
        let words = detail.lowercased()
        let named = variables.first { words.contains(" \($0.host.lowercased()) ") || words.hasSuffix(" \($0.host)") }
        let isTunnelRefused = words.contains("proxy") || words.contains("connect tunnel")
        guard let found = named ?? (isTunnelRefused ? variables.first : nil) else { return nil }
        self = found
    }

    private init(name: String, address: String) {
        self.name = name
        let afterScheme = address.firstRange(of: "://").map { address[$0.upperBound...] } ?? address[...]
        let authority = afterScheme.prefix { $0 != "/" }
        let hostAndPort = authority.split(separator: "@").last ?? ""
        host = String(
            hostAndPort.hasPrefix("[")
                ? hostAndPort.dropFirst().prefix { $0 != "]" } : hostAndPort.prefix { $0 != ":" }
        )
    }

    /// What to do about it, one line.
    var hint: String { "a proxy is set by the variable \(name); unset it or check it" }
}
