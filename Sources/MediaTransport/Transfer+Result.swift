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
            return .failure(completed(callbackError, code))
        }
        guard code == CURLE_OK, let head = judgedHead() else {
            return .failure(completed(failure(code), code))
        }
        bytesAcknowledged = max(bytesAcknowledged, bytesSent)
        phase = .receiving
        report(at: .now)
        return .success(HTTPResponse(head: head, body: body, metrics: metrics))
    }

    /// Where a kept connection dies before the answer, libcurl makes another one by itself. When that cannot be made, its
    /// code and its count are those of the new one, although the body has gone out over the old one.
    private func failure(_ code: CURLcode) -> TransportError {
        let error = TransportError(kind(of: code), detail: detail(of: code))
        guard bytesRead > 0, error.isBeforeRequest else { return error }
        bytesSentBeforeRewind = max(bytesSentBeforeRewind, bytesRead)
        return TransportError(
            .connectionLost,
            detail: "the connection closed before the answer; no other could be made: \(error.detail)"
        )
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
        // An interim answer (100 Continue) says nothing about the outcome.
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
        // libcurl repeats an invalid proxy address with its password.
        return text.isEmpty ? String(cString: curl_easy_strerror(code)) : KnownSecrets.masked(text)
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
        case CURLE_UNSUPPORTED_PROTOCOL, CURLE_WEIRD_SERVER_REPLY, CURLE_BAD_CONTENT_ENCODING, CURLE_HTTP2:
            .invalidAnswer
        case CURLE_OUT_OF_MEMORY, CURLE_FAILED_INIT, CURLE_URL_MALFORMAT, CURLE_BAD_FUNCTION_ARGUMENT: .unusable
        default: .connectionLost
        }
    }

    /// libcurl has one code for an unknown issuer and for a wrong name, but records OpenSSL's verdict for the former
    /// only; before that the result is 1 (`X509_V_ERR_UNSPECIFIED`).
    private var isChainTrusted: Bool {
        var result = 0
        shim_getinfo_long(handle, CURLINFO_SSL_VERIFYRESULT, &result)
        return result <= 1
    }
}

extension Duration {
    /// Whole milliseconds; more than 23 days count as 23 days, which libcurl's 32-bit limits can hold.
    var milliseconds: Int {
        Int(min(components.seconds, 2_000_000)) * 1000 + Int(components.attoseconds / 1_000_000_000_000_000)
    }
}
