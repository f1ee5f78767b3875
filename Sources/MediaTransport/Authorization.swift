/// Proof of identity for one origin. Its description never shows the secret.
public struct Authorization: Sendable, CustomStringConvertible {
    /// The kinds of proof the servers understand.
    enum Scheme: Sendable {
        case basic(user: String, password: String)
        case header(name: String, value: String)
    }

    let scheme: Scheme
    /// The only origin this proof is ever sent to.
    public let origin: Origin

    /// HTTP Basic (RFC 7617), UTF-8.
    public static func basic(user: String, password: String, for origin: Origin) -> Authorization {
        Authorization(scheme: .basic(user: user, password: password), origin: origin)
    }

    /// An API key in a header field.
    public static func apiKey(_ key: String, header: String = "X-API-Key", for origin: Origin) -> Authorization {
        Authorization(scheme: .header(name: header, value: key), origin: origin)
    }

    /// The user name of HTTP Basic; nil for an API key.
    public var user: String? {
        if case .basic(let user, _) = scheme { user } else { nil }
    }

    /// An API key, for a digest of it; nil for HTTP Basic. Secret.
    package var apiKey: String? {
        if case .header(_, let value) = scheme { value } else { nil }
    }

    /// The kind, without the secret.
    public var description: String {
        switch scheme {
        case .basic(let user, _): "Basic \(user):***"
        case .header(let name, _): "\(name): ***"
        }
    }
}
