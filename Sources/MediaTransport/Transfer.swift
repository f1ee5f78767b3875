internal import CCurl
internal import CCurlShims
internal import Glibc

/// One attempt of one request: an easy handle and everything it points to. Used only on the loop's thread.
final class Transfer {
    let handle: UnsafeMutableRawPointer
    let control: TransferControl
    let request: HTTPRequest
    let complete: Completion

    let submission: Submission
    let sockets: OpenSockets
    let loginRequirements: LoginRequirements
    var socket: curl_socket_t?
    let started = ContinuousClock.now
    var headerList: UnsafeMutablePointer<curl_slist>?
    let errorBuffer = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))

    // Request body.
    let bodyByteCount: Int64
    let reader: (any RequestBodyReader)?
    var bytesRead: Int64 = 0
    /// Bytes sent when libcurl rewound the body or reconnected: its own count then restarts at 0.
    var bytesSentBeforeRewind: Int64 = 0
    /// Whether libcurl is waiting for the reader to release the next byte.
    var isPaused = false
    /// Whether the unsent data in the send queue of the connection is limited.
    var isBacklogLimited = false
    var sendRate: Int64?

    // Response.
    var head: HTTPResponseHead?
    var isHeadComplete = false
    var hasBegunReceiver = false
    var body: [UInt8] = []
    /// The beginning of the content of a 401 that goes to a receiver.
    var refusalBody: [UInt8] = []
    var bytesReceived: Int64 = 0
    /// Size of all heads and trailers together.
    var headerBytesReceived = 0

    /// An error in a callback. It takes precedence over libcurl's code, which is only "aborted by callback".
    var callbackError: TransportError?

    // Progress and watchdogs.
    var phase = TransferProgress.Phase.connecting
    var bytesAcknowledged: Int64 = 0
    var lastActivity = ContinuousClock.now
    /// When the whole request had been sent, or the final head had arrived.
    var requestEnd: ContinuousClock.Instant?
    /// The first check is made 50 ms after the start: by then, most small bodies are sent, and their responses
    /// received.
    var lastLook = ContinuousClock.now
    var lastReport = ContinuousClock.now
    var reported: TransferProgress?
    /// Set by a graceful stop after the last byte.
    var responseDeadline: ContinuousClock.Instant?

    var key: OpaquePointer { OpaquePointer(handle) }

    /// Whether libcurl has taken every body byte: from here on the server may have the whole request.
    var isBodyComplete: Bool { bytesRead == bodyByteCount && (bytesRead > 0 || isRequestOut) }

    init(
        _ submission: Submission,
        complete: @escaping Completion,
        configuration: HTTPClientConfiguration,
        sockets: OpenSockets
    ) throws(TransportError) {
        guard let handle = curl_easy_init() else {
            throw TransportError(.unusable, detail: "out of memory")
        }
        self.handle = handle
        self.submission = submission
        self.complete = complete
        self.sockets = sockets
        loginRequirements = configuration.loginRequirements
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
        let context = Unmanaged.passUnretained(self).toOpaque()
        try check(shim_set_error_buffer(handle, errorBuffer))
        try check(shim_set_header(handle, headerCallback, context))
        try check(shim_set_write(handle, writeCallback, context))
        try set(CURLOPT_URL, request.url.text)
        try configureConnection(configuration)
        try configureTrust(configuration.trust(for: request.url.origin))
        try configureAuthorization()
        try configureMethodAndBody(context, configuration)
        try configureHeaders()
        sockets.follow(handle)
    }

    deinit {
        curl_easy_cleanup(handle)
        curl_slist_free_all(headerList)
        errorBuffer.deallocate()
    }

    func limitSendRate(to bytesPerSecond: Int64) {
        sendRate = bytesPerSecond
        _ = shim_setopt_off(handle, CURLOPT_MAX_SEND_SPEED_LARGE, bytesPerSecond)
    }
}

extension Transfer {
    /// Bodies of up to this length fit into the buffers of the connection: they are sent before a refusal could prevent
    /// that.
    private static let smallBodyBytes: Int64 = 65_536
    /// The limit for servers that have accepted a body, so a refusal is unlikely.
    private static let smallBodyBytesOnceFamiliar: Int64 = 1 << 20
    /// The lower bound is the smallest buffer that libcurl accepts (CURLOPT_UPLOAD_BUFFERSIZE(3)).
    private static let uploadBufferBytes = 16_384...262_144
    /// For a response that goes to a receiver; libcurl's own 16 KiB cost four times as many system calls.
    private static let downloadBufferBytes = 131_072

    var expectsContinue: Bool {
        submission.expectsContinue && request.expectsContinue && isBodyLarge
    }

    /// Large bodies are sent with `Expect: 100-continue`, so a refused request does not send its body (trap T3), and
    /// over a new connection if they may be sent only once (docs/adr/0002).
    private var isBodyLarge: Bool {
        bodyByteCount > (submission.isFamiliar ? Self.smallBodyBytesOnceFamiliar : Self.smallBodyBytes)
    }

    private func configureConnection(_ configuration: HTTPClientConfiguration) throws(TransportError) {
        try set(CURLOPT_PROTOCOLS_STR, "http,https")
        try set(CURLOPT_REDIR_PROTOCOLS_STR, "http,https")
        try set(CURLOPT_FOLLOWLOCATION, 0)
        try set(CURLOPT_NOSIGNAL, 1)
        if request.url.origin.scheme == "http", ProxyChoice.variable(for: request.url.origin) == nil {
            // An empty string overrides the environment.
            try set(CURLOPT_PROXY, "")
        }
        // A proxy's response to CONNECT is not the server's.
        try set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        try set(CURLOPT_USERAGENT, configuration.userAgent)
        try set(CURLOPT_TCP_KEEPALIVE, 1)
        try set(CURLOPT_TCP_KEEPIDLE, 30)
        try set(CURLOPT_TCP_KEEPINTVL, 15)
        try set(CURLOPT_CONNECTTIMEOUT_MS, max(1, request.timeouts.connect.milliseconds))
        try set(CURLOPT_HTTP_VERSION, configuration.http2 ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1)
        if case .receiver = request.destination {
            try set(CURLOPT_BUFFERSIZE, Self.downloadBufferBytes)
        } else {
            // A request without `Accept-Encoding`, which `configureHeaders` removes, accepts any coding (RFC 9110
            // section 12.5.3), and some proxies compress: libcurl decodes what it supports. A receiver gets the bytes
            // as they arrive: the response to an upload is stored before it is decoded.
            try set(CURLOPT_ACCEPT_ENCODING, "")
        }
        try check(shim_set_quick_exit(handle))
    }

    private func configureTrust(_ trust: ServerTrust) throws(TransportError) {
        if let file = trust.caFile {
            try set(CURLOPT_CAINFO, file)
        }
        if let key = trust.pinnedKey {
            try set(CURLOPT_PINNEDPUBLICKEY, key)
        }
        // A pinned key is stronger than the chain and name checks, and is checked regardless of them.
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
        if reader != nil {
            // No larger than the body: libcurl allocates the buffer for each transfer.
            let sizes = Self.uploadBufferBytes
            let size = min(max(Int(clamping: bodyByteCount), sizes.lowerBound), sizes.upperBound)
            try set(CURLOPT_UPLOAD_BUFFERSIZE, size)
        }
        // If a connection is lost before the response, libcurl silently sends a request again. A body that has begun
        // cannot be sent twice (`seekCallback`); a request without a body, or with a large one, gets a new connection.
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
        lines.append("Accept-Encoding:")
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
            throw TransportError(.unusable, detail: String(cString: curl_easy_strerror(code)))
        }
    }
}

extension Transfer {
    /// The limit for all heads of a response, including interim ones, and for its trailers. libcurl itself counts the
    /// bytes of one head only.
    private static let headerByteLimit = 300 << 10

    fileprivate func readBody(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        guard let reader else { return 0 }
        if reader.isHeld {
            isPaused = true
            return Int(CURL_READFUNC_PAUSE)
        }
        var limit = buffer.count
        if let sendRate {
            // Small steps keep a limited rate even; libcurl itself sends whole buffers and then waits.
            limit = min(limit, Int(clamping: max(1024, sendRate / 8)))
        }
        if isAtLimitedEnd {
            limitBacklog()
            limit = min(limit, Self.endStepBytes)
        } else if bytesRead == 0, bodyByteCount > Self.limitedEndBytes, let socket = connectedSocket() {
            // A kept connection still has the limit of its last body.
            _ = shim_socket_limit_backlog(socket, 0)
        }
        do {
            let count = try reader.read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<limit]))
            bytesRead += Int64(count)
            return count
        } catch {
            callbackError = TransportError(.bodyUnreadable, underlying: error)
            return Int(CURL_READFUNC_ABORT)
        }
    }

    /// Length of the last part of a body, during which the send queue is limited: more than libcurl reads at once
    /// before that part.
    private static let limitedEndBytes: Int64 = 1 << 19
    /// Maximum number of bytes that libcurl gets at once in the last part, and that the kernel may hold unsent.
    private static let endStepBytes = 65_536

    /// Whether the next byte is near the end of a body that may be sent only once.
    ///
    /// Once libcurl has taken the last byte, a stop waits for the response. The kernel's send queue takes up to 4 MiB
    /// (tcp_wmem, tcp(7)), which a slow line needs minutes to send; those bytes cannot be withdrawn without a race with
    /// the kernel. Near the end, the queue therefore accepts little more than it sends.
    private var isAtLimitedEnd: Bool {
        request.repeatability == .atMostOnce && bodyByteCount > 2 * Int64(Self.endStepBytes)
            && bodyByteCount - bytesRead <= Self.limitedEndBytes
    }

    /// Limits the unsent bytes in the send queue, once. Without kernel support, nothing changes.
    private func limitBacklog() {
        guard !isBacklogLimited, let socket = connectedSocket() else { return }
        isBacklogLimited = true
        _ = shim_socket_limit_backlog(socket, CInt(Self.endStepBytes))
    }

    /// libcurl must send the body (again) from the start.
    fileprivate func rewindBody(to offset: Int64) -> CInt {
        guard offset == 0, let reader else { return CInt(CURL_SEEKFUNC_CANTSEEK) }
        if bytesRead > 0 && request.repeatability != .safe {
            callbackError = TransportError(.connectionLost, detail: "the connection closed before the response")
            bytesSentBeforeRewind = bytesRead
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

    /// Resumes a body that its reader has released, or that the server has refused: libcurl then stops sending by
    /// itself, but does not end a paused transfer.
    func resumeIfReleased() {
        let isRefused = isHeadComplete && (head?.status ?? 0) >= 300
        guard isPaused, isRefused || reader?.isHeld == false else { return }
        isPaused = false
        lastActivity = .now
        curl_easy_pause(handle, CInt(CURLPAUSE_CONT))
    }

    /// One header line, the status line and the closing empty line included. Returns false to abort.
    fileprivate func receiveHeaderLine(_ bytes: UnsafeRawBufferPointer) -> Bool {
        headerBytesReceived += bytes.count
        guard headerBytesReceived <= Self.headerByteLimit else {
            callbackError = TransportError(
                .responseTooLarge,
                detail: "headers of more than \(Self.headerByteLimit) bytes"
            )
            return false
        }
        // Interim responses do not show that a server accepts the body.
        if phase != .sending { lastActivity = .now }
        let line = bytes[...].trimmingBlanks()
        if line.starts(with: "HTTP/".utf8) {
            let text = String(decoding: line, as: UTF8.self)
            let status = text.split(separator: " ", maxSplits: 2).dropFirst().first.flatMap { Int($0) } ?? 0
            head = HTTPResponseHead(status: status)
            isHeadComplete = false
        } else if line.isEmpty {
            // 1xx is interim: the real head follows.
            isHeadComplete = (head?.status ?? 0) >= 200
            if head?.status == 417, expectsContinue {
                // Without this, libcurl would send the field again forever.
                callbackError = TransportError(.invalidResponse, detail: "417 Expectation Failed")
                return false
            }
        } else if !isHeadComplete, let colon = line.firstIndex(of: UInt8(ascii: ":")) {
            head?.headers.append(
                HTTPHeader(
                    String(decoding: line[..<colon].trimmingBlanks(), as: UTF8.self),
                    String(decoding: line[(colon + 1)...].trimmingBlanks(), as: UTF8.self)
                )
            )
        }
        return true
    }

    /// Returns false to abort.
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
            if head?.status == 401 { refusalBody += bytes.prefix(Self.refusalBytes - refusalBody.count) }
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

    /// The head is passed on with the first content, or at the end if there is none.
    func beginReceiver(_ receiver: any ResponseReceiver) throws {
        guard !hasBegunReceiver, let head else { return }
        hasBegunReceiver = true
        try receiver.begin(head)
    }
}

extension Slice<UnsafeRawBufferPointer> {
    /// Without leading and trailing blanks and line breaks (RFC 9110 section 5.5).
    fileprivate func trimmingBlanks() -> Self {
        let isBlank: (UInt8) -> Bool = { $0 == 0x20 || (0x09...0x0d).contains($0) }
        guard let start = firstIndex(where: { !isBlank($0) }), let last = lastIndex(where: { !isBlank($0) }) else {
            return self[endIndex...]
        }
        return self[start...last]
    }
}

/// The context of every callback is a `Transfer` that the loop's table keeps alive until its handle is removed, and
/// libcurl calls back only from inside `curl_multi_perform` on the loop's thread.
private func transfer(_ context: UnsafeMutableRawPointer?) -> Transfer? {
    context.map { Unmanaged<Transfer>.fromOpaque($0).takeUnretainedValue() }
}

let readCallback: shim_data_callback = { buffer, size, count, context in
    guard let transfer = transfer(context) else { return Int(CURL_READFUNC_ABORT) }
    return transfer.readBody(into: UnsafeMutableRawBufferPointer(start: buffer, count: size * count))
}

let seekCallback: shim_seek_callback = { context, offset, origin in
    guard let transfer = transfer(context), origin == 0 else { return CInt(CURL_SEEKFUNC_CANTSEEK) }
    return transfer.rewindBody(to: Int64(offset))
}

let headerCallback: shim_data_callback = { buffer, size, count, context in
    let line = UnsafeRawBufferPointer(start: buffer, count: size * count)
    let accepted = transfer(context)?.receiveHeaderLine(line) ?? false
    return accepted ? size * count : size * count &+ 1
}

let writeCallback: shim_data_callback = { buffer, size, count, context in
    let accepted = transfer(context)?.receiveBody(UnsafeRawBufferPointer(start: buffer, count: size * count)) ?? false
    // Any number except the length aborts the transfer; for an empty write, 0 would not abort it.
    return accepted ? size * count : size * count &+ 1
}
