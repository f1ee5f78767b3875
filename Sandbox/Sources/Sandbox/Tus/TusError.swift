import HTTPTypes

/// A refusal by tusd: a code and a message in plain text.
struct TusError: Refusal {
    var status: Int
    var code: String
    var text: String

    private init(_ status: Int, _ code: String, _ text: String) {
        self.status = status
        self.code = "ERR_" + code
        self.text = text
    }

    static let unsupportedVersion = TusError(
        412,
        "UNSUPPORTED_VERSION",
        "missing, invalid or unsupported Tus-Resumable header"
    )
    static let maxSizeExceeded = TusError(413, "MAX_SIZE_EXCEEDED", "maximum size exceeded")
    static let invalidContentType = TusError(400, "INVALID_CONTENT_TYPE", "missing or invalid Content-Type header")
    static let invalidLength = TusError(400, "INVALID_UPLOAD_LENGTH", "missing or invalid Upload-Length header")
    static let ambiguousLength = TusError(
        400,
        "AMBIGUOUS_UPLOAD_LENGTH",
        "provided both Upload-Length and Upload-Defer-Length"
    )
    static let invalidDeferLength = TusError(400, "INVALID_UPLOAD_LENGTH_DEFER", "invalid Upload-Defer-Length header")
    static let invalidOffset = TusError(400, "INVALID_OFFSET", "missing or invalid Upload-Offset header")
    static let notFound = TusError(404, "UPLOAD_NOT_FOUND", "upload not found")
    static let locked = TusError(423, "UPLOAD_LOCKED", "file currently locked")
    static let mismatchedOffset = TusError(409, "MISMATCHED_OFFSET", "mismatched offset")
    static let sizeExceeded = TusError(413, "UPLOAD_SIZE_EXCEEDED", "upload's size exceeded")
    static let notImplemented = TusError(501, "NOT_IMPLEMENTED", "feature not implemented")
    static let notFinished = TusError(400, "UPLOAD_NOT_FINISHED", "one of the partial uploads is not finished")
    static let invalidConcat = TusError(400, "INVALID_CONCAT", "invalid Upload-Concat header")
    static let modifyFinal = TusError(403, "MODIFY_FINAL", "modifying a final upload is not allowed")
    // tusd has no expiration and no checksums; the statuses come from tus 1.0.0.
    static let gone = TusError(410, "UPLOAD_EXPIRED", "upload has expired")
    static let checksumMismatch = TusError(460, "CHECKSUM_MISMATCH", "checksum mismatch")

    /// tusd's error with a status, for faults; nil for a status that comes from the proxy.
    static func forStatus(_ status: Int) -> TusError? {
        let readTimeout = TusError(500, "READ_TIMEOUT", "timeout while reading request body")
        return [
            unsupportedVersion, invalidContentType, notFound, gone, mismatchedOffset, sizeExceeded, locked,
            checksumMismatch, modifyFinal, notImplemented, readTimeout,
        ].first { $0.status == status }
    }

    var response: Response {
        let reason = status == 460 ? "Checksum Mismatch" : ""
        return .tus(HTTPResponse.Status(code: status, reasonPhrase: reason), body: .plainText("\(code): \(text)\n"))
    }
}

extension Response {
    static func tus(_ status: HTTPResponse.Status, _ headers: HeaderList = [], body: Body = .empty) -> Response {
        Response(status, .tusd, body, [("Tus-Resumable", "1.0.0")] + headers)
    }
}
