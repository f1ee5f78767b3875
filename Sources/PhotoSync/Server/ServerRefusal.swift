internal import MediaCore
internal import MediaTransport
internal import Outcomes

/// What an answer without success says. Both shapes of errors are understood (photosync contract section 0, trap 7), and
/// what comes from something before the server: an HTML page, or nothing at all.
struct ServerRefusal {
    /// What was asked for, where the same answer means different things.
    enum Call {
        case ordinary
        case upload(namesDevice: Bool)
        case login
    }

    private let head: HTTPResponseHead
    /// The server's sentence; empty when there is none.
    private let sentence: String
    /// Whether the administrator has not finished the setup (contract section 0). Trying again does not help.
    let isSetupGate: Bool
    /// Where the server says that its setup is done.
    private let setupPlace: String?

    init(_ response: HTTPResponse) {
        head = response.head
        let body = response.body.prefix(Self.longestBody)
        switch response.head.mediaType {
        case "application/json":
            let members = JSONValue.object(in: body) ?? [:]
            sentence = ServerText.cut(members["error"]?.text ?? "")
            isSetupGate = response.status == 503 && (sentence == "Setup required" || members["setupUrl"] != nil)
            setupPlace = members["setupUrl"]?.text.map(ServerText.sentence)
        case "text/plain":
            sentence = ServerText.cut(String(decoding: body, as: UTF8.self))
            isSetupGate = false
            setupPlace = nil
        default:
            sentence = ""
            isSetupGate = false
            setupPlace = nil
        }
    }

    /// Bytes of an answer that are looked at for its sentence.
    static let longestBody = 65_536

    /// Whether the server's database has failed, which may pass (contract section 10). Upload and `/check` write a full
    /// stop behind it.
    var isDatabaseError: Bool {
        head.status == 500 && (sentence == "Database error" || sentence == "Database error.")
    }

    /// What an answer means for the next try (contract section 10).
    static func verdict(_ response: HTTPResponse) -> AnswerVerdict {
        guard response.status == 500 || response.status == 503 else { return .byStatus }
        let refusal = ServerRefusal(response)
        if refusal.isSetupGate { return .final }
        return refusal.isDatabaseError ? .passing : .byStatus
    }

    /// The refusal as an error.
    func error(of call: Call = .ordinary) -> PhotoSyncError {
        let outcome = outcome(of: call)
        return PhotoSyncError(
            outcome.code,
            detail: sentence.isEmpty ? "status \(head.status), \(form)" : KnownSecrets.masked(sentence),
            httpStatus: head.status,
            isRetryable: outcome.isRetryable,
            value: (300..<400).contains(head.status)
                ? head.value(of: "Location").map(ServerText.sentence) : isSetupGate ? setupPlace : nil
        )
    }

    private func outcome(of call: Call) -> HTTPOutcome {
        let tableCall: OutcomeTable.Call =
            switch call {
            case .ordinary: .other
            case .upload(let namesDevice): .photo(namesDevice: namesDevice)
            case .login: .login
            }
        // The setup gate is told by a member of its own as well as by its sentence.
        let mark = isSetupGate ? "Setup required" : sentence
        return OutcomeTable.outcome(of: head.status, from: .photoSync, to: tableCall, mark: mark)
    }

    /// What came instead of a sentence.
    private var form: String {
        switch head.mediaType {
        case nil: "without a reason"
        case "text/html": "an HTML page"
        case "application/json", "text/plain": "without a reason"
        case let type?: "content of type \(ServerText.sentence(type))"
        }
    }
}
