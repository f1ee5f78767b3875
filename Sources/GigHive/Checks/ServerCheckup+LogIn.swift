internal import MediaCore
internal import MediaTransport

/// The credentials that a server requires, as far as its responses show it (gighive-d4 contract sections 2 and 12).
struct RequiredCredentials: Sendable {
    /// nil when the server did not show it.
    var challenge: LoginChallenge?

    init(challenge: LoginChallenge?) { self.challenge = challenge }

    /// What the server accepted is what it requires.
    init(accepted authorization: Authorization?) {
        switch authorization?.schemeName {
        case "basic"?: challenge = .password
        case "bearer"?: challenge = .login
        default: challenge = nil
        }
    }

    /// What a refusal shows.
    init(_ error: GigHiveError) {
        switch error.code {
        case .loginRequired where error.httpStatus == 401: challenge = .login
        case .unauthorized where error.httpStatus == 401: challenge = .password
        default: challenge = nil
        }
    }

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
    func login() async -> ServerCheck {
        var facts: [String: String] = [:]
        facts["configured_scheme"] = client.authorization?.schemeName
        let expiry = client.authorization?.expiresAt ?? missingLogin?.expiredAt
        facts["login_expires_at"] = expiry.map(RFC3339.text(seconds:))
        if let missingLogin {
            facts["configured_scheme"] = "bearer"
            facts.merge(await requiredCredentials().facts) { $1 }
            return ServerCheck("login", .failed, "\(missingLogin)", facts: facts, error: missingLogin)
        }
        do throws(GigHiveError) {
            let listing = try await client.listing()
            let total = listing.total.map { "\($0) files" } ?? "a listing"
            facts.merge(RequiredCredentials(accepted: client.authorization).facts) { $1 }
            return ServerCheck("login", .passed, "accepted\(configured); the server lists \(total)", facts: facts)
        } catch {
            facts.merge(RequiredCredentials(error).facts) { $1 }
            return ServerCheck("login", .failed, "\(error)", facts: facts, error: error)
        }
    }

    /// ` (Basic)`: the scheme of the credentials, with the expiry of a login.
    private var configured: String {
        guard let authorization = client.authorization else { return "" }
        return switch authorization.schemeName {
        case "basic": " (Basic)"
        case "bearer": " (Bearer\(authorization.expiresAt.map { ", until \(RFC3339.text(seconds: $0))" } ?? ""))"
        default: " (API key)"
        }
    }
}
