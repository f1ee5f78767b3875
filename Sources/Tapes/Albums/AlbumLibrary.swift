public import MediaStore

/// A back-end that holds albums (tapes contract 4.1): a folder of links, a photo server, the double of the tests.
///
/// Safe for many tasks at once. Every operation may be cancelled, and then throws `.cancelled`; what it has done stays.
/// Empty lists return at once without any call. An id that this library cannot have made is a mistake of the caller's and
/// throws `.rejected`, never `.albumMissing`.
public protocol AlbumLibrary: Sendable {
    /// `folder`, `immich`.
    var kind: String { get }
    /// Path of the root, or base address: the key of `AlbumLibraryRecord`.
    var address: String { get }

    /// Which instance this is, and who we are to it. Throws `.libraryChanged` when there is something at the address that
    /// cannot be told from another library (contract 4.2), `.unauthorized` when there is nothing yet.
    func identity() async throws(AlbumError) -> AlbumLibraryIdentity

    /// What is allowed. No side effect; asked once per process.
    func access(_ level: AccessLevel) async throws(AlbumError) -> AlbumAccess

    /// The same after asking the user, or making what is missing.
    func requestAccess(_ level: AccessLevel) async throws(AlbumError) -> AlbumAccess

    /// Whether an album is there.
    func album(_ id: String, hint: [UInt8]?) async throws(AlbumError) -> AlbumPresence

    /// The album that carries our mark of this tape (rule R4); nil when there is none. Needs `.readWrite`.
    func albumMarked(_ tapeID: String) async throws(AlbumError) -> MadeAlbum?

    /// Makes an album that never is one that existed. Needs `.addOnly`.
    func createAlbum(title: String, tapeID: String) async throws(AlbumError) -> MadeAlbum

    /// The library's names for originals, in the order of the clips, one for each. Needs `.addOnly`.
    ///
    /// - Parameters:
    ///   - clips: Of one tape.
    ///   - mayUpload: Whether an original that the library has not may be sent to it.
    /// - Returns: One resolution for each.
    /// - Throws: `AlbumError` when none could be asked for.
    func resolveAssets(_ clips: [ClipRecord], mayUpload: Bool) async throws(AlbumError) -> [AssetResolution]

    /// Adds assets, in their order. One result for each. Throws `.albumMissing` when the album is gone. Needs `.addOnly`.
    func add(_ assets: [AlbumAsset], to albumID: String, hint: [UInt8]?) async throws(AlbumError) -> [AddResult]

    /// Takes assets out of an album, never out of the library. One result for each; one that is not there is removed. Needs
    /// `.readWrite`.
    func remove(_ assetIDs: [[UInt8]], from albumID: String, hint: [UInt8]?) async throws(AlbumError) -> [RemoveResult]

    /// Deletes an album, never an original or an asset. Needs `.readWrite`, and the flag (rule R11), which the service
    /// checks.
    func deleteAlbum(_ id: String, hint: [UInt8]?) async throws(AlbumError) -> AlbumDeletion

    /// Writes what the library keeps of a tape's order, for example a playlist; nothing where there is no such thing.
    func arrange(_ albumID: String, hint: [UInt8]?, tape: TapeRecord, clips: [ClipRecord]) async throws(AlbumError)
}

/// What an operation needs (contract 4.3).
public enum AccessLevel: String, Sendable {
    /// Albums are made, and filled; nobody else's are looked at.
    case addOnly = "add_only"
    /// Albums are looked at, emptied and deleted as well.
    case readWrite = "read_write"
}

/// One library instance (contract 4.2).
public struct AlbumLibraryIdentity: Sendable, Equatable {
    /// `folder:UUID`, or `immich:BASE#ACCOUNT`.
    public var libraryID: String
    /// The account; nil where there are none, or it cannot be told.
    public var accountID: String?
    /// Id of the API key; nil where there is none.
    public var keyID: String?
    /// For people.
    public var name: String

    /// Makes an identity.
    public init(libraryID: String, accountID: String? = nil, keyID: String? = nil, name: String) {
        self.libraryID = libraryID
        self.accountID = accountID
        self.keyID = keyID
        self.name = name
    }
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

/// Whether an album is there.
public enum AlbumPresence: Sendable, Equatable {
    /// It is; where it is now, and how many assets it says to have, when it says so.
    case found(title: String, count: Int?, hint: [UInt8]?)
    /// A definite answer of this very library.
    case missing
    /// Looking is not allowed.
    case unknown
    /// It is there, and cannot be read; why, for people.
    case damaged(String)
}

/// An album that was made, or found by its mark.
public struct MadeAlbum: Sendable, Equatable {
    /// The stored identifier.
    public var id: String
    /// Title it has.
    public var title: String
    /// The account that owns it.
    public var ownerID: String?
    /// Where it is.
    public var hint: [UInt8]?

    /// Makes a description of an album.
    public init(id: String, title: String, ownerID: String? = nil, hint: [UInt8]? = nil) {
        self.id = id
        self.title = title
        self.ownerID = ownerID
        self.hint = hint
    }
}

/// What the library says of one original.
public enum AssetResolution: Sendable, Equatable {
    /// Its name for it. `isHidden`: it is in the library's trash; only the user restores it.
    case asset([UInt8], isHidden: Bool = false)
    /// The bytes are needed and cannot be had now (rule R14).
    case unavailable(String)
    /// The library does not know it, and it is not sent (rule R15).
    case unidentified
    /// Refused for good.
    case rejected(String)
    /// Not now: this one failed, others may not have.
    case failed(AlbumError)
}

/// An asset to add.
public struct AlbumAsset: Sendable, Equatable {
    /// The library's name for it.
    public var id: [UInt8]
    /// What it shows.
    public var kind: ClipRecord.Kind

    /// Makes an asset.
    public init(id: [UInt8], kind: ClipRecord.Kind) {
        self.id = id
        self.kind = kind
    }
}

/// What became of one asset in `add`.
public enum AddResult: Sendable, Equatable {
    /// It is in the album now.
    case added
    /// It was in the album before.
    case alreadyThere
    /// Not ours, unknown or locked: the library does not say which.
    case notAllowed
    /// The library has no such asset.
    case notFound
    /// Refused for good, and why, for people.
    case failed(String)
    /// Not now: this part of the request failed, others have not.
    case notNow(AlbumError)
}

/// What became of one asset in `remove`.
public enum RemoveResult: Sendable, Equatable {
    /// It is not in the album now.
    case removed
    /// Not ours to remove.
    case notAllowed
    /// Still there, and why, for people.
    case failed(String)
}

/// What became of an album in `deleteAlbum`.
public enum AlbumDeletion: Sendable, Equatable {
    /// It is gone.
    case deleted
    /// It was gone before.
    case alreadyGone
    /// Ours is gone from it; so many things of others keep the folder.
    case keptForeign(Int)
}
