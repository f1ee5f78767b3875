internal import MediaTransport

/// The credentials that a server requires, from the response to a request without any (gighive-d4 contract sections 2 and
/// 12).
struct RequiredCredentials: Sendable {
    /// nil when the server did not show it.
    var challenge: LoginChallenge?

    /// For messages; nil when unknown.
    var words: String? {
        switch challenge {
        case .password?: "a user name and password (Basic)"
        case .login?: "a login (Bearer)"
        case nil: nil
        }
    }

    /// For scripts: the same names as `Authorization.schemeName`.
    var facts: [String: String] {
        switch challenge {
        case .password?: ["required_scheme": "basic"]
        case .login?: ["required_scheme": "bearer"]
        case nil: [:]
        }
    }
}

extension ServerCheckup {
    /// A server that does not respond to this is reported by the check that follows.
    func requiredCredentials() async -> RequiredCredentials {
        let challenge = try? await client.requiredCredentials()
        return RequiredCredentials(challenge: challenge ?? nil)
    }

    /// Any valid user may read the listing (gighive contract section 7). Secrets are never part of the check.
    func login(_ required: RequiredCredentials) async -> ServerCheck {
        var facts = required.facts
        facts["configured_scheme"] = client.authorization?.schemeName
        facts["login_expires_at"] = (client.authorization?.expiresAt ?? missingLogin?.expiredAt).map(UnixTime.text)
        if let missingLogin {
            facts["configured_scheme"] = "bearer"
            return ServerCheck("login", .failed, "\(missingLogin)", facts: facts, error: missingLogin)
        }
        do throws(GigHiveError) {
            let listing = try await client.listing()
            let total = listing.total.map { "\($0) files" } ?? "a listing"
            return ServerCheck("login", .passed, "accepted\(configured); the server lists \(total)", facts: facts)
        } catch {
            return ServerCheck("login", .failed, "\(error)", facts: facts, error: error)
        }
    }

    /// ` (Basic)`: the scheme of the credentials, with the expiry of a login.
    private var configured: String {
        guard let authorization = client.authorization else { return "" }
        return switch authorization.schemeName {
        case "basic": " (Basic)"
        case "bearer": " (Bearer\(authorization.expiresAt.map { ", until \(UnixTime.text($0))" } ?? ""))"
        default: " (API key)"
        }
    }
}
