import HTTPTypes

/// A refusal by the tus endpoint in PHP: a JSON text, or an empty body (gighive-d4 contract 4.1).
struct BlockTusError: Refusal {
    var status: HTTPResponse.Status
    var text: String?
    var headers: HeaderList = []

    private init(_ status: HTTPResponse.Status, _ text: String? = nil, headers: HeaderList = []) {
        self.status = status
        self.text = text
        self.headers = headers
    }

    static let invalidLength = BlockTusError(400, "Missing or invalid Upload-Length")
    static let tooLong = BlockTusError(.requestEntityTooLarge, "Upload-Length exceeds maximum allowed file size")
    static let unsupportedType = BlockTusError(415, "Unsupported file type")
    static let noMedia = BlockTusError(415, "File type is neither audio nor video \u{2014} check filename extension")
    static let tooManyPending = BlockTusError(429, "Too many pending uploads")
    static let invalidToken = BlockTusError(401, "Invalid or expired upload token")
    static let wrongContentType = BlockTusError(415)
    static let missingOffset = BlockTusError(400, "Missing Upload-Offset header")
    static let emptyBody = BlockTusError(400, "Empty PATCH body")
    static let notFound = BlockTusError(404)
    static let hasFailed = BlockTusError(409, "Upload has permanently failed")
    static let exception = BlockTusError(500)

    static func mismatch(claimed offset: Int) -> BlockTusError {
        BlockTusError(409, "Upload-Offset mismatch", headers: [("Upload-Offset", String(offset))])
    }

    /// The script's error with a status, for faults; nil for a status that comes from Apache.
    static func forStatus(_ status: Int) -> BlockTusError? {
        [notFound, hasFailed, tooLong, wrongContentType, tooManyPending, exception].first { $0.status.code == status }
    }

    var response: Response { .blockTus(status, headers, body: text.map { .json(["error": .string($0)]) } ?? .empty) }
}

extension Response {
    static func blockTus(_ status: HTTPResponse.Status, _ headers: HeaderList = [], body: Body = .empty) -> Response {
        var own = [("Tus-Resumable", "1.0.0"), ("Tus-Version", "1.0.0"), ("Tus-Extension", "creation")]
        if case .empty = body, status != .noContent { own.append(phpContentType) }
        return Response(status, .application, body, own + headers)
    }
}
