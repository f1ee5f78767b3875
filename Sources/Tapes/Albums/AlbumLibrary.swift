internal import Foundation
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
}

/// The title that an album is made with (rule R1).
enum AlbumTitle {
    /// With U+2013, an en dash, whatever the locale says (trap 19).
    static let prefix = "Tapes \u{2013} "

    /// The title for a tape as it is called now: trimmed, a control character is a space.
    static func of(_ tape: TapeRecord) -> String {
        let plain = String(
            String.UnicodeScalarView(
                tape.title.unicodeScalars.map { $0.properties.generalCategory == .control ? " " : $0 }
            )
        )
        let trimmed = plain.trimmingCharacters(in: .whitespacesAndNewlines)
        return prefix + (trimmed.isEmpty ? TapeRecord.untitled : trimmed)
    }
}

/// What happened to an album (rule R19). No event holds a key; title and path stand in `details`, for debug logs only.
public struct AlbumEvent: Sendable, Equatable {
    /// What happened.
    public enum Kind: String, Sendable {
        /// An attempt begins.
        case ensure
        /// An album was made.
        case create
        /// An album that was there is used.
        case reuse
        /// All clips of the attempt are in the album.
        case add
        /// The library refused some of them.
        case addPartly = "partial add"
        /// Clips were taken out.
        case remove
        /// An album was deleted.
        case delete
        /// An attempt went no further; the message says why.
        case pending
    }

    /// What happened.
    public var kind: Kind
    /// The tape.
    public var tapeID: String
    /// The album.
    public var albumID: String?
    /// Words without titles and paths.
    public var message: String
    /// Titles and paths: for debug logs.
    public var details: String

    package init(_ kind: Kind, tapeID: String, albumID: String? = nil, message: String = "", details: String = "") {
        self.kind = kind
        self.tapeID = tapeID
        self.albumID = albumID
        self.message = message
        self.details = details
    }
}

/// What one attempt at an album did.
public struct AlbumOutcome: Sendable, Equatable {
    /// How it ended.
    public enum State: String, Sendable, CaseIterable {
        /// Albums are off (rule R18), or there is nothing to do: no clip, no tape any more.
        case skipped
        /// Every clip is in the album.
        case associated
        /// The album is there; some clips are not in it.
        case partly
        /// There is no usable album.
        case pending
    }

    /// How it ended.
    public var state: State
    /// The album; nil when there is none.
    public var link: AlbumLink?
    /// Whether this attempt has made it.
    public var isCreated: Bool
    /// The album that the tape has in another library, and keeps, when this attempt has made one in the library in use.
    public var formerLink: AlbumLink?
    /// Why it is not complete: the tape's reason, else that of its first clip.
    public var reason: AssociationReason?
    /// What the library said, for people. May hold control characters.
    public var detail: String
    /// Whether it is this album alone that cannot be read; the library answers.
    public var isAlbumDamaged: Bool
    /// The permissions that are missing, by the library's names.
    public var missingPermissions: [String]
    /// How many clips are not in the album.
    public var pendingClips: Int
    /// How many were added by this attempt.
    public var addedClips: Int
    /// Whether the rendered video is in it (rule R16).
    public var isFiled: Bool
    /// How many are in the library's trash, and invisible until the user restores them.
    public var hiddenClips: Int

    package init(
        _ state: State,
        link: AlbumLink? = nil,
        isCreated: Bool = false,
        formerLink: AlbumLink? = nil,
        reason: AssociationReason? = nil,
        detail: String = "",
        isAlbumDamaged: Bool = false,
        missingPermissions: [String] = [],
        pendingClips: Int = 0,
        addedClips: Int = 0,
        isFiled: Bool = false,
        hiddenClips: Int = 0
    ) {
        self.state = state
        self.link = link
        self.isCreated = isCreated
        self.formerLink = formerLink
        self.reason = reason
        self.detail = detail
        self.isAlbumDamaged = isAlbumDamaged
        self.missingPermissions = missingPermissions
        self.pendingClips = pendingClips
        self.addedClips = addedClips
        self.isFiled = isFiled
        self.hiddenClips = hiddenClips
    }
}

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
