internal import Foundation
internal import MediaCore
internal import MediaTransport

/// A login that a server issued (gighive-d4 contract section 12). Neither description nor reflection shows the token.
public struct IssuedLogin: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The token. Secret.
    public let token: String
    /// The role as the server names it, for example `contributor`.
    public let role: String?
    /// The e-mail address of the user.
    public let email: String
    /// Seconds since 1970; nil when the server did not report it.
    public let expiresAt: Int64?

    /// The user, without the token.
    public var description: String { "login of \(email)" }
    /// The user, without the token.
    public var debugDescription: String { description }
    /// Has no children: `dump` would print the token.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

extension GigHiveClient {
    /// Logs in (`POST /api/login.php`, gighive-d4 contract section 12). The request carries no other credentials.
    ///
    /// The password is in the body: the caller decides whether the server may receive it over plain `http`.
    ///
    /// - Parameters:
    ///   - email: The user's e-mail address.
    ///   - password: The password.
    /// - Returns: The login; nothing is stored.
    /// - Throws: `GigHiveError`: `.unauthorized` for a wrong address or password, `.forbidden` for a disabled account,
    ///   `.badRequest` for an invalid address, `.loginUnavailable` for a server without logins.
    public func logIn(email: String, password: String) async throws(GigHiveError) -> IssuedLogin {
        let body = JSONText.object([("email", .string(email)), ("password", .string(password))])
        var request = post("/api/login.php", json: body)
        request.authorization = nil
        request.tokens = [password]
        let response = try await send(request, control: TransferControl())
        let content = ReplyText.content(of: response.body)
        guard response.status == 200 else { throw refusal(of: response, content) }
        let members = content.members
        guard let token = members["token"]?.text, Self.isToken(token) else {
            throw GigHiveError(.unexpectedAnswer, detail: "the response has no usable token", httpStatus: 200)
        }
        return IssuedLogin(
            token: token,
            role: members.text("role"),
            email: members.text("email") ?? email,
            expiresAt: members.text("expires_at").flatMap(RFC3339.seconds)
        )
    }

    /// Checks the login of this client (`GET /api/verify.php`, gighive-d4 contract section 12).
    ///
    /// - Returns: false when the server has no such page, so that the login is not verified.
    /// - Throws: `GigHiveError`: `.loginRequired` when the server does not accept the login.
    public func verifyLogin() async throws(GigHiveError) -> Bool {
        let response = try await send(request(.get, "/api/verify.php"), control: TransferControl())
        if response.status == 404 { return false }
        try Self.requireSuccess(response)
        guard case .bool(true)? = ReplyText.content(of: response.body).members["valid"] else {
            throw GigHiveError(.unexpectedAnswer, detail: "the login was not confirmed", httpStatus: response.status)
        }
        return true
    }

    /// Whether the server has logins: without credentials, `GET /api/verify.php` is refused by the application itself.
    ///
    /// - Throws: `GigHiveError` when there is no response.
    public func offersLogin() async throws(GigHiveError) -> Bool {
        let response = try await send(
            request(.get, "/api/verify.php", isAuthorized: false),
            control: TransferControl()
        )
        let error = ReplyText.content(of: response.body).members.text("error") ?? ""
        return response.status == 401 && ["unauthenticated", "invalid_token", "token_expired"].contains(error)
    }

    /// The credentials that the listing requires, from the response to a request without any.
    ///
    /// - Returns: nil when the server lists for everybody, or its response does not show it.
    /// - Throws: `GigHiveError` when there is no response.
    func requiredCredentials() async throws(GigHiveError) -> LoginChallenge? {
        let query = [(name: "format", value: "json"), (name: "page", value: "1")]
        let response = try await send(
            request(.get, "/db/database.php", query, isAuthorized: false),
            control: TransferControl()
        )
        return LoginChallenge.of(response.head, body: response.body)
    }

    private func refusal(of response: HTTPResponse, _ content: ReplyText.Content) -> GigHiveError {
        let code = content.members.text("error")
        // A server without logins protects the address by a password, or has no such page.
        let isMissing = response.status == 404 || LoginChallenge.of(response.head, body: response.body) == .password
        guard !isMissing else {
            return .login(.loginUnavailable, at: server.origin, httpStatus: response.status)
        }
        var error = GigHiveError.answered(
            response.head,
            message: content.members.text("message") ?? code ?? ReplyText.title(of: content.text),
            isJSON: content.form == .json
        )
        error.origin = server.origin
        switch (response.status, code) {
        case (401, _):
            error.code = .unauthorized
            error.detail = "wrong e-mail address or password"
        case (403, "account_disabled"?): error.detail = "the account is disabled"
        case (400, "invalid_email"?): error.detail = "invalid e-mail address"
        case (400, "missing_fields"?): error.detail = "e-mail address or password is missing"
        default: break
        }
        return error
    }

    /// Whether a header field can carry the token.
    private static func isToken(_ text: String) -> Bool {
        (1...8192).contains(text.utf8.count) && text.utf8.allSatisfy { (0x21...0x7e).contains($0) }
    }
}
