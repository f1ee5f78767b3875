/// The meaning of an error response: its code, and whether the same request may succeed later.
package struct HTTPOutcome: Sendable, Equatable {
    package var code: OutcomeCode
    package var isRetryable: Bool
}

extension OutcomeTable {
    package enum Server: String, Sendable, CaseIterable {
        /// The upload server, including guest uploads.
        case gigHive
        /// The tus endpoint of any server.
        case tus
        /// A photo server.
        case photoSync
        /// A capture server.
        case captures
        /// A photo library with albums.
        case immich
    }

    /// The kind of request, if the meaning of a response depends on it.
    package enum Call: Sendable {
        /// Any other request.
        case other
        /// A finalize request after a tus upload.
        case finalize
        /// A request with an event link.
        case guest
        /// An upload of a photo; `namesDevice` is true if the request contains a device ID.
        case photo(namesDevice: Bool)
        /// A login by password.
        case login
        /// A registration of a device. `isWhole` is true if the server had received the whole request when it
        /// responded.
        case registration(isWhole: Bool)
        /// A submission of a capture. `isWhole` is true if the server had received the whole request when it responded.
        case submission(isWhole: Bool)
    }

    /// The meaning of a response, the same for all servers unless a refinement applies (design section 5). `status` is
    /// 300 or above. `mark` is the server's own code or message, if present in the body; a proxy's page has none.
    package static func outcome(
        of status: Int,
        from server: Server,
        to call: Call = .other,
        mark: String? = nil
    ) -> HTTPOutcome {
        let refinement = refinements.first { $0.applies(to: status, server, call, mark) }
        let code = refinement?.code ?? defaultCode(of: status)
        return HTTPOutcome(code: code, isRetryable: refinement?.isRetryable ?? isPassing(status, code))
    }

    private static func defaultCode(of status: Int) -> OutcomeCode {
        switch status {
        case 300..<400: .redirected
        case 401: .unauthorized
        case 403: .forbidden
        case 404: .notFound
        case 405: .unexpectedResponse
        case 408: .requestTimeout
        case 409: .conflict
        case 413: .payloadTooLarge
        case 415: .unsupportedMedia
        case 423: .locked
        case 429: .rateLimited
        case 400..<500: .badRequest
        case 500..<600: .serverError
        default: .unexpectedResponse
        }
    }

    /// Whether the failure may be temporary. A 501 is permanent: the server does not implement the request.
    private static func isPassing(_ status: Int, _ code: OutcomeCode) -> Bool {
        status != 501 && code.isRetryable
    }
}
