internal import MediaStore
@_exported public import Outcomes

/// Why something with a tape did not end well: facts for the caller to classify and to phrase. Trouble with an album is no
/// such error: it is a state of the tape (rule R9).
public struct TapesError: Error, Sendable, CustomStringConvertible {
    /// What happened.
    public var code: OutcomeCode
    /// What the system or the rule said. May hold control characters; escape before printing.
    public var detail: String
    /// Local path concerned, as bytes.
    public var path: [UInt8]?
    /// The offending value as given, or the id concerned.
    public var value: String?
    /// Ids that the value may have meant, for `.tapeAmbiguous`.
    public var candidates: [String]
    /// The error of a lower layer (`StoreError`, `AlbumError` …).
    public var underlying: (any Error & Sendable)?

    package init(
        _ code: OutcomeCode,
        detail: String = "",
        path: [UInt8]? = nil,
        value: String? = nil,
        candidates: [String] = [],
        underlying: (any Error & Sendable)? = nil
    ) {
        self.code = code
        self.detail = detail
        self.path = path
        self.value = value
        self.candidates = candidates
        self.underlying = underlying
    }

    /// Code and detail, for logs.
    public var description: String { detail.isEmpty ? code.rawValue : "\(code.rawValue): \(detail)" }
}

extension TapesError {
    /// The local store cannot be used.
    init(_ error: StoreError) {
        self.init(.storeUnusable, detail: error.description, path: Array(error.path.utf8), underlying: error)
    }
}
