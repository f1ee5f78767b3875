import HTTPTypes

/// An error response from the capture server (contract 1.3).
struct CaptureRefusal: Error {
    var status: HTTPResponse.Status
    var code: String
    var message: String
    var details: JSONValue?
    /// Whether this is an error from the framework, which is plain text except on `mediactl-1` (contract 3.4 no. 4).
    var isOfFramework = false

    init(_ status: HTTPResponse.Status, _ code: String, _ message: String, details: JSONValue? = nil) {
        self.status = status
        self.code = code
        self.message = message
        self.details = details
    }

    private static func framework(_ status: HTTPResponse.Status, _ code: String, _ message: String) -> CaptureRefusal {
        var refusal = CaptureRefusal(status, code, message)
        refusal.isOfFramework = true
        return refusal
    }

    static func invalid(_ message: String) -> CaptureRefusal { .init(.badRequest, "VALIDATION_ERROR", message) }
    static func unauthorized(_ code: String, _ message: String) -> CaptureRefusal {
        .init(.unauthorized, code, message)
    }

    /// The cause is not disclosed.
    static let attestationFailed = unauthorized("ATTESTATION_FAILED", "Assertion verification failed")
    static let databaseError = CaptureRefusal(.internalServerError, "INTERNAL_ERROR", "Internal server error")
    static let captureNotFound = CaptureRefusal(.notFound, "CAPTURE_NOT_FOUND", "Capture not found")

    static let notJSON = framework(.badRequest, "VALIDATION_ERROR", "Failed to parse the request body as JSON")
    static let tooLarge = framework(
        .contentTooLarge,
        "PAYLOAD_TOO_LARGE",
        "Failed to buffer the request body: length limit exceeded"
    )
    static let wrongMediaType = framework(
        .unsupportedMediaType,
        "UNSUPPORTED_MEDIA_TYPE",
        "Expected request with `Content-Type: application/json`"
    )
    static let notFound = framework(.notFound, "NOT_FOUND", "")
    static let methodNotAllowed = framework(.methodNotAllowed, "METHOD_NOT_ALLOWED", "")

    static func wrongShape(_ reason: String) -> CaptureRefusal {
        let message = "Failed to deserialize the JSON body into the target type: \(reason)"
        return framework(.unprocessableContent, "VALIDATION_ERROR", message)
    }
}

struct CaptureEnvelope {
    let profile: CaptureSettings.Profile
    let now: Timestamp
    /// The client's `X-Request-Id`, or a new one if that is not a UUID.
    let requestID: String

    init(_ settings: CaptureSettings, requestID: String?) {
        profile = settings.profile
        now = settings.now
        self.requestID = requestID.flatMap(CaptureID.read) ?? newUUID()
    }

    func response(_ status: HTTPResponse.Status, data: JSONValue) -> Response {
        response(status, .json(["data": data, "meta": meta]))
    }

    /// `{"error":…,"meta":…}`, or text from the framework.
    func response(_ refusal: CaptureRefusal) -> Response {
        if refusal.isOfFramework, profile == .reference {
            return response(refusal.status, refusal.message.isEmpty ? .empty : .plainText(refusal.message))
        }
        let message = refusal.message.isEmpty ? refusal.status.reasonPhrase : refusal.message
        var error: JSONValue = ["code": .string(refusal.code), "message": .string(message)]
        error["details"] = refusal.details
        return response(refusal.status, .json(["error": error, "meta": meta]))
    }

    private var meta: JSONValue { ["request_id": .string(requestID), "timestamp": .string(now.fullText)] }

    private func response(_ status: HTTPResponse.Status, _ body: Response.Body) -> Response {
        let headers = [("X-Request-Id", requestID), ("Date", HTTPDate.text(now.seconds))]
        return Response(status, .captures, body, headers)
    }
}

extension Response {
    /// The server's error for an injected status, or a proxy's page for a status that the server does not use.
    static func captureFault(_ status: HTTPResponse.Status) -> Response {
        let codes = [
            400: "VALIDATION_ERROR", 401: "ATTESTATION_FAILED", 403: "FORBIDDEN", 404: "DEVICE_NOT_FOUND",
            409: "DEVICE_ALREADY_REGISTERED", 429: "TOO_MANY_REQUESTS", 500: "INTERNAL_ERROR",
        ]
        guard let code = codes[status.code] else { return .webServerError(status) }
        return CaptureEnvelope(CaptureSettings(), requestID: nil)
            .response(CaptureRefusal(status, code, "Injected by the sandbox"))
    }
}
