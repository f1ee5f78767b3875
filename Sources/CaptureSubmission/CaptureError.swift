@_exported public import Outcomes

/// Why an operation on a capture failed: facts for the caller to classify and phrase.
public struct CaptureError: Error, Sendable, CustomStringConvertible {
    /// What happened.
    public var code: OutcomeCode
    /// The message of the server, the system or a rule. May contain control characters; escape before printing.
    public var detail: String
    /// Status of the response, if there was one.
    public var httpStatus: Int?
    /// The server's `error.code`, if it sent one.
    public var serverCode: String?
    /// Whether the same call may succeed later.
    public var isRetryable: Bool
    /// Local path concerned, as bytes.
    public var path: [UInt8]?
    /// The offending value as given, or the id concerned.
    public var value: String?
    /// Sizes of a body's parts in bytes, for `.payloadTooLarge`.
    public var parts: [(name: String, byteCount: Int)]
    /// The OpenSSL provider of the key concerned, such as `tpm2`; nil for a key in a file or of a program.
    public var keyProvider: String?
    /// The error of a lower layer (`StoreError`, `TransportError` …).
    public var underlying: (any Error & Sendable)?

    package init(
        _ code: OutcomeCode,
        detail: String = "",
        httpStatus: Int? = nil,
        serverCode: String? = nil,
        isRetryable: Bool = false,
        path: [UInt8]? = nil,
        value: String? = nil,
        parts: [(name: String, byteCount: Int)] = [],
        underlying: (any Error & Sendable)? = nil
    ) {
        self.code = code
        self.detail = detail
        self.httpStatus = httpStatus
        self.serverCode = serverCode
        self.isRetryable = isRetryable
        self.path = path
        self.value = value
        self.parts = parts
        self.underlying = underlying
    }

    /// Code and detail, for logs.
    public var description: String {
        detail.isEmpty ? code.rawValue : "\(code.rawValue): \(detail)"
    }
}
