@_exported public import Outcomes

/// An error in an operation on a capture.
public typealias CaptureError = MediaError<CaptureErrorFacts>

/// The facts of errors with captures.
public struct CaptureErrorFacts: ErrorFacts {
    /// The server's `error.code`, if any.
    public var serverCode: String?
    /// Sizes of a body's parts in bytes, for `.payloadTooLarge`.
    public var parts: [(name: String, byteCount: Int)] = []
    /// The OpenSSL provider for the key concerned, such as `tpm2`; nil for a key in a file or in an external program.
    public var keyProvider: String?

    public init() {}
}
