package import Foundation
internal import MediaCore
public import MediaTransport
internal import Tus

/// One GigHive server: requests and responses in all dialects (gighive contract section 0), without state.
public struct GigHiveClient: Sendable {
    public let server: ServerURL
    /// The credentials, if any.
    public let authorization: Authorization?
    let http: HTTPClient
    let timeouts: TransferTimeouts
    /// Whether queries are retried if the application is unavailable (503).
    var repeatsUnavailable = true
    /// Maximum time that a query waits; nil for the policy's limit.
    var maximumWait: Duration?
    var now: @Sendable () -> Date = { Date() }
    var unixTime: Int64 { Int64(now().timeIntervalSince1970) }

    public init(
        server: ServerURL,
        http: HTTPClient,
        authorization: Authorization?,
        timeouts: TransferTimeouts = TransferTimeouts()
    ) {
        self.server = server
        self.http = http
        self.authorization = authorization
        self.timeouts = timeouts
        // The same server also receives requests without a login, and may repeat the secret in its responses to them.
        if let authorization { KnownSecrets.add(authorization) }
    }

    func authorized(_ authorization: Authorization) -> GigHiveClient {
        var client = GigHiveClient(server: server, http: http, authorization: authorization, timeouts: timeouts)
        client.now = now
        return client
    }

    /// Runs a query that an upload can do without: a 503 is retried once after a second, and there are no long waits,
    /// because the upload itself will encounter them, and report that it waits.
    func briefly<Value: Sendable>(
        _ control: TransferControl,
        _ query: (GigHiveClient) async throws(GigHiveError) -> Value
    ) async throws(GigHiveError) -> Value {
        var client = self
        client.repeatsUnavailable = false
        client.maximumWait = .seconds(5)
        var backoff = Backoff(.briefOutage)
        return try await backoff.run(
            pausing: control.waitForStop(upTo:),
            canceled: GigHiveError(.cancelled),
            retryAfter: { $0.code == .serverUnavailable ? .zero : nil }
        ) { [client] () async throws(GigHiveError) in try await query(client) }
    }

    /// Queries an asset (`GET /api/uploads/<id>`, gighive contract 2.5); nil only for the JSON `{"error":"Not Found"}`.
    /// An HTML 404 is an error (wrong address or a proxy).
    public func asset(_ fileID: Int64) async throws(GigHiveError) -> ServerMedia? {
        let response = try await send(request(.get, "/api/uploads/\(fileID)"))
        let content = ResponseText.content(of: response.body)
        let members = content.members
        // For a path unknown to the application, the response also has a `debug` key.
        if response.status == 404, content.form == .json, members.text("error") == "Not Found", members["debug"] == nil
        {
            return nil
        }
        try Self.requireSuccess(response)
        let found = content.form == .json ? members.identifier("id") ?? members.identifier("asset_id") : nil
        guard found == fileID else {
            throw GigHiveError(
                .unexpectedResponse,
                detail: found.map { "the response describes file \($0), not file \(fileID)" }
                    ?? "the response does not describe file \(fileID)",
                httpStatus: response.status
            )
        }
        var asset = ServerMedia(fileID: fileID)
        asset.fileName = members.text("file_name")
        asset.fileType = members.text("file_type")
        asset.sizeBytes = members["size_bytes"]?.wholeNumber
        asset.checksumSHA256 = members.checksum("checksum_sha256")
        asset.sessionID = members.identifier("session_id")
        asset.sequence = members.identifier("seq")
        asset.mimeType = members.text("mime_type")
        asset.durationSeconds = members["duration_seconds"]?.wholeNumber.flatMap { $0 > 0 ? $0 : nil }
        asset.sourceName = members.text("source_relpath")
        asset.createdAt = members.text("created_at")
        return asset
    }

    /// One page of the listing (`GET /db/database.php?format=json`, gighive contract section 7). This is also the login
    /// test: any valid user may read the listing. A filter matches substrings; `|`, `&` and a leading `!` have a
    /// special meaning in it. `control.abandon()` cancels the request.
    public func listing(
        page: Int64 = 1,
        view: ListingPage.View = .event,
        filters: [(name: String, value: String)] = [],
        control: TransferControl = TransferControl()
    ) async throws(GigHiveError) -> ListingPage {
        let query =
            [
                (name: "format", value: "json"), (name: "view", value: view.rawValue),
                (name: "page", value: String(page)),
            ] + filters
        let response = try await send(request(.get, "/db/database.php", query), control: control)
        try Self.requireSuccess(response)
        guard let listing = ListingPage.parse(response.body) else {
            throw GigHiveError(.unexpectedResponse, detail: "not a media listing", httpStatus: response.status)
        }
        return listing
    }

    /// Queries the server's health (`GET /db/health.php`) without credentials: whether it reports
    /// `ok`, and its message.
    public func health() async throws(GigHiveError) -> (isHealthy: Bool, message: String) {
        let response = try await send(healthRequest)
        let members = ResponseText.content(of: response.body).members
        guard let status = members.text("status") else {
            try Self.requireSuccess(response)
            throw GigHiveError(.unexpectedResponse, detail: "not a health report", httpStatus: response.status)
        }
        return (response.status == 200 && status == "ok", members.text("message") ?? status)
    }

    static let healthPath = "/db/health.php"

    /// A request for the health page. A 503 is not retried: it is a result of the check.
    var healthRequest: HTTPRequest {
        var request = request(.get, Self.healthPath, isAuthorized: false)
        request.verdict = { $0.status == 503 ? .final : .byStatus }
        return request
    }

    /// A file that is served.
    struct ServedMedia: Sendable, Equatable {
        /// Length in bytes; nil if the server does not report it.
        var byteCount: Int64?
    }

    /// Queries a served file (`HEAD`, gighive contract section 7); nil on 404. Throws for any status but 200 and 404.
    ///
    /// A response without a length may come from any web server. PHP behind recent releases of Apache does not send one
    /// either (gighive-d4 contract section 2), but it serves ranges, which state the length.
    func servedMedia(
        _ path: String,
        control: TransferControl = TransferControl()
    ) async throws(GigHiveError) -> ServedMedia? {
        let response = try await send(request(.head, path), control: control)
        if response.status == 404 {
            return nil
        }
        try Self.requireSuccess(response)
        guard response.status == 200 else {
            throw GigHiveError(.unexpectedResponse, detail: "not a response about a file", httpStatus: response.status)
        }
        if let byteCount = response.head.value(of: "Content-Length").flatMap({ Int64($0) }) {
            return ServedMedia(byteCount: byteCount)
        }
        return ServedMedia(byteCount: try await servedByteCount(path, control: control))
    }

    /// The length of a served file from its first byte (RFC 9110 section 14.4: `Content-Range: bytes 0-0/LENGTH`); nil
    /// if the server does not serve ranges of the file.
    private func servedByteCount(_ path: String, control: TransferControl) async throws(GigHiveError) -> Int64? {
        var request = request(.get, path)
        request.headers.append(HTTPHeader("Range", "bytes=0-0"))
        request.destination = .memory(limit: 4 << 10)
        do throws(GigHiveError) {
            let response = try await send(request, control: control)
            guard response.status == 206, let range = response.head.value(of: "Content-Range"),
                range.hasPrefix("bytes 0-0/")
            else { return nil }
            return Int64(range.dropFirst("bytes 0-0/".count))
        } catch  where error.transport?.kind == .responseTooLarge {
            return nil
        }
    }

    // MARK: Requests

    /// A GET or HEAD. The query string contains the time in seconds, to bypass the server's own cache (gighive contract
    /// section 1).
    func request(
        _ method: HTTPMethod,
        _ path: String,
        _ query: [(name: String, value: String)] = [],
        isAuthorized: Bool = true
    ) -> HTTPRequest {
        var request = HTTPRequest(
            method,
            server.resource(path, query: query + [("t", String(unixTime))]),
            authorization: isAuthorized ? authorization : nil,
            repeatability: .safe,
            verdict: { [repeatsUnavailable] in repeatsUnavailable || $0.status != 503 ? .byStatus : .final },
            timeouts: timeouts,
            destination: .memory(limit: 64 << 20)
        )
        request.maximumWait = maximumWait
        return request
    }

    /// A JSON POST that reaches the server at most once.
    func post(_ path: String, json: JSONObject) -> HTTPRequest {
        HTTPRequest(
            .post,
            server.resource(path),
            headers: [HTTPHeader("Accept", "application/json"), HTTPHeader("Content-Type", "application/json")],
            body: BytesBody(json.json()),
            authorization: authorization,
            repeatability: .atMostOnce,
            timeouts: timeouts
        )
    }

    func send(
        _ request: HTTPRequest,
        control: TransferControl = TransferControl()
    ) async throws(GigHiveError) -> HTTPResponse {
        do {
            return try await http.execute(request, control: control)
        } catch {
            throw .transport(error)
        }
    }

    /// The server's tus endpoint: `/files/`, with the slash (trap T13).
    func tus(_ timeouts: TransferTimeouts) -> TusClient {
        TusClient(http: http, server: server, path: "/files/", authorization: authorization, timeouts: timeouts)
    }

    static func requireSuccess(_ response: HTTPResponse) throws(GigHiveError) {
        guard (200..<300).contains(response.status) else {
            let content = ResponseText.content(of: response.body)
            throw .ofResponse(
                response.head,
                message: content.members.text("message") ?? ResponseText.title(of: content.text),
                isJSON: content.form == .json
            )
        }
    }
}

/// A login that a server issued (gighive-d4 contract section 12). Neither the description nor reflection shows the
/// token.
public struct IssuedLogin: Sendable, Equatable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable
{
    /// The token. Secret.
    public let token: String
    /// The role as reported by the server, for example `contributor`.
    public let role: String?
    /// The email address of the user; nil only for a stored login without one.
    public let email: String?
    /// Seconds since 1970; nil if the server did not report it.
    public let expiresAt: Int64?

    package init(token: String, role: String?, email: String?, expiresAt: Int64?) {
        self.token = token
        self.role = role
        self.email = email
        self.expiresAt = expiresAt
    }

    package func isExpired(at now: Date) -> Bool {
        expiresAt.map { Double($0) <= now.timeIntervalSince1970 } ?? false
    }

    package func authorization(for origin: Origin) -> Authorization {
        .bearer(token, expiresAt: expiresAt, for: origin)
    }

    /// The user, without the token.
    public var description: String { "login of \(email ?? "an unknown user")" }
    /// The user, without the token.
    public var debugDescription: String { description }
    /// Has no children: `dump` would print the token.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

extension GigHiveClient {
    /// Logs in (`POST /api/login.php`, gighive-d4 contract section 12). The request carries no other credentials.
    ///
    /// The password is in the body: the caller decides whether the server may receive it over plain `http`.
    /// Nothing is stored.
    ///
    /// - Throws: `GigHiveError`: `.unauthorized` for a wrong email address or password, `.forbidden` for a disabled
    ///   account, `.badRequest` for an invalid email address, `.loginUnavailable` for a server without logins.
    public func logIn(email: String, password: String) async throws(GigHiveError) -> IssuedLogin {
        let body: JSONObject = ["email": .string(email), "password": .string(password)]
        var request = post("/api/login.php", json: body)
        request.authorization = nil
        request.tokens = [password]
        let response = try await send(request)
        let content = ResponseText.content(of: response.body)
        guard response.status == 200 else { throw refusal(of: response, content) }
        let members = content.members
        guard let token = members["token"]?.text, Self.isToken(token) else {
            throw GigHiveError(.unexpectedResponse, detail: "the response has no usable token", httpStatus: 200)
        }
        return IssuedLogin(
            token: token,
            role: members.text("role"),
            email: members.text("email") ?? email,
            expiresAt: members.text("expires_at").flatMap(RFC3339.seconds)
        )
    }

    /// Checks the login of this client (`GET /api/verify.php`, gighive-d4 contract section 12); false if the server
    /// has no such page, so the login is not verified.
    ///
    /// - Throws: `GigHiveError`: `.loginRequired` if the server does not accept the login.
    public func verifyLogin() async throws(GigHiveError) -> Bool {
        let response = try await send(request(.get, "/api/verify.php"))
        if response.status == 404 { return false }
        try Self.requireSuccess(response)
        guard case .bool(true)? = ResponseText.content(of: response.body).members["valid"] else {
            throw GigHiveError(.unexpectedResponse, detail: "the login was not confirmed", httpStatus: response.status)
        }
        return true
    }

    /// The credentials that the login check (`GET /api/verify.php`) requires from a request without credentials; nil if
    /// the response does not show them.
    package func loginSupport() async throws(GigHiveError) -> LoginChallenge? {
        let response = try await send(request(.get, "/api/verify.php", isAuthorized: false))
        let challenge = LoginChallenge.of(response.head, body: response.body)
        guard challenge == .login else { return challenge }
        let error = ResponseText.content(of: response.body).members.text("error") ?? ""
        return ["unauthenticated", "invalid_token", "token_expired"].contains(error) ? .login : nil
    }

    /// The credentials that the listing requires, from the response to a request without credentials; nil if the server
    /// requires none for the listing, or its response does not show it.
    func requiredCredentials() async throws(GigHiveError) -> LoginChallenge? {
        let query = [(name: "format", value: "json"), (name: "page", value: "1")]
        let response = try await send(request(.get, "/db/database.php", query, isAuthorized: false))
        return LoginChallenge.of(response.head, body: response.body)
    }

    private func refusal(of response: HTTPResponse, _ content: ResponseText.Content) -> GigHiveError {
        let code = content.members.text("error")
        // A server without logins protects the address with a password, or has no such page.
        let isMissing = response.status == 404 || LoginChallenge.of(response.head, body: response.body) == .password
        guard !isMissing else {
            return .login(.loginUnavailable, at: server.origin, httpStatus: response.status)
        }
        var error = GigHiveError.ofResponse(response.head, content)
        error.origin = server.origin
        switch (response.status, code) {
        case (401, _):
            error.code = .unauthorized
            error.detail = "wrong email address or password"
        case (403, "account_disabled"?): error.detail = "the account is disabled"
        case (400, "invalid_email"?): error.detail = "invalid email address"
        case (400, "missing_fields"?): error.detail = "email address or password is missing"
        default: break
        }
        return error
    }

    /// Whether a header field can carry the token.
    private static func isToken(_ text: String) -> Bool {
        (1...8192).contains(text.utf8.count) && text.utf8.allSatisfy { (0x21...0x7e).contains($0) }
    }
}
