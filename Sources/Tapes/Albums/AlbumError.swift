/// Why a library did not do what it was asked (tapes contract 4.1).
public struct AlbumError: Error, Sendable, Equatable, CustomStringConvertible {
    /// What kind of failure it is; the service decides by this alone.
    public enum Kind: Sendable, Equatable {
        /// Not allowed at all.
        case unauthorized(AccessLevel)
        /// These permissions are missing.
        case insufficient([String])
        /// The album does not exist in this very library: a definite answer, nothing less.
        case albumMissing
        /// The album is there, and what it keeps of itself cannot be read: trouble of this album alone.
        case albumDamaged
        /// The library at this address is not the one, or cannot be recognised.
        case libraryChanged
        /// Not answered, or not in a way that means anything; passes.
        case unreachable(retryAfter: Duration?)
        /// Refused for good.
        case rejected(status: Int?)
        /// The account, or the disk, is full.
        case quota
        /// The caller stopped it.
        case cancelled
    }

    /// What kind of failure it is.
    public var kind: Kind
    /// What the library or the system said, 500 characters at most. May hold control characters.
    public var detail: String
    /// Status of the answer, when a server refused with one.
    public var httpStatus: Int?

    /// Makes an error.
    public init(_ kind: Kind, detail: String = "", httpStatus: Int? = nil) {
        self.kind = kind
        self.detail = detail
        self.httpStatus = httpStatus
    }

    /// Kind and detail, for logs.
    public var description: String { "\(kind): \(detail)" }
}
