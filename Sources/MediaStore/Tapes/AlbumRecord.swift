public import Foundation

/// The album of a tape in one library (tapes contract 1.3): an album is found only by the stored identifier.
public struct AlbumLink: Sendable, Equatable {
    public var tapeID: String
    /// Identifies the library instance.
    public var libraryID: String
    /// The library's identifier for the album.
    public var albumID: String
    /// The album's title; it does not change with the tape's title.
    public var titleAtCreation: String
    /// The account that owns the album, if the library has accounts.
    public var ownerID: String?
    /// The album's last known location in the library (a folder's path, as bytes); a hint.
    public var hint: [UInt8]?
    public var createdAt: Date
    /// When the library last confirmed that the album exists.
    public var verifiedAt: Date?

    public init(
        tapeID: String,
        libraryID: String,
        albumID: String,
        titleAtCreation: String,
        ownerID: String? = nil,
        hint: [UInt8]? = nil,
        createdAt: Date,
        verifiedAt: Date? = nil
    ) {
        self.tapeID = tapeID
        self.libraryID = libraryID
        self.albumID = albumID
        self.titleAtCreation = titleAtCreation
        self.ownerID = ownerID
        self.hint = hint
        self.createdAt = createdAt
        self.verifiedAt = verifiedAt
    }
}

/// An album creation in flight (rule R4).
public struct AlbumIntent: Sendable, Equatable {
    public var tapeID: String
    /// Identifies the library instance.
    public var libraryID: String
    /// The requested title.
    public var title: String
    public var startedAt: Date

    public init(tapeID: String, libraryID: String, title: String, startedAt: Date) {
        self.tapeID = tapeID
        self.libraryID = libraryID
        self.title = title
        self.startedAt = startedAt
    }
}

/// A pending deletion (rule R11).
public struct AlbumTombstone: Sendable, Equatable {
    /// Identifies the library instance.
    public var libraryID: String
    public var albumID: String
    /// Title of the deleted tape.
    public var tapeTitle: String
    /// Number of failed attempts.
    public var attempts = 0
    /// The `AssociationReason` of the last failed attempt; in stores written by 0.1.0, possibly a message.
    public var lastError: String?
}

/// The library last found at an address: shows whether the library there is still the same, and whether the permissions
/// have changed since access was refused (rule R10).
public struct AlbumLibraryRecord: Sendable, Equatable {
    /// `folder`, `immich`.
    public var kind: String
    /// Path of a root, percent-encoded if it is not plain text, or base address of a server.
    public var address: String
    /// The library instance at the last success; nil if there has been no success yet.
    public var libraryID: String?
    /// Account at the last success.
    public var accountID: String?
    /// ID of the API key at the last success; never the key.
    public var keyID: String?
    /// Fingerprint of the permissions with which access was refused; nil once access was granted.
    public var refusedFingerprint: String?
    /// When this record was last written.
    public var updatedAt: Date
}

/// The result of one attempt for one clip.
public struct ClipOutcome: Sendable, Equatable {
    public var clipID: String
    /// The clip's current state.
    public var association: ClipRecord.Association
    /// The reason, unless linked.
    public var reason: AssociationReason?
    /// The library's identifier for its original; nil keeps the stored one.
    public var assetID: [UInt8]?
    /// Number of consecutive failed attempts.
    public var attempts: Int
    /// Time before which the clip is not retried automatically.
    public var nextAttemptAt: Date?

    public init(
        clipID: String,
        association: ClipRecord.Association,
        reason: AssociationReason? = nil,
        assetID: [UInt8]? = nil,
        attempts: Int = 0,
        nextAttemptAt: Date? = nil
    ) {
        self.clipID = clipID
        self.association = association
        self.reason = reason
        self.assetID = assetID
        self.attempts = attempts
        self.nextAttemptAt = nextAttemptAt
    }
}

extension AlbumLink: Storable {
    static let table = "album_links"

    private enum CodingKeys: String, CodingKey {
        case hint
        case tapeID = "tape_id"
        case libraryID = "library_id"
        case albumID = "album_id"
        case titleAtCreation = "title_at_creation"
        case ownerID = "owner_id"
        case createdAt = "created_at"
        case verifiedAt = "verified_at"
    }
}

extension AlbumIntent: Storable {
    static let table = "album_intents"

    private enum CodingKeys: String, CodingKey {
        case title
        case tapeID = "tape_id"
        case libraryID = "library_id"
        case startedAt = "started_at"
    }
}

extension AlbumTombstone: Storable {
    static let table = "album_tombstones"

    private enum CodingKeys: String, CodingKey {
        case attempts
        case libraryID = "library_id"
        case albumID = "album_id"
        case tapeTitle = "tape_title"
        case lastError = "last_error"
    }
}

extension AlbumLibraryRecord {
    /// Creates a record of an address at which no library has been found yet.
    public init(kind: String, address: String, updatedAt: Date) {
        self.init(kind: kind, address: address, libraryID: nil, updatedAt: updatedAt)
    }
}

extension AlbumLibraryRecord: Storable {
    static let table = "album_libraries"

    private enum CodingKeys: String, CodingKey {
        case kind, address
        case libraryID = "library_id"
        case accountID = "account_id"
        case keyID = "key_id"
        case refusedFingerprint = "refused_fingerprint"
        case updatedAt = "updated_at"
    }
}
