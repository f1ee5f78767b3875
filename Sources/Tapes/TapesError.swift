internal import MediaStore
@_exported public import Outcomes

/// An error in a tape operation. A failure of an album is not an error but a state of the tape (rule R9).
public typealias TapesError = MediaError<TapesErrorFacts>

/// The facts of errors with tapes.
public struct TapesErrorFacts: ErrorFacts {
    /// The IDs that match, for `.tapeAmbiguous` and `.clipNotFound`, the tape that has the album, for `.albumTaken`, or
    /// the missing permissions, for `.libraryUnusable`.
    public var candidates: [String] = []

    public init() {}
}

@discardableResult
func stored<Value>(_ value: @autoclosure () throws(StoreError) -> Value) throws(TapesError) -> Value {
    do throws(StoreError) { return try value() } catch { throw TapesError(error) }
}
