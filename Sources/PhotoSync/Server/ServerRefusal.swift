internal import MediaCore
internal import MediaTransport
internal import Outcomes

/// The meaning of an error response. Supports both forms of server errors (photosync contract section 0, trap 7), and
/// responses from intermediaries: an HTML page or an empty body.
struct ServerRefusal {
    private let head: HTTPResponseHead
    /// The server's message; may be empty.
    let sentence: String
    /// Whether the administrator has not finished the setup (contract section 0). Retrying does not help.
    private var isSetupGate = false
    private var setupPlace: String?
    private let isPlainText: Bool

    init(_ response: HTTPResponse) {
        head = response.head
        let body = response.body.prefix(BodyPrefix.limit)
        isPlainText = response.head.mediaType == "text/plain"
        switch response.head.mediaType {
        case "application/json":
            let members = JSONValue.object(in: body) ?? [:]
            sentence = ServerText.cut(members["error"]?.text ?? "")
            isSetupGate = response.status == 503 && (sentence == "Setup required" || members["setupUrl"] != nil)
            setupPlace = members["setupUrl"]?.text.map(ServerText.sentence)
        case "text/plain":
            sentence = ServerText.cut(String(decoding: body, as: UTF8.self))
        default:
            sentence = HTTPSPort.isRefusal(body) ? HTTPSPort.detail : ""
        }
    }

    /// Whether the server's database failed, which may be temporary (contract section 10). During an outage, every
    /// route responds with 500 and plain text (new fact 5); upload and `/check` send the message as JSON with a
    /// trailing period, and key validation has its own message (1.1).
    var isDatabaseError: Bool {
        head.status == 500 && (isPlainText || ["Database error.", "Internal server error."].contains(sentence))
    }

    /// Whether a 404 refers to a photo or its file rather than the URL, as determined by the server's messages or by
    /// the headers of its download route (contract section 6; new fact 2).
    var isOfMissingPhoto: Bool {
        head.status == 404
            && (["Photo not found", "File not found"].contains(sentence) || head.value(of: "X-Photosync-Hash") != nil)
    }

    /// Whether to retry after this response (contract section 10).
    static func verdict(_ response: HTTPResponse) -> ResponseVerdict {
        guard response.status == 500 || response.status == 503 else { return .byStatus }
        let refusal = ServerRefusal(response)
        if refusal.isSetupGate { return .final }
        return refusal.isDatabaseError ? .passing : .byStatus
    }

    /// The error for a response to a request of this kind.
    func error(of call: OutcomeTable.Call = .other) -> PhotoSyncError {
        // The setup gate is recognized by the member `setupUrl` or by its message. A login has different plain-text
        // messages (contract 1.2).
        let isOutage = isPlainText && isDatabaseError && call != .login
        let mark = isSetupGate ? "Setup required" : isOutage ? "Database error" : sentence
        let outcome = OutcomeTable.outcome(of: head.status, from: .photoSync, to: call, mark: mark)
        return PhotoSyncError(
            outcome.code,
            detail: sentence.isEmpty ? head.refusalSummary : KnownSecrets.masked(sentence),
            httpStatus: head.status,
            isRetryable: outcome.isRetryable,
            value: (300..<400).contains(head.status)
                ? head.value(of: "Location").map(ServerText.sentence) : isSetupGate ? setupPlace : nil
        ).with(\.needsPassword, head.status == 401 && isBasicOffered)
    }

    private var isBasicOffered: Bool {
        head.headers.contains {
            $0.name.lowercased() == "www-authenticate" && $0.value.lowercased().hasPrefix("basic")
        }
    }
}
