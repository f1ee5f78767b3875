@_exported public import Outcomes

/// An error in an operation on a capture: the facts from which the caller classifies the error and writes the message.
public struct CaptureError: Error, Sendable, CustomStringConvertible {
    public var code: OutcomeCode
    /// The message from the server or the system, or the violated rule. May contain control characters; escape before
    /// printing.
    public var detail: String
    /// Status of the response, if any.
    public var httpStatus: Int?
    /// The server's `error.code`, if any.
    public var serverCode: String?
    /// Whether the same call may succeed later.
    public var isRetryable: Bool
    /// The local path concerned, as bytes.
    public var path: [UInt8]?
    /// The invalid value as given, or the ID concerned.
    public var value: String?
    /// Sizes of a body's parts in bytes, for `.payloadTooLarge`.
    public var parts: [(name: String, byteCount: Int)]
    /// The OpenSSL provider for the key concerned, such as `tpm2`; nil for a key in a file or in an external program.
    public var keyProvider: String?
    /// The error from a lower layer, such as `StoreError` or `TransportError`.
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
        keyProvider: String? = nil,
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
        self.keyProvider = keyProvider
        self.underlying = underlying
    }

    /// Code and detail, for logs.
    public var description: String {
        detail.isEmpty ? code.rawValue : "\(code.rawValue): \(detail)"
    }
}
