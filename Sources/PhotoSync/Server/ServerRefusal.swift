internal import MediaTransport

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
            setupPlace = members["setupUrl"]?.text.map(ServerText.cut)
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
        PhotoSyncError(
            code(of: call),
            detail: sentence.isEmpty ? "status \(head.status), \(form)" : sentence,
            httpStatus: head.status,
            isRetryable: isRetryable(call),
            value: (300..<400).contains(head.status)
                ? head.value(of: "Location").map(ServerText.cut) : isSetupGate ? setupPlace : nil
        )
    }

    private func code(of call: Call) -> PhotoSyncError.Code {
        switch head.status {
        case 300..<400: .redirected
        case 400: badRequest(call)
        case 401: if case .login = call { .notLoggedIn } else { .invalidAPIKey }
        case 403: .forbidden
        case 404: .notFound
        case 405: .unexpectedAnswer
        case 408, 429: .serverError
        case 413: .fileTooLarge
        case 400..<500: .badRequest
        case 500: serverError(call)
        case 501..<600: isSetupGate ? .setupRequired : .serverError
        default: .unexpectedAnswer
        }
    }

    private func badRequest(_ call: Call) -> PhotoSyncError.Code {
        switch sentence {
        // All that this client uploads is well-formed multipart, so the server can only mean that the body was not there
        // in time (contract 3.4, trap 17).
        case "Request must be multipart/form-data.": if case .upload = call { .bodyTooSlow } else { .badRequest }
        case "Invalid device": .invalidDevice
        case "file extension not allowed": .unknownExtension
        case "file size exceeds maximum allowed": .fileTooLarge
        case "file size must be positive", "No file provided or file is empty.": .emptyFile
        default: .badRequest
        }
    }

    private func serverError(_ call: Call) -> PhotoSyncError.Code {
        switch (sentence, call) {
        case ("Failed to save API key", _): .keyNotRotated
        // The row cannot be saved because the device is unknown (contract 3.1).
        case ("Failed to save photo record.", .upload(namesDevice: true)): .invalidDevice
        default: .serverError
        }
    }

    private func isRetryable(_ call: Call) -> Bool {
        switch head.status {
        case 408, 429, 502, 504: true
        case 503: !isSetupGate
        case 400: code(of: call) == .bodyTooSlow
        default: isDatabaseError
        }
    }

    /// What came instead of a sentence.
    private var form: String {
        switch head.mediaType {
        case nil: "without a reason"
        case "text/html": "an HTML page"
        case "application/json", "text/plain": "without a reason"
        case let type?: "content of type \(ServerText.cut(type))"
        }
    }
}
