internal import MediaCore
package import MediaTransport
internal import Outcomes

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
            sentence = ServerText.sentence(error["message"]?.text ?? "")
        } else {
            serverCode = nil
            sentence = head.mediaType == "text/plain" ? ServerText.sentence(String(decoding: text, as: UTF8.self)) : ""
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
        let tableCall: OutcomeTable.Call =
            switch call {
            case .submission: .submission(isWhole: isBodyComplete)
            case .registration: .registration(isWhole: isBodyComplete)
            case .reading: .other
            }
        let outcome = OutcomeTable.outcome(of: head.status, from: .captures, to: tableCall, mark: serverCode)
        return CaptureError(
            outcome.code,
            detail: sentence.isEmpty ? "status \(head.status), \(form)" : sentence,
            httpStatus: head.status,
            serverCode: serverCode,
            isRetryable: outcome.isRetryable,
            value: value(outcome.code)
        )
    }

    private func value(_ code: OutcomeCode) -> String? {
        switch code {
        case .redirected: head.value(of: "Location").map(ServerText.sentence)
        case .clockWrong: head.value(of: "Date").map(ServerText.sentence)
        default: nil
        }
    }

    /// What came instead of a sentence.
    private var form: String {
        switch head.mediaType {
        case nil, "application/json", "text/plain": "without a reason"
        case "text/html": "an HTML page"
        case let type?: "content of type \(ServerText.sentence(type))"
        }
    }
}

extension CaptureError {
    /// Why there is no answer to a request that changes nothing but a counter. The next try is the caller's, under a new
    /// counter.
    init(reading error: TransportError) {
        self.init(unanswered: error, isRetryable: error.isWorthRepeating)
    }

    /// Why there is no answer to a request that may have changed something.
    ///
    /// Once the whole body is out, the server may have acted, however the exchange ended (`.unknownOutcome`); only the head
    /// of a refusal tells otherwise. Before that it cannot have: it reads a body to its end first (contract 1.1).
    ///
    /// - Parameter error: The transport's.
    package init(submitting error: TransportError) {
        if let head = error.head, (400..<500).contains(head.status), head.status != 409 {
            self = CaptureRefusal(head, body: []).error(of: .submission)
            underlying = error
        } else if error.isBeforeRequest || !error.metrics.bodyComplete {
            self.init(unanswered: error, isRetryable: true)
        } else {
            self.init(.unknownOutcome, detail: error.detail, httpStatus: error.head?.status, underlying: error)
        }
    }

    private init(unanswered error: TransportError, isRetryable: Bool) {
        switch error.kind {
        case .cancelled:
            self.init(.cancelled, detail: error.detail)
        case .responseTooLarge:
            self.init(.unexpectedAnswer, detail: "the answer is far too long", httpStatus: error.head?.status)
        default:
            self.init(
                .transport,
                detail: error.detail,
                httpStatus: error.head?.status,
                isRetryable: isRetryable
            )
        }
        underlying = error
    }
}
