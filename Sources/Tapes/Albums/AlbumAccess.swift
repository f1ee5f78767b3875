/// What an operation needs (contract 4.3).
public enum AccessLevel: String, Sendable {
    /// Albums are made, and filled; nobody else's are looked at.
    case addOnly = "add_only"
    /// Albums are looked at, emptied and deleted as well.
    case readWrite = "read_write"
}

/// What is allowed, and the fingerprint of the grant (rule R10): it changes when the rights do.
public struct AlbumAccess: Sendable, Equatable {
    /// How much is allowed (contract 4.3).
    public enum State: Sendable, Equatable {
        /// Nobody was asked yet.
        case notDetermined
        /// The system forbids it.
        case restricted
        /// The user, or the library, has refused it.
        case denied
        /// Some of it is; these permissions are missing.
        case limited(missing: [String])
        /// All of it.
        case authorized
    }

    /// How much is allowed.
    public var state: State
    /// Library, account, and permissions or mode, owner and device of the root. Holds no secret.
    public var fingerprint: String
    /// What the system said; for people.
    public var detail: String
    /// Whether the grant itself says that no new album could be made, or nothing put into it: then none is begun.
    public var forbidsNewAlbums: Bool

    /// Makes an answer.
    public init(_ state: State, fingerprint: String, detail: String = "", forbidsNewAlbums: Bool = false) {
        self.state = state
        self.fingerprint = fingerprint
        self.detail = detail
        self.forbidsNewAlbums = forbidsNewAlbums
    }
}
