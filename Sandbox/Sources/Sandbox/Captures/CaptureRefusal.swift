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
    static let wrongMediaType = CaptureRefusal(
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
