internal import MediaCore
internal import MediaTransport
internal import Outcomes

/// The meaning of an error response (hash-only contract 1.3, 3.2, 6.2): an error envelope, plain text, or a proxy's
/// response. Only codes and statuses are matched, never messages.
struct CaptureRefusal {
    private let head: HTTPResponseHead
    let serverCode: String?
    /// Whether the response has the form of the server's own errors, as opposed to a page from a proxy: the error
    /// envelope, or plain text from the server's framework (contract 1.3).
    private let isFromServer: Bool
    /// The server's message; empty if there is none.
    private let sentence: String

    /// Maximum number of response bytes examined.
    static let longestBody = 65_536

    init(_ head: HTTPResponseHead, body: [UInt8]) {
        self.head = head
        let text = body.prefix(Self.longestBody)
        if let error = JSONValue.object(in: text)?["error"]?.members {
            isFromServer = true
            serverCode = error["code"]?.text.flatMap(Self.code)
            sentence = ServerText.sentence(error["message"]?.text ?? "")
        } else {
            serverCode = nil
            let isPlain = head.mediaType == "text/plain"
            isFromServer = isPlain && [400, 413, 415, 422].contains(head.status)
            sentence =
                isPlain
                ? ServerText.sentence(String(decoding: text, as: UTF8.self))
                : HTTPSPort.isRefusal(text) ? HTTPSPort.detail : ""
        }
    }

    /// A valid error code; nil for other text.
    private static func code(_ text: String) -> String? {
        let isCode = text.utf8.allSatisfy { byte in
            (0x41...0x5a).contains(byte) || (0x30...0x39).contains(byte) || byte == UInt8(ascii: "_")
        }
        return isCode && (1...64).contains(text.utf8.count) ? text : nil
    }

    func error(of call: OutcomeTable.Call) -> CaptureError {
        let isSubmission = if case .submission = call { true } else { false }
        let outcome = OutcomeTable.outcome(of: head.status, from: .captures, to: call, mark: serverCode)
        return CaptureError(
            outcome.code,
            detail: sentence.isEmpty ? head.refusalSummary : sentence,
            httpStatus: head.status,
            isRetryable: outcome.isRetryable || (isSubmission && isForeign(outcome.code)),
            value: value(outcome.code)
        ).with(\.serverCode, serverCode)
    }

    /// Whether a proxy refused the request: the server has not seen the capture, and may accept it.
    private func isForeign(_ code: OutcomeCode) -> Bool {
        !isFromServer && [.badRequest, .payloadTooLarge, .unsupportedMedia].contains(code)
    }

    private func value(_ code: OutcomeCode) -> String? {
        switch code {
        case .redirected: head.value(of: "Location").map(ServerText.sentence)
        case .clockWrong: head.value(of: "Date").map(ServerText.sentence)
        default: nil
        }
    }
}

extension CaptureError {
    /// Creates the error for a missing response to a request whose only side effect is using a counter. The caller may
    /// repeat the request with a new counter.
    init(reading error: TransportError) {
        self.init(noResponse: error, isRetryable: error.isWorthRepeating)
    }

    /// Creates the error for a missing response to a request that may have had side effects.
    ///
    /// Once the whole body was sent, the server may have processed the request, regardless of the result of the
    /// exchange (`.unknownOutcome`), unless the head of a refusal was received. Before that, the server cannot have
    /// processed the request, since it reads the whole body first (contract 1.1).
    init(submitting error: TransportError) {
        if let head = error.head, (400..<500).contains(head.status), head.status != 409 {
            self = CaptureRefusal(head, body: []).error(of: .submission(isWhole: true))
            self.underlying = error
        } else if error.isBeforeRequest || !error.metrics.bodyComplete {
            self.init(noResponse: error, isRetryable: true)
        } else {
            self.init(.unknownOutcome, detail: error.detail, httpStatus: error.head?.status, underlying: error)
        }
    }
}
