/// Credentials for one origin. Neither the description nor reflection shows the secret.
public struct Authorization: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Never print a value: it contains the secret.
    enum Scheme: Sendable, Equatable {
        case basic(user: String, password: String)
        /// `expiresAt` in seconds since 1970; nil if the server did not report it.
        case bearer(token: String, expiresAt: Int64?)
        case uploadToken(String)
        case apiKey(header: String, key: String)
    }

    let scheme: Scheme
    /// The only origin that the credentials are sent to.
    public let origin: Origin

    /// HTTP Basic (RFC 7617), in UTF-8. Never sent to an origin that requires a login (`LoginRequirements`).
    public static func basic(user: String, password: String, for origin: Origin) -> Authorization {
        Authorization(scheme: .basic(user: user, password: password), origin: origin)
    }

    /// The token of a login (RFC 6750). Not sent after `expiresAt` (in seconds since 1970; nil if unknown) (gighive-d4
    /// contract section 12).
    public static func bearer(_ token: String, expiresAt: Int64?, for origin: Origin) -> Authorization {
        Authorization(scheme: .bearer(token: token, expiresAt: expiresAt), origin: origin)
    }

    /// The token of an event link, for guests: `X-Upload-Token` (gighive contract section 6).
    public static func uploadToken(_ token: String, for origin: Origin) -> Authorization {
        Authorization(scheme: .uploadToken(token), origin: origin)
    }

    /// An API key in a header field.
    public static func apiKey(_ key: String, header: String = "X-API-Key", for origin: Origin) -> Authorization {
        Authorization(scheme: .apiKey(header: header, key: key), origin: origin)
    }

    /// The user name of HTTP Basic; nil for other schemes.
    public var user: String? {
        if case .basic(let user, _) = scheme { user } else { nil }
    }

    /// The API key, only for computing its digest; nil for other schemes. Secret.
    package var apiKey: String? {
        if case .apiKey(_, let key) = scheme { key } else { nil }
    }

    /// The name of the scheme: `basic`, `bearer`, `upload_token` or `api_key`.
    public var schemeName: String {
        switch scheme {
        case .basic: "basic"
        case .bearer: "bearer"
        case .uploadToken: "upload_token"
        case .apiKey: "api_key"
        }
    }

    /// When a bearer token expires, in seconds since 1970; nil for other schemes, and if unknown.
    public var expiresAt: Int64? {
        if case .bearer(_, let expiresAt) = scheme { expiresAt } else { nil }
    }

    /// The scheme, without the secret.
    public var description: String {
        switch scheme {
        case .basic(let user, _): "Basic \(user):***"
        case .bearer: "Bearer ***"
        case .uploadToken: "\(Self.uploadTokenField): ***"
        case .apiKey(let header, _): "\(header): ***"
        }
    }

    /// The scheme, without the secret.
    public var debugDescription: String { description }

    /// Has no children: `dump` would print the secret.
    public var customMirror: Mirror { Mirror(self, children: [:]) }

    private static let uploadTokenField = "X-Upload-Token"
}

extension Authorization {
    /// The header field that carries the secret; nil for Basic, which libcurl writes itself.
    var headerField: HTTPHeader? {
        switch scheme {
        case .basic: nil
        case .bearer(let token, _): HTTPHeader("Authorization", "Bearer \(token)")
        case .uploadToken(let token): HTTPHeader(Self.uploadTokenField, token)
        case .apiKey(let header, let key): HTTPHeader(header, key)
        }
    }

    /// Why the credentials must not be sent (`.loginRequired` or `.loginExpired`); nil if they may be. `now` is in
    /// seconds since 1970.
    func refusal(_ requirements: LoginRequirements, now: Int64) -> TransportError.Kind? {
        switch scheme {
        case .basic: requirements.contains(origin) ? .loginRequired(origin) : nil
        case .bearer(_, let expiresAt?) where expiresAt <= now: .loginExpired(origin, at: expiresAt)
        case .bearer, .uploadToken, .apiKey: nil
        }
    }
}
