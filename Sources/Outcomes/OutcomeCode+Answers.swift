/// Codes for the responses of servers and for network failures.
// The meaning in a row is its documentation.
// swift-format-ignore: AllPublicDeclarationsHaveDocumentation
extension OutcomeCode {
    static let answerCodes: [OutcomeCode] = [
        .badRequest, .unauthorized, .loginRequired, .loginExpired, .loginUnavailable, .forbidden, .notFound,
        .requestTimeout, .conflict, .payloadTooLarge, .unsupportedMedia, .locked, .rateLimited, .serverError,
        .serverUnavailable, .serverRace, .redirected, .unexpectedAnswer, .leftOnServer,
    ]

    public static let badRequest = OutcomeCode(
        "bad_request",
        2,
        "400, or a 4xx without another code: the server refused the request",
        "the server refused the request{status}{said}"
    )
    public static let unauthorized = OutcomeCode(
        "unauthorized",
        4,
        "401: wrong user name, password or key, or missing permission",
        "login failed{status}: wrong user name or password, or missing permission",
        hint: "log in as uploader or admin, for example: --user uploader --password-file FILE"
    )
    public static let loginRequired = OutcomeCode(
        "login_required",
        4,
        "the server requires a login, not a password, or does not accept the stored login any more",
        "the server requires a login{status}{said}",
        hint: "mediactl login"
    )
    public static let loginExpired = OutcomeCode(
        "login_expired",
        4,
        "the stored login expired; nothing was sent",
        "the login expired{said}",
        hint: "mediactl login"
    )
    public static let loginUnavailable = OutcomeCode(
        "login_unavailable",
        5,
        "the server has no login; it requires a user name and password",
        "the server has no login{status}: it requires a user name and password",
        hint: "use --user NAME with --password-file FILE, MEDIACTL_PASSWORD, password_command or netrc"
    )
    public static let forbidden = OutcomeCode(
        "forbidden",
        4,
        "403: missing permission",
        "the server does not allow this{status}{said}"
    )
    public static let notFound = OutcomeCode(
        "not_found",
        5,
        "404: no such address, file or photo on the server",
        "not found on the server{status}{said}",
        hint: "check --server; mediactl config show prints its source"
    )
    public static let requestTimeout = OutcomeCode(
        "request_timeout",
        6,
        "408: the server timed out reading the request",
        "the server timed out reading the request{status}",
        hint: "retry, or raise --limit-rate",
        isRetryable: true
    )
    public static let conflict = OutcomeCode(
        "conflict",
        10,
        "409: the request conflicts with the state of the server",
        "the request conflicts with the state of the server{status}{said}"
    )
    public static let payloadTooLarge = OutcomeCode(
        "payload_too_large",
        2,
        "413: the request body is too large for the server, or a hash-only body exceeds its limit",
        "the server refused the body as too large, or as malformed{status}{said}",
        hint: "many servers accept at most 1 GiB per request"
    )
    public static let unsupportedMedia = OutcomeCode(
        "unsupported_media",
        2,
        "415: the server does not accept this type of file",
        "the server does not accept this type of file{status}{said}"
    )
    public static let locked = OutcomeCode(
        "locked",
        10,
        "423: locked on the server",
        "locked on the server{status}{said}",
        hint: "retry later",
        isRetryable: true
    )
    public static let rateLimited = OutcomeCode(
        "rate_limited",
        6,
        "429: too many requests",
        "rate limited by the server{status}",
        hint: "retry later",
        isRetryable: true
    )
    public static let serverError = OutcomeCode(
        "server_error",
        7,
        "5xx: the server failed",
        "the server failed{status}{said}",
        hint: "retry later, or contact its operator",
        isRetryable: true
    )
    public static let serverUnavailable = OutcomeCode(
        "server_unavailable",
        7,
        "503 of a GigHive server: the application or the tus server behind the web server is not running",
        "server unavailable{status}{said}",
        hint: "run the same command again when the server is available",
        isRetryable: true
    )
    public static let serverRace = OutcomeCode(
        "server_race",
        7,
        "the server lost the upload because other uploads to the same event were stored at the same time",
        "the server lost the upload: other uploads to the same event were stored at the same time{said}",
        hint: "run the same command again; --jobs 1 avoids it",
        isRetryable: true
    )
    public static let redirected = OutcomeCode(
        "redirected",
        1,
        "3xx: redirects are not followed",
        "the server redirects this request{status}{said}",
        hint: "redirects are not followed; to use that address, specify it with --server"
    )
    public static let unexpectedAnswer = OutcomeCode(
        "unexpected_answer",
        7,
        "an unexpected response, often from a proxy",
        "unexpected response from the server{status}{said}",
        hint: "check --server; the response may come from a proxy"
    )
    public static let leftOnServer = OutcomeCode(
        "left_on_server",
        7,
        "the test file of `smoke` could not be deleted from the server"
    )

    private static let pin = "--pinned-key with the pin that mediactl doctor prints"

    static let networkCodes: [OutcomeCode] = [
        .unknownHost, .cannotConnect, .tlsFailed, .certificateUntrusted, .certificateNameMismatch, .pinnedKeyMismatch,
        .networkTimeout, .connectionLost, .unknownOutcome, .transport, .transportFailed,
    ]

    public static let unknownHost = OutcomeCode(
        "unknown_host",
        6,
        "the host name cannot be resolved",
        "cannot resolve host{said}",
        hint: "check the spelling of --server",
        isRetryable: true
    )
    public static let cannotConnect = OutcomeCode(
        "cannot_connect",
        6,
        "no connection: refused or unreachable",
        "cannot connect to the server{said}",
        hint: "check --server, its port, and whether it is running",
        isRetryable: true
    )
    public static let tlsFailed = OutcomeCode(
        "tls_failed",
        6,
        "no secure connection",
        "no secure connection{said}",
        hint: "check that --server is an https server"
    )
    public static let certificateUntrusted = OutcomeCode(
        "certificate_untrusted",
        6,
        "the certificate is not signed by a trusted CA",
        "the server's certificate is not trusted{said}",
        hint: "use --cacert FILE to trust its CA, or \(pin)"
    )
    public static let certificateNameMismatch = OutcomeCode(
        "certificate_name_mismatch",
        6,
        "the certificate is for another host",
        "the server's certificate is for another host{said}",
        hint: "use --server with the name in the certificate, or \(pin)"
    )
    public static let pinnedKeyMismatch = OutcomeCode(
        "pinned_key_mismatch",
        6,
        "the server's public key is not the pinned one; nothing was sent",
        "the server's key is not the pinned one{said}",
        hint: "before you continue, confirm with its operator that the key was changed"
    )
    public static let networkTimeout = OutcomeCode(
        "network_timeout",
        6,
        "connecting, sending or waiting for the response took too long",
        "network timeout{said}",
        hint: "retry, or raise --connect-timeout, --stall-timeout or --response-timeout",
        isRetryable: true
    )
    public static let connectionLost = OutcomeCode(
        "connection_lost",
        6,
        "the connection was lost",
        "the connection was lost{said}",
        hint: "retry",
        isRetryable: true
    )
    public static let unknownOutcome = OutcomeCode(
        "unknown_outcome",
        6,
        "the response was lost, and whether the server has the file is unknown",
        "the response was lost; whether the server has the file is unknown{said}",
        hint: "check later with: mediactl uploads status",
        isRetryable: true
    )
    public static let transport = OutcomeCode("transport", 6, "no response", "the network failed{said}", hint: "retry")
    public static let transportFailed = OutcomeCode(
        "transport_failed",
        6,
        "the network cannot be used",
        "the network cannot be used{said}"
    )
}
