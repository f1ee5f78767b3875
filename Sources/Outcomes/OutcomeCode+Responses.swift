/// Codes for responses from servers and for network failures.
extension OutcomeCode {
    static let responseCodes: [OutcomeCode] = [
        .badRequest, .unauthorized, .loginRequired, .loginExpired, .loginUnavailable, .forbidden, .notFound,
        .requestTimeout, .conflict, .payloadTooLarge, .unsupportedMedia, .locked, .rateLimited, .serverError,
        .serverUnavailable, .serverRace, .redirected, .unexpectedResponse, .leftOnServer,
    ]

    /// 400, or a 4xx without another code: the server refused the request.
    public static let badRequest = OutcomeCode("bad_request", exit: 2)
        .message("the server refused the request{status}{detail}")
    /// 401: wrong user name, password or key, or missing permission.
    public static let unauthorized = OutcomeCode("unauthorized", exit: 4)
        .message("login failed{status}: wrong user name or password, or missing permission")
        .hint("log in as uploader or admin, for example: --user uploader --password-file FILE")
    /// The server requires a login, not a password, or no longer accepts the stored login.
    public static let loginRequired = OutcomeCode("login_required", exit: 4)
        .message("the server requires a login{status}{detail}")
        .hint("mediactl login")
    /// The stored login expired; nothing was sent.
    public static let loginExpired = OutcomeCode("login_expired", exit: 4)
        .message("the login expired{detail}")
        .hint("mediactl login")
    /// The server has no login; it requires a user name and password.
    public static let loginUnavailable = OutcomeCode("login_unavailable", exit: 5)
        .message("the server has no login{status}: it requires a user name and password")
        .hint("use --user NAME with --password-file FILE, MEDIACTL_PASSWORD, password_command or netrc")
    /// 403: missing permission.
    public static let forbidden = OutcomeCode("forbidden", exit: 4)
        .message("the server does not allow this{status}{detail}")
    /// 404: no such address, file or photo on the server.
    public static let notFound = OutcomeCode("not_found", exit: 5)
        .message("not found on the server{status}{detail}")
        .hint("check --server; mediactl config show prints its source")
    /// 408: the server timed out reading the request.
    public static let requestTimeout = OutcomeCode("request_timeout", exit: 6, isRetryable: true)
        .message("the server timed out reading the request{status}")
        .hint("retry, or raise --limit-rate")
    /// 409: the request conflicts with the state of the server.
    public static let conflict = OutcomeCode("conflict", exit: 10)
        .message("the request conflicts with the state of the server{status}{detail}")
    /// 413: the request body is too large for the server, or a hash-only body exceeds its limit.
    public static let payloadTooLarge = OutcomeCode("payload_too_large", exit: 2)
        .message("the server refused the body as too large, or as malformed{status}{detail}")
        .hint("many servers accept at most 1 GiB per request")
    /// 415: the server does not accept this type of file.
    public static let unsupportedMedia = OutcomeCode("unsupported_media", exit: 2)
        .message("the server does not accept this type of file{status}{detail}")
    /// 423: locked on the server.
    public static let locked = OutcomeCode("locked", exit: 10, isRetryable: true)
        .message("locked on the server{status}{detail}")
        .hint("retry later")
    /// 429: too many requests.
    public static let rateLimited = OutcomeCode("rate_limited", exit: 6, isRetryable: true)
        .message("rate limited by the server{status}")
        .hint("retry later")
    /// 5xx: the server failed.
    public static let serverError = OutcomeCode("server_error", exit: 7, isRetryable: true)
        .message("the server failed{status}{detail}")
        .hint("retry later, or contact its operator")
    /// 503 from a GigHive server: the application or the tus server behind the web server is not running.
    public static let serverUnavailable = OutcomeCode("server_unavailable", exit: 7, isRetryable: true)
        .message("server unavailable{status}{detail}")
        .hint("run the same command again when the server is available")
    /// The server lost the upload because other uploads to the same event were stored at the same time.
    public static let serverRace = OutcomeCode("server_race", exit: 7, isRetryable: true)
        .message("the server lost the upload: other uploads to the same event were stored at the same time{detail}")
        .hint("run the same command again; uploads with --jobs 1 in a single process avoid this")
    /// 3xx: redirects are not followed.
    public static let redirected = OutcomeCode("redirected", exit: 1)
        .message("the server redirects this request{status}{detail}")
        .hint("redirects are not followed; to use that address, specify it with --server")
    /// An unexpected response, often from a proxy.
    public static let unexpectedResponse = OutcomeCode("unexpected_answer", exit: 7)
        .message("unexpected response from the server{status}{detail}")
        .hint("check --server; the response may come from a proxy")
    /// The test file uploaded by `smoke` could not be deleted from the server.
    public static let leftOnServer = OutcomeCode("left_on_server", exit: 7)

    private static let pin = "--pinned-key with the pin that mediactl doctor prints"

    static let networkCodes: [OutcomeCode] = [
        .unknownHost, .cannotConnect, .tlsFailed, .certificateUntrusted, .certificateNameMismatch, .pinnedKeyMismatch,
        .networkTimeout, .connectionLost, .unknownOutcome, .transport, .transportFailed,
    ]

    /// The host name cannot be resolved.
    public static let unknownHost = OutcomeCode("unknown_host", exit: 6, isRetryable: true)
        .message("cannot resolve host{detail}")
        .hint("check the spelling of --server")
    /// The connection was refused, or the server is unreachable.
    public static let cannotConnect = OutcomeCode("cannot_connect", exit: 6, isRetryable: true)
        .message("cannot connect to the server{detail}")
        .hint("check --server, its port, and whether it is running")
    /// A secure connection could not be established.
    public static let tlsFailed = OutcomeCode("tls_failed", exit: 6)
        .message("no secure connection{detail}")
        .hint("check that --server is an https server")
    /// The certificate is not signed by a trusted CA.
    public static let certificateUntrusted = OutcomeCode("certificate_untrusted", exit: 6)
        .message("the server's certificate is not trusted{detail}")
        .hint("use --cacert FILE to trust its CA, or \(pin)")
    /// The certificate is for a different host.
    public static let certificateNameMismatch = OutcomeCode("certificate_name_mismatch", exit: 6)
        .message("the server's certificate is for a different host{detail}")
        .hint("use --server with the name in the certificate, or \(pin)")
    /// The server's public key is not the pinned one; nothing was sent.
    public static let pinnedKeyMismatch = OutcomeCode("pinned_key_mismatch", exit: 6)
        .message("the server's key is not the pinned one{detail}")
        .hint("before you continue, confirm with its operator that the key was changed")
    /// Connecting, sending or waiting for the response took too long.
    public static let networkTimeout = OutcomeCode("network_timeout", exit: 6, isRetryable: true)
        .message("network timeout{detail}")
        .hint("retry, or raise --connect-timeout, --stall-timeout or --response-timeout")
    /// The connection was lost.
    public static let connectionLost = OutcomeCode("connection_lost", exit: 6, isRetryable: true)
        .message("the connection was lost{detail}")
        .hint("retry")
    /// Whether the server has the file is unknown.
    public static let unknownOutcome = OutcomeCode("unknown_outcome", exit: 6, isRetryable: true)
        .message("whether the server has the file is unknown{status}{detail}")
        .hint("check later with: mediactl uploads status")
    /// The server did not respond.
    public static let transport = OutcomeCode("transport", exit: 6)
        .message("the network failed{detail}")
        .hint("retry")
    /// The network cannot be used.
    public static let transportFailed = OutcomeCode("transport_failed", exit: 6)
}
