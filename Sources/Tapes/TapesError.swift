internal import MediaStore
@_exported public import Outcomes

/// An error in a tape operation: the details from which the caller classifies the error and composes the message. A
/// failure of an album is not an error but a state of the tape (rule R9).
public struct TapesError: Error, Sendable, CustomStringConvertible {
    public var code: OutcomeCode
    /// Details from the system. May contain control characters; escape before printing.
    public var detail: String
    /// The local path, as bytes.
    public var path: [UInt8]?
    /// The invalid value as given, or the ID of the failed item.
    public var value: String?
    /// Matching IDs, for `.tapeAmbiguous`.
    public var candidates: [String]
    /// The error from a lower layer (`StoreError`, `AlbumError` …).
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

@discardableResult
func stored<Value>(_ value: @autoclosure () throws(StoreError) -> Value) throws(TapesError) -> Value {
    do throws(StoreError) { return try value() } catch { throw TapesError(error) }
}

extension TapesError {
    init(_ error: StoreError) {
        self.init(.storeUnusable, detail: error.description, path: Array(error.path.utf8), underlying: error)
    }
}
