/// What servers answer, and what keeps an answer from coming.
extension OutcomeTable {
    static let answerCodes: [OutcomeCode] = [
        OutcomeCode(
            "bad_request",
            2,
            "the server refused the request itself: 400, or a 4xx without a code of its own",
            "the server refused the request{status}{said}"
        ),
        OutcomeCode(
            "unauthorized",
            4,
            "401: wrong user, password or key, or a user without this right",
            "the server refused the login{status}: wrong password, or a user without this right",
            hint: "log in as uploader or admin, for example: --user uploader --password-file FILE"
        ),
        OutcomeCode(
            "forbidden",
            4,
            "403: the login may not do this",
            "the server does not allow this{status}{said}"
        ),
        OutcomeCode(
            "not_found",
            5,
            "404: the server does not know the address, file or photo",
            "the server does not know this address or number{status}{said}",
            hint: "check --server; mediactl config show tells where it comes from"
        ),
        OutcomeCode(
            "request_timeout",
            6,
            "408: the server waited too long for the body",
            "the server waited too long for the body{status}",
            hint: "try again, or raise --limit-rate",
            isRetryable: true
        ),
        OutcomeCode(
            "conflict",
            10,
            "409: what is on the server contradicts the request",
            "the server has something else in this place{status}{said}"
        ),
        OutcomeCode(
            "payload_too_large",
            2,
            "413: the body is too large for the server, or a hash-only body above its limit",
            "the server refused the body as too large, or as malformed{status}{said}",
            hint: "servers like this one often take 1 GiB at most in one request"
        ),
        OutcomeCode(
            "unsupported_media",
            2,
            "415: the server does not take this type of file",
            "the server does not take this kind of file{status}{said}"
        ),
        OutcomeCode(
            "locked",
            10,
            "423: locked on the server",
            "the server says it is locked{status}{said}",
            hint: "try again later",
            isRetryable: true
        ),
        OutcomeCode(
            "rate_limited",
            6,
            "429: the server asks for fewer requests",
            "the server asks for fewer requests{status}",
            hint: "try again later",
            isRetryable: true
        ),
        OutcomeCode(
            "server_error",
            7,
            "5xx: the server failed",
            "the server failed{status}{said}",
            hint: "try again later, or ask its operator",
            isRetryable: true
        ),
        OutcomeCode(
            "redirected",
            1,
            "3xx: never followed",
            "the server sends this request elsewhere{status}{said}",
            hint: "name the address it leads to with --server; nothing is sent to another address unasked"
        ),
        OutcomeCode(
            "unexpected_answer",
            7,
            "a response that cannot be understood, often a proxy's",
            "the server's answer makes no sense{status}{said}",
            hint: "check --server; a proxy may have answered"
        ),
    ]

    private static let pin = "--pinned-key with the pin that mediactl doctor prints"

    static let networkCodes: [OutcomeCode] = [
        OutcomeCode(
            "unknown_host",
            6,
            "the host name has no address",
            "the server's name has no address{said}",
            hint: "check the spelling of --server",
            isRetryable: true
        ),
        OutcomeCode(
            "cannot_connect",
            6,
            "no connection: refused or unreachable",
            "cannot connect to the server{said}",
            hint: "check --server, its port, and whether it is running",
            isRetryable: true
        ),
        OutcomeCode(
            "tls_failed",
            6,
            "no secure connection",
            "no secure connection{said}",
            hint: "check that --server names an https server"
        ),
        OutcomeCode(
            "certificate_untrusted",
            6,
            "the certificate is not signed by a known authority",
            "the server's certificate is not trusted{said}",
            hint: "use --cacert FILE to trust its authority, or \(pin)"
        ),
        OutcomeCode(
            "certificate_name_mismatch",
            6,
            "the certificate names another host",
            "the server's certificate names another host{said}",
            hint: "use the name it was made for as --server, or \(pin)"
        ),
        OutcomeCode(
            "pinned_key_mismatch",
            6,
            "the server's public key is not the pinned one; nothing was sent",
            "the server's key is not the pinned one{said}",
            hint: "ask its operator whether the key was changed; do not send anything before"
        ),
        OutcomeCode(
            "network_timeout",
            6,
            "connecting, sending or the response took too long",
            "the network took too long{said}",
            hint: "try again, or raise --connect-timeout, --stall-timeout or --answer-timeout",
            isRetryable: true
        ),
        OutcomeCode(
            "connection_lost",
            6,
            "the connection broke",
            "the connection broke{said}",
            hint: "try again",
            isRetryable: true
        ),
        OutcomeCode(
            "unknown_outcome",
            6,
            "the response was lost, and whether the server has the file is unknown",
            "the answer was lost; whether the server has the file is unknown{said}",
            hint: "ask later with: mediactl uploads status",
            isRetryable: true
        ),
        OutcomeCode("transport", 6, "no response", "the network failed{said}", hint: "try again"),
        OutcomeCode("transport_failed", 6, "the network cannot be used", "the network cannot be used{said}"),
    ]
}
