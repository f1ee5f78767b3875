internal import CCurl
internal import CCurlShims

extension Transfer {
    /// Whether the request line and header fields have left, for requests without a body.
    var isRequestOut: Bool {
        var requestSize = 0
        shim_getinfo_long(handle, CURLINFO_REQUEST_SIZE, &requestSize)
        return requestSize > 0
    }

    /// Body bytes written to the socket.
    var bytesSent: Int64 {
        var sent: Int64 = 0
        shim_getinfo_off(handle, CURLINFO_SIZE_UPLOAD_T, &sent)
        return min(max(sent, bytesSentBeforeRewind), bodyByteCount)
    }

    /// Bytes in our send buffer that the peer's kernel has not acknowledged.
    private var bytesUnacknowledged: Int64 {
        if socket == nil {
            var port = 0
            shim_getinfo_long(handle, CURLINFO_LOCAL_PORT, &port)
            socket = port > 0 ? sockets.socket(localPort: port) : nil
        }
        return socket.map { max(0, shim_socket_unsent($0)) } ?? 0
    }

    /// Looks at the socket, at most twenty times a second, moves the phase on, and reports when there is news.
    func observeProgress(at now: ContinuousClock.Instant) {
        guard now - lastLook >= .milliseconds(50) else { return }
        lastLook = now
        // What the reader holds back is no fault of the peer's.
        if isPaused { lastActivity = now }
        let sent = bytesSent
        if sent > 0 || bytesRead > 0 {
            let acknowledged = max(bytesAcknowledged, sent - bytesUnacknowledged)
            if acknowledged > bytesAcknowledged {
                bytesAcknowledged = acknowledged
                lastActivity = now
            }
        }
        let next = currentPhase(sent: sent)
        if requestEnd == nil, next == .processing || next == .receiving { requestEnd = now }
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

    /// The limit that has run out, if one has. libcurl itself watches the connecting.
    func overdue(at now: ContinuousClock.Instant) -> TransportError.Kind? {
        let silence = now - lastActivity
        if !isDownload, let requestEnd, now - requestEnd > request.timeouts.answer { return .answerTimeout }
        switch phase {
        case .connecting, .waitingToRetry: return nil
        case .sending, .receiving: return silence > request.timeouts.stall ? .stalled : nil
        case .processing: return silence > request.timeouts.answer ? .answerTimeout : nil
        }
    }

    /// Whether the content is the point of the request, which may take as long as it makes progress.
    private var isDownload: Bool {
        if case .receiver = request.destination { request.method == .get } else { false }
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
