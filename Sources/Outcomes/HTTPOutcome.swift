/// The meaning of an error response: its code, and whether the same request may succeed later.
package struct HTTPOutcome: Sendable, Equatable {
    package var code: OutcomeCode
    package var isRetryable: Bool
}

extension OutcomeTable {
    /// A type of server: the setting with its address, how it is recognized, and the responses whose meaning differs
    /// from the default for their status. Each system has its own type.
    package struct Server: Sendable, CustomStringConvertible {
        /// A page that identifies a type of server without a login.
        package struct Page: Sendable {
            package let path: String
            /// The name of a member in its JSON, preceded by the names of enclosing objects, separated by dots.
            package let member: String
            /// The texts that identify the type; nil for any text.
            package let texts: [String]?

            init(_ path: String, _ member: String, _ texts: [String]? = nil) {
                self.path = path
                self.member = member
                self.texts = texts
            }
        }

        /// Published by `doctor` as `kind`.
        package let kind: String
        /// As in "GigHive server".
        package let description: String
        /// The name of the setting with its address; nil for a protocol that servers of other types use.
        package let setting: String?
        /// Empty if `doctor` does not recognize the type.
        package let pages: [Page]
        /// The first matching row applies.
        let refinements: [Refinement]

        init(
            _ kind: String,
            name: String? = nil,
            setting: String? = nil,
            pages: [Page] = [],
            refinements: [Refinement] = []
        ) {
            self.kind = kind
            description = name ?? kind
            self.setting = setting
            self.pages = pages
            self.refinements = refinements
        }
    }

    /// The kind of request, if the meaning of a response depends on it.
    package enum Call: Sendable, Equatable {
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

    /// The meaning of a response, which is the same for all servers unless a refinement applies. `status` is 300 or
    /// above. `mark` is the server's own code or message, if present in the body; a page from a proxy does not have
    /// one.
    package static func outcome(
        of status: Int,
        from server: Server,
        to call: Call = .other,
        mark: String? = nil
    ) -> HTTPOutcome {
        let refinement = server.refinements.first { $0.applies(to: status, call, mark) }
        let code = refinement?.code ?? defaultCode(of: status)
        // A 501 is permanent: the server does not implement the request.
        return HTTPOutcome(code: code, isRetryable: refinement?.isRetryable ?? (status != 501 && code.isRetryable))
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
}
