import HTTPTypes

/// A request that is refused, and how (contract 1.3).
struct CaptureRefusal: Error {
    enum Kind {
        /// The error envelope, in either profile.
        case envelope(code: String, details: JSONValue?)
        /// A bare sentence of the framework; `mediactl-1` puts it into the envelope under this code (contract 3.4 no. 4).
        case framework(code: String)
    }

    var status: HTTPResponse.Status
    var kind: Kind
    var message: String

    init(_ status: HTTPResponse.Status, _ code: String, _ message: String, details: JSONValue? = nil) {
        self.status = status
        self.message = message
        kind = .envelope(code: code, details: details)
    }

    private init(framework status: HTTPResponse.Status, _ code: String, _ message: String) {
        self.status = status
        self.message = message
        kind = .framework(code: code)
    }

    static func invalid(_ message: String) -> CaptureRefusal { .init(.badRequest, "VALIDATION_ERROR", message) }

    /// The cause is not disclosed.
    static let attestationFailed = CaptureRefusal(.unauthorized, "ATTESTATION_FAILED", "Assertion verification failed")
    static let databaseError = CaptureRefusal(.internalServerError, "INTERNAL_ERROR", "Internal server error")
    static let captureNotFound = CaptureRefusal(.notFound, "CAPTURE_NOT_FOUND", "Capture not found")

    static let notJSON = CaptureRefusal(
        framework: .badRequest,
        "VALIDATION_ERROR",
        "Failed to parse the request body as JSON"
    )
    static let tooLarge = CaptureRefusal(
        framework: .contentTooLarge,
        "PAYLOAD_TOO_LARGE",
        "Failed to buffer the request body: length limit exceeded"
    )
    static let notLabelledJSON = CaptureRefusal(
        framework: .unsupportedMediaType,
        "UNSUPPORTED_MEDIA_TYPE",
        "Expected request with `Content-Type: application/json`"
    )
    static let notFound = CaptureRefusal(framework: .notFound, "NOT_FOUND", "")
    static let methodNotAllowed = CaptureRefusal(framework: .methodNotAllowed, "METHOD_NOT_ALLOWED", "")

    static func wrongShape(_ reason: String) -> CaptureRefusal {
        .init(
            framework: .unprocessableContent,
            "VALIDATION_ERROR",
            "Failed to deserialize the JSON body into the target type: \(reason)"
        )
    }
}

/// Makes the answers to one request.
struct CaptureEnvelope {
    let profile: CaptureSettings.Profile
    let now: CaptureTime
    /// The client's `X-Request-Id`, or a new one when that is no UUID.
    let requestID: String

    init(_ settings: CaptureSettings, requestID: String?) {
        profile = settings.profile
        now = settings.now
        self.requestID = requestID.flatMap(CaptureID.read) ?? CaptureID.new()
    }

    private var meta: JSONValue { ["request_id": .string(requestID), "timestamp": .string(now.metaText)] }

    /// `{"data":…,"meta":…}`.
    func reply(_ status: HTTPResponse.Status, data: JSONValue) -> Reply {
        finished(Reply(status: status, origin: .captures, body: .serdeJSON(["data": data, "meta": meta])))
    }

    /// `{"error":…,"meta":…}`, or what the framework says in its own words.
    func reply(_ refusal: CaptureRefusal) -> Reply {
        switch refusal.kind {
        case .envelope(let code, let details): return error(refusal, code, details)
        case .framework(let code):
            if profile == .mediactl1 { return error(refusal, code, nil) }
            let body: Reply.Body = refusal.message.isEmpty ? .empty : .plainText(refusal.message)
            return finished(Reply(status: refusal.status, origin: .captures, body: body))
        }
    }

    private func error(_ refusal: CaptureRefusal, _ code: String, _ details: JSONValue?) -> Reply {
        let message = refusal.message.isEmpty ? refusal.status.reasonPhrase : refusal.message
        var error: JSONObject = ["code": .string(code), "message": .string(message)]
        error["details"] = details
        return finished(
            Reply(
                status: refusal.status,
                origin: .captures,
                body: .serdeJSON(["error": .object(error), "meta": meta])
            )
        )
    }

    private func finished(_ reply: Reply) -> Reply {
        var reply = reply
        reply.headers += [("X-Request-Id", requestID), ("Date", ReplyRenderer.httpDate(now.seconds))]
        return reply
    }
}

extension Reply {
    /// What a fault says in the server's words; a proxy's page where it can only be a proxy.
    static func captureFault(_ status: HTTPResponse.Status) -> Reply {
        let codes = [
            400: "VALIDATION_ERROR", 401: "ATTESTATION_FAILED", 403: "FORBIDDEN", 404: "DEVICE_NOT_FOUND",
            409: "DEVICE_ALREADY_REGISTERED", 429: "TOO_MANY_REQUESTS", 500: "INTERNAL_ERROR",
        ]
        guard let code = codes[status.code] else { return .webServerError(status) }
        return CaptureEnvelope(CaptureSettings(), requestID: nil)
            .reply(CaptureRefusal(status, code, "Injected by the sandbox"))
    }
}
