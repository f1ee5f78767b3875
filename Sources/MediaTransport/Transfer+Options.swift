internal import CCurl
internal import CCurlShims
internal import Glibc

extension Transfer {
    /// Bodies of up to this length fit into the buffers on the way: they are out before a refusal could spare them.
    private static let smallBodyBytes: Int64 = 65_536
    /// The same for servers that have just taken a body, so that a refusal is not to be expected.
    private static let smallBodyBytesOnceFamiliar: Int64 = 1 << 20
    private static let uploadBufferBytes = 262_144
    /// For an answer that is written to a file; libcurl's own 16 KiB cost four times the system calls.
    private static let downloadBufferBytes = 131_072

    /// Whether this try asks before it sends its body.
    var expectsContinue: Bool {
        submission.expectsContinue && request.asksBeforeLargeBody && isBodyLarge
    }

    /// Large bodies ask `Expect: 100-continue` first, so that a refusal costs no body (trap T3), and go over a connection
    /// of their own when they may be sent once only (docs/adr/0002).
    private var isBodyLarge: Bool {
        bodyByteCount > (submission.isFamiliar ? Self.smallBodyBytesOnceFamiliar : Self.smallBodyBytes)
    }

    func configure(_ configuration: HTTPClientConfiguration) throws(TransportError) {
        let context = Unmanaged.passUnretained(self).toOpaque()
        try check(shim_set_error_buffer(handle, errorBuffer))
        try check(shim_set_header(handle, headerCallback, context))
        try check(shim_set_write(handle, writeCallback, context))
        try set(CURLOPT_URL, request.url.text)
        try set(CURLOPT_PROTOCOLS_STR, "http,https")
        try set(CURLOPT_REDIR_PROTOCOLS_STR, "http,https")
        try set(CURLOPT_FOLLOWLOCATION, 0)
        try set(CURLOPT_NOSIGNAL, 1)
        if request.url.origin.scheme == "http", ProxyChoice.variable(for: request.url.origin) == nil {
            // An empty text overrides the environment.
            try set(CURLOPT_PROXY, "")
        }
        try set(CURLOPT_USERAGENT, configuration.userAgent)
        try set(CURLOPT_TCP_KEEPALIVE, 1)
        try set(CURLOPT_TCP_KEEPIDLE, 30)
        try set(CURLOPT_TCP_KEEPINTVL, 15)
        try set(CURLOPT_CONNECTTIMEOUT_MS, max(1, request.timeouts.connect.milliseconds))
        try set(CURLOPT_HTTP_VERSION, configuration.http2 ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1)
        if case .receiver = request.destination {
            try set(CURLOPT_BUFFERSIZE, Self.downloadBufferBytes)
        }
        try check(shim_set_quick_exit(handle))
        try configureTrust(configuration.trust(for: request.url.origin))
        try configureAuthorization()
        try configureMethodAndBody(context, configuration)
        try configureHeaders()
    }

    private func configureTrust(_ trust: ServerTrust) throws(TransportError) {
        if let file = trust.caFile {
            try set(CURLOPT_CAINFO, file)
        }
        if let key = trust.pinnedKey {
            try set(CURLOPT_PINNEDPUBLICKEY, key)
        }
        // A pinned key says more than a chain and a name do, and is checked whatever these say.
        if trust.insecure || trust.pinnedKey != nil {
            try set(CURLOPT_SSL_VERIFYPEER, 0)
            try set(CURLOPT_SSL_VERIFYHOST, 0)
        }
    }

    private func configureAuthorization() throws(TransportError) {
        guard let authorization = request.authorization, authorization.origin == request.url.origin else { return }
        if let refusal = authorization.refusal(loginRequirements, now: Int64(time(nil))) {
            throw TransportError(refusal)
        }
        guard case .basic(let user, let password) = authorization.scheme else { return }
        try set(CURLOPT_USERNAME, user)
        try set(CURLOPT_PASSWORD, password)
    }

    private func configureMethodAndBody(
        _ context: UnsafeMutableRawPointer,
        _ configuration: HTTPClientConfiguration
    ) throws(TransportError) {
        switch request.method {
        case .get: try set(CURLOPT_HTTPGET, 1)
        case .head: try set(CURLOPT_NOBODY, 1)
        case .post: try set(CURLOPT_POST, 1)
        case .put, .patch, .delete, .options:
            if reader != nil { try set(CURLOPT_UPLOAD, 1) }
            try set(CURLOPT_CUSTOMREQUEST, request.method.rawValue)
        }
        if request.method == .post || reader != nil {
            try check(shim_set_read(handle, readCallback, context))
            try check(shim_set_seek(handle, seekCallback, context))
            let lengthOption = request.method == .post ? CURLOPT_POSTFIELDSIZE_LARGE : CURLOPT_INFILESIZE_LARGE
            try check(shim_setopt_off(handle, lengthOption, bodyByteCount))
        }
        if bodyByteCount > Self.smallBodyBytes {
            try set(CURLOPT_UPLOAD_BUFFERSIZE, Self.uploadBufferBytes)
        }
        // On a connection that dies before the answer, libcurl sends a request again without telling. A body that has
        // begun cannot go twice (`seekCallback`); a request without one, and a large one, get a connection of their own.
        if request.repeatability == .atMostOnce {
            try set(CURLOPT_MAXAGE_CONN, max(1, Int(configuration.idleLimit.components.seconds)))
            if bodyByteCount == 0 || isBodyLarge { try set(CURLOPT_FRESH_CONNECT, 1) }
        }
    }

    private func configureHeaders() throws(TransportError) {
        var lines = request.headers.map { "\($0.name): \(Self.singleLine($0.value))" }
        if let authorization = request.authorization, authorization.origin == request.url.origin,
            let field = authorization.headerField
        {
            lines.append("\(field.name): \(Self.singleLine(field.value))")
        }
        // An empty value removes the field that libcurl would add.
        lines.append(expectsContinue ? "Expect: 100-continue" : "Expect:")
        for line in lines {
            guard let list = curl_slist_append(headerList, line) else {
                throw TransportError(.unusable, detail: "out of memory")
            }
            headerList = list
        }
        try check(shim_setopt_slist(handle, CURLOPT_HTTPHEADER, headerList))
    }

    private static func singleLine(_ value: String) -> String {
        guard value.utf8.contains(where: { $0 == 0x0d || $0 == 0x0a || $0 == 0 }) else { return value }
        return String(String.UnicodeScalarView(value.unicodeScalars.filter { $0 != "\r" && $0 != "\n" && $0 != "\0" }))
    }

    private func set(_ option: CURLoption, _ value: Int) throws(TransportError) {
        try check(shim_setopt_long(handle, option, value))
    }

    private func set(_ option: CURLoption, _ value: String) throws(TransportError) {
        try check(shim_setopt_string(handle, option, value))
    }

    private func check(_ code: CURLcode) throws(TransportError) {
        guard code == CURLE_OK else {
            throw TransportError(
                .unusable,
                detail: String(cString: curl_easy_strerror(code)),
                curlCode: Int(code.rawValue)
            )
        }
    }
}
