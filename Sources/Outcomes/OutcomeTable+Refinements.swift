extension OutcomeTable.Server {
    /// A response whose meaning differs from the default for its status.
    struct Refinement: Sendable {
        /// Identifies the response, in addition to its status.
        enum Mark: Sendable {
            /// The status is sufficient.
            case any
            /// The server's code or message equals this text.
            case text(String)
            /// The server's code or message starts with this text.
            case prefix(String)
            /// The server's code or message contains this text.
            case part(String)
        }

        /// nil for any.
        let calls: [OutcomeTable.Call]?
        let statuses: ClosedRange<Int>
        let mark: Mark
        /// Section of the contract.
        let section: String
        let code: OutcomeCode
        /// nil to use the value of the code.
        let isRetryable: Bool?

        /// For one status, or for all from `first` to `last`.
        init(
            _ first: Int,
            through last: Int? = nil,
            _ mark: Mark,
            _ section: String,
            _ code: OutcomeCode,
            isRetryable: Bool? = nil,
            when calls: [OutcomeTable.Call]? = nil
        ) {
            self.calls = calls
            statuses = first...(last ?? first)
            self.mark = mark
            self.section = section
            self.code = code
            self.isRetryable = isRetryable
        }

        func applies(to status: Int, _ call: OutcomeTable.Call, _ text: String?) -> Bool {
            guard statuses.contains(status), calls?.contains(call) ?? true else { return false }
            return switch mark {
            case .any: true
            case .text(let words): text == words
            case .prefix(let words): text?.hasPrefix(words) == true
            case .part(let words): text?.contains(words) == true
            }
        }
    }

    // MARK: Servers

    /// The upload server, including guest uploads (gighive contract section 7).
    package static let gigHive = Self(
        "gighive",
        name: "GigHive",
        setting: "uploads_url",
        pages: [Page("/db/health.php", "status", ["ok", "error"])],
        refinements: [
            // A finalize request for an upload that the application does not have, or no longer has.
            Refinement(500, .part("no data or hook record"), "gighive 4.4", .uploadExpired, when: [.finalize]),
            // PHP's limits on the file size; a multipart upload cannot exceed them.
            Refinement(500, .text("Upload failed with code 1"), "gighive 2.5, trap 23", .payloadTooLarge),
            Refinement(500, .text("Upload failed with code 2"), "gighive 2.5, trap 23", .payloadTooLarge),
            // The web server responds instead of an application that is not running.
            Refinement(503, .any, "gighive trap 24", .serverUnavailable),
            // Another request wrote the same unique key first. The listing shows whether the file is stored.
            Refinement(500, .part("1062 Duplicate entry"), "gighive 3, trap 19", .serverRace),
            // An event link is also used for finalize requests.
            Refinement(400, .text("invalid token"), "gighive 6", .invalidEventLink, when: [.guest, .finalize]),
            Refinement(400, .text("missing token"), "gighive 6", .invalidEventLink, when: [.guest, .finalize]),
            Refinement(404, .text("invalid or expired"), "gighive 6", .invalidEventLink, when: [.guest, .finalize]),
        ]
    )

    /// The tus endpoint of any server.
    package static let tus = Self(
        "tus",
        refinements: [
            // The module Tus handles these statuses in the protocol; these rows define the user-facing code.
            Refinement(404, .any, "tus 1.0.0 HEAD", .uploadExpired),
            Refinement(410, .any, "tus 1.0.0 HEAD", .uploadExpired),
            Refinement(503, .any, "gighive trap 24", .serverUnavailable),
            Refinement(405, .any, "tus 1.0.0 OPTIONS", .tusUnavailable),
            Refinement(412, .any, "tus 1.0.0 Tus-Version", .tusUnavailable),
            Refinement(501, .any, "tus 1.0.0 OPTIONS", .tusUnavailable),
            Refinement(409, .any, "tus 1.0.0 PATCH", .unexpectedResponse, isRetryable: true),
            Refinement(460, .any, "tus 1.0.0 Checksum", .unexpectedResponse, isRetryable: true),
        ]
    )

    /// A photo server. Before its setup, it refuses requests for any path and returns the address of the setup page
    /// (photosync contract 2).
    package static let photoSync = Self(
        "photosync",
        name: "PhotoSync",
        setting: "sync_url",
        pages: [Page("/db/health.php", "setupUrl"), Page("/api/health", "status", ["healthy"])],
        refinements: [
            // All uploads from this client are well-formed multipart bodies, so the body did not arrive in time.
            Refinement(
                400,
                .text("Request must be multipart/form-data."),
                "photosync 3.4, trap 17",
                .bodyTooSlow,
                isRetryable: true,
                when: isPhoto
            ),
            Refinement(400, .text("Invalid device"), "photosync 3.1", .invalidDevice),
            Refinement(400, .text("file extension not allowed"), "photosync 3.3", .unknownExtension),
            Refinement(400, .text("file size exceeds maximum allowed"), "photosync 3.3", .fileTooLarge),
            Refinement(400, .text("file size must be positive"), "photosync 3.3", .emptyFile),
            Refinement(400, .text("No file provided or file is empty."), "photosync 3.3", .emptyFile),
            // Wrong email address or password, not a missing login or a refused key.
            Refinement(401, .any, "photosync 1.1", .notLoggedIn, when: [.login]),
            Refinement(503, .text("Setup required"), "photosync 0", .setupRequired, isRetryable: false),
            Refinement(500, .text("Failed to save API key"), "photosync 1.1", .keyNotRotated),
            // The row cannot be saved because the device is unknown.
            Refinement(500, .text("Failed to save photo record."), "photosync 3.1", .invalidDevice, when: namesDevice),
            // A database failure may be temporary; any other 500 is permanent.
            Refinement(500, .text("Database error"), "photosync 10", .serverError, isRetryable: true),
            Refinement(500, .text("Database error."), "photosync 10", .serverError, isRetryable: true),
            Refinement(500, .text("Internal server error."), "photosync 1.1", .serverError, isRetryable: true),
            Refinement(500, through: 501, .any, "photosync 10", .serverError, isRetryable: false),
            Refinement(505, through: 599, .any, "photosync 10", .serverError, isRetryable: false),
        ]
    )

    /// A capture server (hash-only contract 6.3).
    package static let captures = Self(
        "capture",
        name: "hash-only capture",
        setting: "capture_url",
        pages: [Page("/api/v1/verify/00000000-0000-4000-8000-000000000000", "meta.request_id")],
        refinements: ([
            ("TIMESTAMP_EXPIRED", .clockWrong), ("TIMESTAMP_INVALID", .clockWrong),
            ("ATTESTATION_FAILED", .assertionRefused), ("SIGNATURE_INVALID", .requestSignatureRefused),
            ("REPLAY_DETECTED", .counterOutdated), ("DEVICE_AUTH_REQUIRED", .unauthorized),
            ("DEVICE_UNVERIFIED", .deviceUnverified), ("FORBIDDEN", .forbidden),
            ("DEVICE_NOT_FOUND", .deviceUnknown), ("CAPTURE_NOT_FOUND", .captureNotFound),
            ("HASH_NOT_FOUND", .captureNotFound), ("DUPLICATE_CAPTURE", .duplicate),
            ("TOO_MANY_REQUESTS", .rateLimited), ("RATE_LIMITED", .rateLimited),
            ("PAYLOAD_TOO_LARGE", .payloadTooLarge),
            ("INVALID_ATTESTATION_FORMAT", .enrolmentImpossible), ("UNTRUSTED_ATTESTATION", .enrolmentImpossible),
        ] as [(String, OutcomeCode)])
        .map { Refinement(300, through: 599, .text($0.0), "hash-only 1.3, 3.2, 6.2", $0.1) }
            + [
                // A fresh challenge may be accepted.
                Refinement(400, through: 499, .prefix("CHALLENGE_"), "hash-only 3.2", .badRequest, isRetryable: true),
                // The registration request is well-formed, so the server refuses the platform or the evidence.
                Refinement(
                    400,
                    through: 499,
                    .text("VALIDATION_ERROR"),
                    "hash-only 3.2",
                    .enrolmentImpossible,
                    when: isRegistration
                ),
                Refinement(400, through: 499, .text("VALIDATION_ERROR"), "hash-only 1.3", .badRequest),
                // The request is well-formed, so the server expects a different format.
                Refinement(422, .any, "hash-only 3.2", .enrolmentImpossible, when: isRegistration),
                Refinement(409, .any, "hash-only 3.2", .alreadyRegistered, when: isRegistration),
                // The server, or a server behind a proxy, may have processed the request before the failure: the reference
                // server responds with 500 to a duplicate. A 503 means that nothing was processed.
                Refinement(500, through: 502, .any, "hash-only 1.3", .unknownOutcome, isRetryable: false, when: mayAct),
                Refinement(504, through: 599, .any, "hash-only 1.3", .unknownOutcome, isRetryable: false, when: mayAct),
                // A response without an application code may come from a proxy while the server is still processing the
                // request.
                Refinement(408, .any, "hash-only 1.3", .unknownOutcome, isRetryable: false, when: isWholeSubmission),
                Refinement(409, .any, "hash-only 1.3", .unknownOutcome, isRetryable: false, when: isWholeSubmission),
                Refinement(429, .any, "hash-only 1.3", .unknownOutcome, isRetryable: false, when: isWholeSubmission),
                // A capture is submitted again only by the next retry, which queries the server first.
                Refinement(501, .any, "hash-only 1.3", .serverError, isRetryable: true),
            ]
    )

    /// A photo library with albums.
    package static let immich = Self(
        "immich",
        setting: "library_url",
        refinements: [
            Refinement(400, .text("Album not found"), "tapes 6.4, trap 2", .albumNotFound),
            Refinement(400, .prefix("Not found or no album"), "tapes 6.4, trap 2", .albumNotFound),
            Refinement(400, .prefix("Quota has been exceeded"), "tapes 6.4", .quotaExceeded),
        ]
    )

    // MARK: Calls

    private static let namesDevice: [OutcomeTable.Call] = [.photo(namesDevice: true)]
    private static let isPhoto = namesDevice + [.photo(namesDevice: false)]
    private static let isWholeRegistration: [OutcomeTable.Call] = [.registration(isWhole: true)]
    private static let isRegistration = isWholeRegistration + [.registration(isWhole: false)]
    private static let isWholeSubmission: [OutcomeTable.Call] = [.submission(isWhole: true)]
    private static let mayAct = isWholeRegistration + isWholeSubmission
}
