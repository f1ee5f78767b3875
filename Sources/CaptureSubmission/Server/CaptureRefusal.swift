internal import MediaTransport

/// What an answer without success says (hash-only contract 1.3, 3.2, 6.2): an error envelope, plain text, or whatever
/// something before the server answers. Only codes and status are matched, never sentences.
struct CaptureRefusal {
    /// What was asked for, where the same answer means different things.
    enum Call {
        /// May have made a capture.
        case submission
        case registration
        /// Changes nothing but a counter.
        case reading
    }

    private let head: HTTPResponseHead
    /// The server's `error.code`.
    let serverCode: String?
    /// The server's sentence; empty when there is none.
    private let sentence: String

    /// Bytes of an answer that are looked at.
    static let longestBody = 65_536

    init(_ head: HTTPResponseHead, body: [UInt8]) {
        self.head = head
        let text = body.prefix(Self.longestBody)
        if let error = JSONValue.object(in: text)?["error"]?.members {
            serverCode = error["code"]?.text.flatMap(Self.code)
            sentence = ServerText.cut(error["message"]?.text ?? "")
        } else {
            serverCode = nil
            sentence = head.mediaType == "text/plain" ? ServerText.cut(String(decoding: text, as: UTF8.self)) : ""
        }
    }

    /// A code as servers write them; anything else is not worth showing.
    private static func code(_ text: String) -> String? {
        let isCode = text.utf8.allSatisfy { byte in
            (0x41...0x5a).contains(byte) || (0x30...0x39).contains(byte) || byte == UInt8(ascii: "_")
        }
        return isCode && (1...64).contains(text.utf8.count) ? text : nil
    }

    /// The refusal as an error.
    ///
    /// - Parameters:
    ///   - call: What was asked for.
    ///   - isBodyComplete: Whether the server had the whole request when it answered.
    /// - Returns: The error.
    func error(of call: Call, isBodyComplete: Bool = true) -> CaptureError {
        let code = code(of: call, isBodyComplete: isBodyComplete)
        return CaptureError(
            code,
            detail: sentence.isEmpty ? "status \(head.status), \(form)" : sentence,
            httpStatus: head.status,
            serverCode: serverCode,
            isRetryable: isRetryable(code),
            value: value(code)
        )
    }

    private func code(of call: Call, isBodyComplete: Bool) -> CaptureError.Code {
        if let code = serverCode.flatMap({ Self.known($0, call) }) { return code }
        return switch head.status {
        case 300..<400: .redirected
        // The shape is right, so the server knows another one.
        case 422 where call == .registration: .enrolmentImpossible
        case 401: .unauthorized
        case 403: .forbidden
        case 404, 405: .unexpectedAnswer
        case 409: call == .registration ? .alreadyRegistered : .duplicate
        case 408: .serverError
        case 413: .bodyTooLarge
        case 429: .tooManyRequests
        case 400..<500: .badRequest
        // A server, or a proxy whose server is silent, may have done its work before it failed: a duplicate is a 500 at the
        // reference server. 503 says that nothing was done.
        case 500..<600: call != .reading && isBodyComplete && head.status != 503 ? .unknownOutcome : .serverError
        default: .unexpectedAnswer
        }
    }

    private static func known(_ serverCode: String, _ call: Call) -> CaptureError.Code? {
        switch serverCode {
        case "TIMESTAMP_EXPIRED", "TIMESTAMP_INVALID": .clockWrong
        case "ATTESTATION_FAILED": .assertionRefused
        case "SIGNATURE_INVALID", "REPLAY_DETECTED": .requestSignatureRefused
        case "DEVICE_AUTH_REQUIRED": .unauthorized
        case "DEVICE_UNVERIFIED": .deviceUnverified
        case "FORBIDDEN": .forbidden
        case "DEVICE_NOT_FOUND": .deviceUnknown
        case "CAPTURE_NOT_FOUND", "HASH_NOT_FOUND": .captureNotFound
        case "DEVICE_ALREADY_REGISTERED": .alreadyRegistered
        case "DUPLICATE_CAPTURE": .duplicate
        case "TOO_MANY_REQUESTS", "RATE_LIMITED": .tooManyRequests
        case "PAYLOAD_TOO_LARGE": .bodyTooLarge
        // A fresh challenge may do.
        case "CHALLENGE_EXPIRED", "CHALLENGE_NOT_FOUND", "CHALLENGE_INVALID": .badRequest
        // What is sent at registration is well-formed, so the server means the platform or the evidence.
        case "VALIDATION_ERROR": call == .registration ? .enrolmentImpossible : .badRequest
        case "INVALID_ATTESTATION_FORMAT", "UNTRUSTED_ATTESTATION": .enrolmentImpossible
        default: nil
        }
    }

    private func isRetryable(_ code: CaptureError.Code) -> Bool {
        switch code {
        case .tooManyRequests, .serverError: true
        case .badRequest: serverCode?.hasPrefix("CHALLENGE_") == true
        default: false
        }
    }

    private func value(_ code: CaptureError.Code) -> String? {
        switch code {
        case .redirected: head.value(of: "Location").map(ServerText.cut)
        case .clockWrong: head.value(of: "Date").map(ServerText.cut)
        default: nil
        }
    }

    /// What came instead of a sentence.
    private var form: String {
        switch head.mediaType {
        case nil, "application/json", "text/plain": "without a reason"
        case "text/html": "an HTML page"
        case let type?: "content of type \(ServerText.cut(type))"
        }
    }
}
