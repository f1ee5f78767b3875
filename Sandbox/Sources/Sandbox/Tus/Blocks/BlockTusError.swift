import HTTPTypes

/// A refusal of the tus endpoint in PHP: a JSON text, or an empty body (gighive-d4 contract 4.1).
struct BlockTusError: Error, Equatable {
    var status: Int
    var text: String?
    var headers: [String: String] = [:]

    static let invalidLength = BlockTusError(status: 400, text: "Missing or invalid Upload-Length")
    static let tooLong = BlockTusError(status: 413, text: "Upload-Length exceeds maximum allowed file size")
    static let unsupportedType = BlockTusError(status: 415, text: "Unsupported file type")
    static let noMedia = BlockTusError(
        status: 415,
        text: "File type is neither audio nor video \u{2014} check filename extension"
    )
    static let tooManyPending = BlockTusError(status: 429, text: "Too many pending uploads")
    static let invalidToken = BlockTusError(status: 401, text: "Invalid or expired upload token")
    static let wrongContentType = BlockTusError(status: 415)
    static let missingOffset = BlockTusError(status: 400, text: "Missing Upload-Offset header")
    static let emptyBody = BlockTusError(status: 400, text: "Empty PATCH body")
    static let notFound = BlockTusError(status: 404)
    static let hasFailed = BlockTusError(status: 409, text: "Upload has permanently failed")
    /// Any exception in the script.
    static let exception = BlockTusError(status: 500)

    /// A PATCH at another offset than the claimed one.
    static func mismatch(claimed offset: Int) -> BlockTusError {
        BlockTusError(status: 409, text: "Upload-Offset mismatch", headers: ["Upload-Offset": String(offset)])
    }

    /// What the script sends with a status, for faults; nil when that status comes from Apache.
    static func saying(_ status: Int) -> BlockTusError? {
        [notFound, hasFailed, tooLong, wrongContentType, tooManyPending, exception].first { $0.status == status }
    }

    var reply: Reply {
        let status: HTTPResponse.Status =
            self.status == 413 ? .requestEntityTooLarge : HTTPResponse.Status(code: self.status)
        return .blockTus(
            status,
            headers.map { ($0.key, $0.value) },
            body: text.map { .json(["error": .string($0)]) } ?? .empty
        )
    }
}

extension Reply {
    /// A response of the tus endpoint in PHP.
    static func blockTus(
        _ status: HTTPResponse.Status,
        _ headers: [(name: String, value: String)] = [],
        body: Body = .empty
    ) -> Reply {
        var own = [("Tus-Resumable", "1.0.0"), ("Tus-Version", "1.0.0"), ("Tus-Extension", "creation")]
        if case .empty = body, status != .noContent { own.append(phpContentType) }
        return Reply(status: status, origin: .application, body: body, headers: own + headers)
    }

    /// PHP's default for responses to which the script gives no type.
    static let phpContentType = ("Content-Type", "text/html; charset=UTF-8")

    /// A response of PHP without a body.
    static func emptyPHP(_ status: HTTPResponse.Status) -> Reply {
        Reply(status: status, origin: .application, body: .empty, headers: [phpContentType])
    }
}
