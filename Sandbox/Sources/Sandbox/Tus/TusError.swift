import HTTPTypes

/// What tusd refuses with: a code word and a text, in plain text.
struct TusError: Error, Equatable {
    var status: Int
    var code: String
    var text: String

    static let unsupportedVersion = TusError(
        status: 412,
        code: "ERR_UNSUPPORTED_VERSION",
        text: "missing, invalid or unsupported Tus-Resumable header"
    )
    static let maxSizeExceeded = TusError(status: 413, code: "ERR_MAX_SIZE_EXCEEDED", text: "maximum size exceeded")
    static let invalidContentType = TusError(
        status: 400,
        code: "ERR_INVALID_CONTENT_TYPE",
        text: "missing or invalid Content-Type header"
    )
    static let invalidLength = TusError(
        status: 400,
        code: "ERR_INVALID_UPLOAD_LENGTH",
        text: "missing or invalid Upload-Length header"
    )
    static let invalidOffset = TusError(
        status: 400,
        code: "ERR_INVALID_OFFSET",
        text: "missing or invalid Upload-Offset header"
    )
    static let notFound = TusError(status: 404, code: "ERR_UPLOAD_NOT_FOUND", text: "upload not found")
    static let locked = TusError(status: 423, code: "ERR_UPLOAD_LOCKED", text: "file currently locked")
    static let mismatchedOffset = TusError(status: 409, code: "ERR_MISMATCHED_OFFSET", text: "mismatched offset")
    static let sizeExceeded = TusError(status: 413, code: "ERR_UPLOAD_SIZE_EXCEEDED", text: "upload's size exceeded")
    static let notImplemented = TusError(status: 501, code: "ERR_NOT_IMPLEMENTED", text: "feature not implemented")
    static let notFinished = TusError(
        status: 400,
        code: "ERR_UPLOAD_NOT_FINISHED",
        text: "one of the partial uploads is not finished"
    )
    static let invalidConcat = TusError(
        status: 400,
        code: "ERR_INVALID_CONCAT",
        text: "invalid Upload-Concat header"
    )
    static let modifyFinal = TusError(
        status: 403,
        code: "ERR_MODIFY_FINAL",
        text: "modifying a final upload is not allowed"
    )
    static let ambiguousLength = TusError(
        status: 400,
        code: "ERR_AMBIGUOUS_UPLOAD_LENGTH",
        text: "provided both Upload-Length and Upload-Defer-Length"
    )
    static let invalidDeferLength = TusError(
        status: 400,
        code: "ERR_INVALID_UPLOAD_LENGTH_DEFER",
        text: "invalid Upload-Defer-Length header"
    )

    // tusd knows neither expiration nor checksums; these are in its manner, with the statuses of tus 1.0.0.
    static let gone = TusError(status: 410, code: "ERR_UPLOAD_EXPIRED", text: "upload has expired")
    static let invalidChecksum = TusError(
        status: 400,
        code: "ERR_INVALID_CHECKSUM",
        text: "unknown algorithm or malformed Upload-Checksum header"
    )
    static let checksumMismatch = TusError(status: 460, code: "ERR_CHECKSUM_MISMATCH", text: "checksum mismatch")

    /// What tusd makes of an error of the system.
    static func system(_ error: SystemError) -> TusError {
        TusError(status: 500, code: "ERR_INTERNAL_SERVER_ERROR", text: error.description)
    }

    /// What tusd would say with a status, for faults; nil when that status comes from the proxy.
    static func saying(_ status: Int) -> TusError? {
        let readTimeout = TusError(status: 500, code: "ERR_READ_TIMEOUT", text: "timeout while reading request body")
        return [
            unsupportedVersion, invalidContentType, notFound, gone, mismatchedOffset, sizeExceeded, locked,
            checksumMismatch, modifyFinal, notImplemented, readTimeout,
        ].first { $0.status == status }
    }

    var reply: Reply {
        let reason = status == 460 ? "Checksum Mismatch" : HTTPResponse.Status(code: status).reasonPhrase
        return .tus(HTTPResponse.Status(code: status, reasonPhrase: reason), body: .plainText("\(code): \(text)\n"))
    }
}

extension Reply {
    /// An answer of tusd.
    static func tus(
        _ status: HTTPResponse.Status,
        _ headers: [(name: String, value: String)] = [],
        body: Body = .empty
    ) -> Reply {
        Reply(status: status, origin: .tusd, body: body, headers: [("Tus-Resumable", "1.0.0")] + headers)
    }
}
