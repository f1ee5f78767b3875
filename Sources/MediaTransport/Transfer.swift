internal import CCurl
internal import CCurlShims

/// One try of one request: an easy handle and everything it points at. Lives on the loop's thread only.
final class Transfer {
    let handle: UnsafeMutableRawPointer
    let control: TransferControl
    let request: HTTPRequest

    private let submission: Submission
    private let started = ContinuousClock.now
    private var headerList: UnsafeMutablePointer<curl_slist>?
    private let errorBuffer = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))

    // Request body.
    let bodyByteCount: Int64
    private let reader: (any RequestBodyReader)?
    private var bytesRead: Int64 = 0
    private var sendRate: Int64?

    // Answer.
    private var head: HTTPResponseHead?
    private var isHeadComplete = false
    private var hasBegunReceiver = false
    private var body: [UInt8] = []
    private var bytesReceived: Int64 = 0

    /// What a callback ran into; it outranks libcurl's code, which only says "aborted by callback".
    private var callbackError: TransportError?

    // Progress and watchdogs.
    private var phase = TransferProgress.Phase.connecting
    private var bytesAcknowledged: Int64 = 0
    private var lastActivity = ContinuousClock.now
    private var lastReport = ContinuousClock.now
    private var reported: TransferProgress?
    /// Set by a gentle stop after the last byte.
    private var answerDeadline: ContinuousClock.Instant?

    /// The loop's table key.
    var key: OpaquePointer { OpaquePointer(handle) }

    /// Whether libcurl has taken every body byte: from here on the server may have the whole request.
    private var isBodyComplete: Bool { bytesRead == bodyByteCount && (bytesRead > 0 || isRequestOut) }

    init(_ submission: Submission, configuration: HTTPClientConfiguration) throws(TransportError) {
        guard let handle = curl_easy_init() else {
            throw TransportError(.unusable, detail: "out of memory")
        }
        self.handle = handle
        self.submission = submission
        request = submission.request
        control = submission.control
        bodyByteCount = request.body?.byteCount ?? 0
        errorBuffer.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
        do {
            reader = try request.body?.makeReader()
        } catch {
            reader = nil
            throw TransportError(.bodyUnreadable, underlying: error)
        }
        try configure(configuration)
    }

    deinit {
        curl_easy_cleanup(handle)
        curl_slist_free_all(headerList)
        errorBuffer.deallocate()
    }

    func complete(_ outcome: Result<HTTPResponse, TransportError>) {
        submission.complete(outcome)
    }

    /// Sends at most this many bytes a second from now on.
    func limitSendRate(to bytesPerSecond: Int64) {
        sendRate = bytesPerSecond
        _ = shim_setopt_off(handle, CURLOPT_MAX_SEND_SPEED_LARGE, bytesPerSecond)
    }
}

// MARK: - Options

extension Transfer {
    /// Bodies above this length ask `Expect: 100-continue` first, so that a refusal costs no body (trap T3).
    private static let expectThreshold: Int64 = 65_536
    private static let uploadBufferBytes = 262_144

    private func configure(_ configuration: HTTPClientConfiguration) throws(TransportError) {
        let context = Unmanaged.passUnretained(self).toOpaque()
        try check(shim_set_error_buffer(handle, errorBuffer))
        try check(shim_set_header(handle, headerCallback, context))
        try check(shim_set_write(handle, writeCallback, context))
        try set(CURLOPT_URL, request.url.text)
        try set(CURLOPT_PROTOCOLS_STR, "http,https")
        try set(CURLOPT_REDIR_PROTOCOLS_STR, "http,https")
        try set(CURLOPT_FOLLOWLOCATION, 0)
        try set(CURLOPT_NOSIGNAL, 1)
        try set(CURLOPT_USERAGENT, configuration.userAgent)
        try set(CURLOPT_TCP_KEEPALIVE, 1)
        try set(CURLOPT_TCP_KEEPIDLE, 30)
        try set(CURLOPT_TCP_KEEPINTVL, 15)
        try set(CURLOPT_CONNECTTIMEOUT_MS, max(1, request.timeouts.connect.milliseconds))
        try set(CURLOPT_HTTP_VERSION, configuration.http2 ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1)
        try check(shim_set_quick_exit(handle))
        try configureTrust(configuration.trust)
        try configureAuthorization()
        try configureMethodAndBody(context)
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
        guard let authorization = request.authorization, authorization.origin == request.url.origin,
            case .basic(let user, let password) = authorization.scheme
        else { return }
        try set(CURLOPT_USERNAME, user)
        try set(CURLOPT_PASSWORD, password)
    }

    private func configureMethodAndBody(_ context: UnsafeMutableRawPointer) throws(TransportError) {
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
        if bodyByteCount > Self.expectThreshold {
            try set(CURLOPT_UPLOAD_BUFFERSIZE, Self.uploadBufferBytes)
        }
        // On a connection that dies before the answer, libcurl sends a request again without telling. A body that has
        // begun cannot go twice (`seekCallback`); a request without one, and a large one, get a connection of their own.
        if request.repeatability == .atMostOnce, bodyByteCount == 0 || bodyByteCount > Self.expectThreshold {
            try set(CURLOPT_FRESH_CONNECT, 1)
        }
    }

    private func configureHeaders() throws(TransportError) {
        var lines = request.headers.map { "\($0.name): \(Self.singleLine($0.value))" }
        if case .header(let name, let value)? = request.authorization?.scheme,
            request.authorization?.origin == request.url.origin
        {
            lines.append("\(name): \(Self.singleLine(value))")
        }
        // An empty value removes the field that libcurl would add.
        lines.append(bodyByteCount > Self.expectThreshold ? "Expect: 100-continue" : "Expect:")
        for line in lines {
            guard let list = curl_slist_append(headerList, line) else {
                throw TransportError(.unusable, detail: "out of memory")
            }
            headerList = list
        }
        try check(shim_setopt_slist(handle, CURLOPT_HTTPHEADER, headerList))
    }

    private static func singleLine(_ value: String) -> String {
        String(String.UnicodeScalarView(value.unicodeScalars.filter { $0 != "\r" && $0 != "\n" && $0 != "\0" }))
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
                .unusable, detail: String(cString: curl_easy_strerror(code)), curlCode: Int(code.rawValue))
        }
    }
}

// MARK: - Called by libcurl

extension Transfer {
    /// Fills libcurl's upload buffer from the body.
    fileprivate func readBody(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        guard let reader else { return 0 }
        var window = buffer
        if let sendRate {
            // Small steps keep a limited rate even; libcurl itself sends whole buffers and then waits.
            let step = Int(clamping: max(1024, sendRate / 8))
            window = UnsafeMutableRawBufferPointer(rebasing: buffer[..<min(buffer.count, step)])
        }
        do {
            let count = try reader.read(into: window)
            bytesRead += Int64(count)
            return count
        } catch {
            callbackError = TransportError(.bodyUnreadable, underlying: error)
            return Int(CURL_READFUNC_ABORT)
        }
    }

    /// libcurl wants to send the body (again) from the start.
    fileprivate func rewindBody(to offset: Int64) -> CInt {
        guard offset == 0, let reader else { return CInt(CURL_SEEKFUNC_CANTSEEK) }
        if bytesRead > 0 && request.repeatability == .atMostOnce {
            callbackError = TransportError(.connectionLost, detail: "the connection closed before the answer")
            return CInt(CURL_SEEKFUNC_FAIL)
        }
        do {
            try reader.rewind()
            bytesRead = 0
            return CInt(CURL_SEEKFUNC_OK)
        } catch {
            callbackError = TransportError(.bodyUnreadable, underlying: error)
            return CInt(CURL_SEEKFUNC_FAIL)
        }
    }

    /// One header line, the status line and the closing empty line included.
    fileprivate func receiveHeaderLine(_ bytes: UnsafeRawBufferPointer) {
        lastActivity = .now
        let line = String(decoding: bytes, as: UTF8.self).trimmingBlanks()
        if line.hasPrefix("HTTP/") {
            let status = line.split(separator: " ", maxSplits: 2).dropFirst().first.flatMap { Int($0) } ?? 0
            head = HTTPResponseHead(status: status)
            isHeadComplete = false
        } else if line.isEmpty {
            // 1xx is interim: the real head follows.
            isHeadComplete = (head?.status ?? 0) >= 200
        } else if !isHeadComplete, let colon = line.firstIndex(of: ":") {
            head?.headers.append(
                HTTPHeader(line[..<colon].trimmingBlanks(), line[line.index(after: colon)...].trimmingBlanks()))
        }
    }

    /// Content bytes. Returns false to abort.
    fileprivate func receiveBody(_ bytes: UnsafeRawBufferPointer) -> Bool {
        lastActivity = .now
        bytesReceived += Int64(bytes.count)
        switch request.destination {
        case .memory(let limit):
            guard body.count + bytes.count <= limit else {
                callbackError = TransportError(.responseTooLarge, detail: "more than \(limit) bytes")
                return false
            }
            body.append(contentsOf: bytes)
            return true
        case .receiver(let receiver):
            do {
                try beginReceiver(receiver)
                try receiver.receive(bytes)
                return true
            } catch {
                callbackError = TransportError(.receiverFailed, underlying: error)
                return false
            }
        }
    }

    /// The head goes to the receiver with the first content, or at the end when there is none: only then is it certain
    /// that libcurl does not follow up by itself (a 417 is repeated once without `Expect`, RFC 9110 section 10.1.1).
    private func beginReceiver(_ receiver: any ResponseReceiver) throws {
        guard !hasBegunReceiver, let head else { return }
        hasBegunReceiver = true
        try receiver.begin(head)
    }
}

/// The context of every callback is a `Transfer` that the loop's table keeps alive until its handle is removed, and
/// libcurl calls back only from inside `curl_multi_perform` on the loop's thread.
private func transfer(_ context: UnsafeMutableRawPointer?) -> Transfer? {
    context.map { Unmanaged<Transfer>.fromOpaque($0).takeUnretainedValue() }
}

private let readCallback: shim_data_callback = { buffer, size, count, context in
    guard let transfer = transfer(context) else { return Int(CURL_READFUNC_ABORT) }
    return transfer.readBody(into: UnsafeMutableRawBufferPointer(start: buffer, count: size * count))
}

private let seekCallback: shim_seek_callback = { context, offset, origin in
    guard let transfer = transfer(context), origin == 0 else { return CInt(CURL_SEEKFUNC_CANTSEEK) }
    return transfer.rewindBody(to: Int64(offset))
}

private let headerCallback: shim_data_callback = { buffer, size, count, context in
    transfer(context)?.receiveHeaderLine(UnsafeRawBufferPointer(start: buffer, count: size * count))
    return size * count
}

private let writeCallback: shim_data_callback = { buffer, size, count, context in
    let accepted = transfer(context)?.receiveBody(UnsafeRawBufferPointer(start: buffer, count: size * count)) ?? false
    // Any number but the length aborts; 0 would not for an empty write.
    return accepted ? size * count : size * count &+ 1
}

// MARK: - Progress, watchdogs, stopping

extension Transfer {
    /// Whether the request line and header fields have left, for requests without a body.
    private var isRequestOut: Bool {
        var requestSize = 0
        shim_getinfo_long(handle, CURLINFO_REQUEST_SIZE, &requestSize)
        return requestSize > 0
    }

    /// Body bytes written to the socket.
    private var bytesSent: Int64 {
        var sent: Int64 = 0
        shim_getinfo_off(handle, CURLINFO_SIZE_UPLOAD_T, &sent)
        return min(sent, bodyByteCount)
    }

    /// Bytes in our send buffer that the peer's kernel has not acknowledged.
    private var bytesUnacknowledged: Int64 {
        var socket: curl_socket_t = -1
        guard shim_getinfo_socket(handle, CURLINFO_ACTIVESOCKET, &socket) == CURLE_OK, socket >= 0 else { return 0 }
        return max(0, shim_socket_unsent(socket))
    }

    /// Looks at the socket, moves the phase on, and reports when there is something new.
    func observeProgress(at now: ContinuousClock.Instant) {
        let sent = bytesSent
        if sent > 0 || bytesRead > 0 {
            let acknowledged = max(bytesAcknowledged, sent - bytesUnacknowledged)
            if acknowledged > bytesAcknowledged {
                bytesAcknowledged = acknowledged
                lastActivity = now
            }
        }
        let next = currentPhase(sent: sent)
        if next != phase {
            phase = next
            lastActivity = now
            report(at: now)
        } else if now - lastReport >= .milliseconds(100) {
            report(at: now)
        }
    }

    private func currentPhase(sent: Int64) -> TransferProgress.Phase {
        if isHeadComplete || bytesReceived > 0 { return .receiving }
        if bodyByteCount == 0 { return isRequestOut ? .processing : .connecting }
        if bytesAcknowledged == bodyByteCount { return .processing }
        return bytesRead > 0 ? .sending : .connecting
    }

    private func report(at now: ContinuousClock.Instant) {
        guard let progress = submission.progress else { return }
        let value = TransferProgress(
            phase: phase, bytesAcknowledged: bytesAcknowledged, bodyByteCount: bodyByteCount,
            bytesReceived: bytesReceived, attempt: submission.attempt)
        guard value != reported else { return }
        reported = value
        lastReport = now
        progress(value)
    }

    /// The limit that has run out, if one has. libcurl itself watches the connecting.
    func overdue(at now: ContinuousClock.Instant) -> TransportError.Kind? {
        let silence = now - lastActivity
        switch phase {
        case .connecting, .waitingToRetry: return nil
        case .sending, .receiving: return silence > request.timeouts.stall ? .stalled : nil
        case .processing: return silence > request.timeouts.answer ? .answerTimeout : nil
        }
    }

    /// Whether the caller's wish ends the transfer now. After the last body byte of an at-most-once request only
    /// `abandon` does; a stop then shortens the wait for the answer.
    func isStopDue() -> Bool {
        switch control.wish {
        case .none: return false
        case .abandon: return true
        case .stop(let finishWithin):
            guard request.repeatability == .atMostOnce, isBodyComplete else { return true }
            if let finishWithin, answerDeadline == nil {
                answerDeadline = ContinuousClock.now + finishWithin
            }
            return answerDeadline.map { ContinuousClock.now >= $0 } ?? false
        }
    }
}

// MARK: - Ends

extension Transfer {
    func finished(with code: CURLcode) -> Result<HTTPResponse, TransportError> {
        if callbackError == nil, code == CURLE_OK, case .receiver(let receiver) = request.destination {
            do {
                try beginReceiver(receiver)
            } catch {
                callbackError = TransportError(.receiverFailed, underlying: error)
            }
        }
        if let callbackError {
            return .failure(completed(callbackError, code))
        }
        guard code == CURLE_OK, let head else {
            return .failure(completed(TransportError(kind(of: code), detail: detail(of: code)), code))
        }
        return .success(HTTPResponse(head: head, body: body, metrics: metrics))
    }

    func cancelled() -> Result<HTTPResponse, TransportError> {
        .failure(completed(TransportError(.cancelled), CURLE_OK))
    }

    func timedOut(_ kind: TransportError.Kind) -> Result<HTTPResponse, TransportError> {
        .failure(completed(TransportError(kind), CURLE_OK))
    }

    private func completed(_ error: TransportError, _ code: CURLcode) -> TransportError {
        var error = error
        error.curlCode = Int(code.rawValue)
        error.metrics = metrics
        error.head = head
        return error
    }

    private var metrics: TransferMetrics {
        TransferMetrics(
            bodyBytesSent: bytesSent, bodyComplete: isBodyComplete, bytesReceived: bytesReceived,
            attempts: submission.attempt, duration: started.duration(to: .now))
    }

    private func detail(of code: CURLcode) -> String {
        let text = String(cString: errorBuffer)
        return text.isEmpty ? String(cString: curl_easy_strerror(code)) : text
    }

    private func kind(of code: CURLcode) -> TransportError.Kind {
        switch code {
        case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY: .unknownHost
        case CURLE_COULDNT_CONNECT, CURLE_PROXY: .cannotConnect
        case CURLE_OPERATION_TIMEDOUT: .connectTimeout
        case CURLE_PEER_FAILED_VERIFICATION: isChainTrusted ? .certificateNameMismatch : .certificateUntrusted
        case CURLE_SSL_PINNEDPUBKEYNOTMATCH: .pinnedKeyMismatch
        case CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER,
            CURLE_SSL_ENGINE_INITFAILED, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_INVALIDCERTSTATUS:
            .tls
        case CURLE_SEND_FAIL_REWIND: .repeatRefused
        case CURLE_UNSUPPORTED_PROTOCOL, CURLE_WEIRD_SERVER_REPLY, CURLE_BAD_CONTENT_ENCODING, CURLE_HTTP2: .invalidAnswer
        case CURLE_OUT_OF_MEMORY, CURLE_FAILED_INIT, CURLE_URL_MALFORMAT, CURLE_BAD_FUNCTION_ARGUMENT: .unusable
        default: .connectionLost
        }
    }

    /// libcurl has one code for an unknown issuer and for a wrong name; OpenSSL's own result tells them apart.
    private var isChainTrusted: Bool {
        var result = 0
        shim_getinfo_long(handle, CURLINFO_SSL_VERIFYRESULT, &result)
        return result == 0
    }
}

extension Duration {
    /// Whole milliseconds.
    var milliseconds: Int {
        Int(clamping: components.seconds) * 1000 + Int(components.attoseconds / 1_000_000_000_000_000)
    }
}
