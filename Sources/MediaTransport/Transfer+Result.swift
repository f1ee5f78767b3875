internal import CCurl
internal import CCurlShims

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
            return .failure(completed(callbackError))
        }
        guard code == CURLE_OK, let head = judgedHead() else {
            return .failure(completed(failure(code)))
        }
        bytesAcknowledged = max(bytesAcknowledged, bytesSent)
        phase = .receiving
        report(at: .now)
        return .success(HTTPResponse(head: head, body: body, metrics: metrics))
    }

    /// If a kept connection is lost before the response, libcurl opens another one. If that fails, the code and the
    /// count are those of the new connection, although the body was sent over the old one.
    private func failure(_ code: CURLcode) -> TransportError {
        let error = TransportError(kind(of: code), detail: detail(of: code))
        guard bytesRead > 0, error.isBeforeRequest else { return error }
        bytesSentBeforeRewind = max(bytesSentBeforeRewind, bytesRead)
        return TransportError(
            .connectionLost,
            detail: "the connection closed before the response; reconnecting failed: \(error.detail)"
        )
    }

    /// The result of a transfer that is ended before libcurl ends it.
    func ended(_ kind: TransportError.Kind) -> Result<HTTPResponse, TransportError> {
        .failure(completed(TransportError(kind)))
    }

    private func completed(_ error: TransportError) -> TransportError {
        var error = error
        error.metrics = metrics
        // An interim response (100 Continue) shows nothing about the outcome.
        error.head = isHeadComplete ? judgedHead() : nil
        return error
    }

    private var metrics: TransferMetrics {
        TransferMetrics(
            bodyBytesSent: bytesSent,
            bodyComplete: isBodyComplete,
            bytesReceived: bytesReceived,
            attempts: submission.attempt,
            duration: started.duration(to: .now)
        )
    }

    private func detail(of code: CURLcode) -> String {
        let text = String(cString: errorBuffer)
        // libcurl's text quotes an invalid proxy address, including its password.
        return text.isEmpty ? String(cString: curl_easy_strerror(code)) : KnownSecrets.masked(text)
    }

    private func kind(of code: CURLcode) -> TransportError.Kind {
        if isRefusedByProxy { return .cannotConnect }
        return switch code {
        case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY: .unknownHost
        case CURLE_COULDNT_CONNECT, CURLE_PROXY: .cannotConnect
        case CURLE_OPERATION_TIMEDOUT: .connectTimeout
        case CURLE_PEER_FAILED_VERIFICATION: isChainTrusted ? .certificateNameMismatch : .certificateUntrusted
        case CURLE_SSL_PINNEDPUBKEYNOTMATCH: .pinnedKeyMismatch
        case CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER,
            CURLE_SSL_ENGINE_INITFAILED, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_INVALIDCERTSTATUS:
            .tls
        case CURLE_SEND_FAIL_REWIND: .repeatRefused
        case CURLE_UNSUPPORTED_PROTOCOL, CURLE_WEIRD_SERVER_REPLY, CURLE_BAD_CONTENT_ENCODING, CURLE_HTTP2:
            .invalidResponse
        case CURLE_OUT_OF_MEMORY, CURLE_FAILED_INIT, CURLE_URL_MALFORMAT, CURLE_BAD_FUNCTION_ARGUMENT: .unusable
        default: .connectionLost
        }
    }

    /// Whether a proxy refused the connection to the server: libcurl's own code is the same as for a lost connection.
    private var isRefusedByProxy: Bool {
        var status = 0
        shim_getinfo_long(handle, CURLINFO_HTTP_CONNECTCODE, &status)
        return status >= 300
    }

    /// libcurl has one code for an unknown issuer and for a wrong name, but sets OpenSSL's result only for the former;
    /// its initial value is 1 (`X509_V_ERR_UNSPECIFIED`).
    private var isChainTrusted: Bool {
        var result = 0
        shim_getinfo_long(handle, CURLINFO_SSL_VERIFYRESULT, &result)
        return result <= 1
    }
}

extension Duration {
    /// Whole milliseconds; more than 23 days count as 23 days, which fits into libcurl's 32-bit limits.
    var milliseconds: Int {
        Int(min(components.seconds, 2_000_000)) * 1000 + Int(components.attoseconds / 1_000_000_000_000_000)
    }
}

extension Transfer {
    /// Whether the request line and header fields were sent, for requests without a body.
    ///
    /// libcurl measures the time until then. The size of the request includes a CONNECT, which only the proxy gets.
    var isRequestOut: Bool {
        var microseconds: Int64 = 0
        shim_getinfo_off(handle, CURLINFO_PRETRANSFER_TIME_T, &microseconds)
        return microseconds > 0
    }

    /// Body bytes written to the socket.
    var bytesSent: Int64 {
        var sent: Int64 = 0
        shim_getinfo_off(handle, CURLINFO_SIZE_UPLOAD_T, &sent)
        return min(max(sent, bytesSentBeforeRewind), bodyByteCount)
    }

    /// The socket of this transfer; nil until it is connected.
    func connectedSocket() -> curl_socket_t? {
        if socket == nil {
            var port = 0
            shim_getinfo_long(handle, CURLINFO_LOCAL_PORT, &port)
            socket = port > 0 ? sockets.socket(localPort: port) : nil
        }
        return socket
    }

    /// Bytes in our send buffer that the peer's kernel has not acknowledged.
    private var bytesUnacknowledged: Int64 {
        connectedSocket().map { max(0, shim_socket_unsent($0)) } ?? 0
    }

    /// Checks the socket at most twenty times a second, updates the phase, and reports changes.
    func observeProgress(at now: ContinuousClock.Instant) {
        guard now - lastLook >= .milliseconds(50) else { return }
        lastLook = now
        // A pause by the reader is not a stall of the peer.
        if isPaused { lastActivity = now }
        let sent = bytesSent
        if sent > 0 || bytesRead > 0 {
            let acknowledged = max(bytesAcknowledged, sent - bytesUnacknowledged)
            if acknowledged > bytesAcknowledged {
                bytesAcknowledged = acknowledged
                lastActivity = now
            }
        }
        let next = currentPhase
        if requestEnd == nil, next == .processing || next == .receiving { requestEnd = now }
        if next != phase {
            phase = next
            lastActivity = now
            report(at: now)
        } else if now - lastReport >= .milliseconds(100) {
            report(at: now)
        }
    }

    private var currentPhase: TransferProgress.Phase {
        if isHeadComplete || bytesReceived > 0 { return .receiving }
        if bodyByteCount == 0 { return isRequestOut ? .processing : .connecting }
        if bytesAcknowledged == bodyByteCount { return .processing }
        return bytesRead > 0 ? .sending : .connecting
    }

    func report(at now: ContinuousClock.Instant) {
        guard let progress = submission.progress else { return }
        let value = TransferProgress(
            phase: phase,
            bytesAcknowledged: bytesAcknowledged,
            bodyByteCount: bodyByteCount,
            bytesReceived: bytesReceived,
            attempt: submission.attempt
        )
        guard value != reported else { return }
        reported = value
        lastReport = now
        progress(value)
    }

    /// The limit that has expired, if any. libcurl itself enforces the connect timeout.
    func overdue(at now: ContinuousClock.Instant) -> TransportError.Kind? {
        let silence = now - lastActivity
        if !isDownload, let requestEnd, now - requestEnd > request.timeouts.response { return .responseTimeout }
        switch phase {
        case .connecting, .waitingToRetry: return nil
        case .sending, .receiving: return silence > request.timeouts.stall ? .stalled : nil
        case .processing: return silence > request.timeouts.response ? .responseTimeout : nil
        }
    }

    /// Whether the content is the purpose of the request; such content is not subject to a time limit while there is
    /// progress. The content of a refusal is, as are all heads.
    private var isDownload: Bool {
        guard case .receiver = request.destination, request.method == .get, isHeadComplete else { return false }
        return head?.status == 200 || head?.status == 206
    }

    /// Whether the whole request was sent, and a stop waits for its response.
    var isAwaitingOnlyResponse: Bool {
        (request.repeatability == .atMostOnce || request.finishesWithin != nil) && isBodyComplete
    }

    /// Whether the control stops the transfer now. After the last body byte of such a request, only `abandon` does; a
    /// stop then shortens the wait for the response.
    func isStopDue() -> Bool {
        switch control.stopRequest {
        case .none: return false
        case .abandon: return true
        case .stop(let finishWithin):
            guard isAwaitingOnlyResponse else { return true }
            if let limit = request.finishesWithin ?? finishWithin, responseDeadline == nil {
                responseDeadline = ContinuousClock.now + limit
            }
            return responseDeadline.map { ContinuousClock.now >= $0 } ?? false
        }
    }
}

/// The state of a transfer, for a progress display.
public struct TransferProgress: Sendable, Equatable {
    /// The stages of a transfer, in order.
    public enum Phase: Sendable, Equatable {
        /// Name lookup, TCP, TLS, and waiting for a free connection.
        case connecting
        /// The body is being sent.
        case sending
        /// The peer's kernel has the whole body; the server has not responded yet.
        case processing
        /// The response is being received.
        case receiving
        case waitingToRetry
    }

    public var phase: Phase
    /// Body bytes that the peer's kernel has acknowledged: bytes written to the socket minus those still in our send
    /// buffer. Never more than a slow reader has read plus the peer's receive buffer.
    public var bytesAcknowledged: Int64
    /// Length of the body; 0 if there is no body.
    public var bodyByteCount: Int64
    /// Content bytes received.
    public var bytesReceived: Int64
    /// The number of the current attempt, from 1; during a wait, the number of the next attempt.
    public var attempt: Int
    /// Length of the wait, in `.waitingToRetry`.
    public var wait: Duration?

    package init(
        phase: Phase,
        bytesAcknowledged: Int64 = 0,
        bodyByteCount: Int64 = 0,
        bytesReceived: Int64 = 0,
        attempt: Int = 1,
        wait: Duration? = nil
    ) {
        self.wait = wait
        self.phase = phase
        self.bytesAcknowledged = bytesAcknowledged
        self.bodyByteCount = bodyByteCount
        self.bytesReceived = bytesReceived
        self.attempt = attempt
    }
}
