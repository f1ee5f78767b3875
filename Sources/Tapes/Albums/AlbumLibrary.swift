internal import Foundation
public import MediaStore

/// A back end for albums (tapes contract 4.1): a folder of links, a photo server, or the test double.
///
/// Safe for concurrent tasks. Any operation may be canceled; it then throws `.cancelled` without undoing anything.
/// Empty lists return immediately without a request. An ID that this library cannot have created is a caller error and
/// throws `.rejected`, never `.albumMissing`.
public protocol AlbumLibrary: Sendable {
    /// `folder` or `immich`.
    var kind: String { get }
    /// Path of the root, or base address: the key of `AlbumLibraryRecord`.
    var address: String { get }

    /// Whether albums need the originals on this machine, as links do; false for a library with its own copies.
    var linksToOriginals: Bool { get }

    /// Instance and account. Throws `.libraryChanged` if the address cannot be distinguished from a different library
    /// (contract 4.2), `.unauthorized` if there is no library yet.
    func identity() async throws(AlbumError) -> AlbumLibraryIdentity

    /// Granted access. No side effects; called once per process.
    func access(_ level: AccessLevel) async throws(AlbumError) -> AlbumAccess

    /// Granted access after prompting the user, or creating missing parts.
    func requestAccess(_ level: AccessLevel) async throws(AlbumError) -> AlbumAccess

    /// Whether an album exists. Never throws `.albumMissing`.
    func album(_ id: String, hint: [UInt8]?) async throws(AlbumError) -> AlbumPresence

    /// The album with mediactl's mark for this tape (rule R4); nil if there is none. Requires `.readWrite`.
    func albumMarked(_ tapeID: String) async throws(AlbumError) -> MadeAlbum?

    /// Creates an album, never reusing an existing one. Requires `.addOnly`.
    func createAlbum(title: String, tapeID: String) async throws(AlbumError) -> MadeAlbum

    /// The library's IDs for originals, one per clip, in the same order. Missing originals are uploaded if `mayUpload`
    /// is true. Requires `.addOnly`.
    ///
    /// - Throws: `AlbumError` if none could be resolved.
    func resolveAssets(_ clips: [ClipRecord], mayUpload: Bool) async throws(AlbumError) -> [AssetResolution]

    /// Which of these assets an album contains; nil if the library cannot determine this. Requires `.readWrite`.
    func contained(_ assetIDs: [[UInt8]], in albumID: String) async throws(AlbumError) -> Set<[UInt8]>?

    /// Adds assets in order. Returns one result for each. Throws `.albumMissing` if the album was deleted. Requires
    /// `.addOnly`.
    func add(_ assets: [AlbumAsset], to albumID: String, hint: [UInt8]?) async throws(AlbumError) -> [AddResult]

    /// Removes assets from an album, never from the library. Returns one result for each; an asset that is not in the
    /// album counts as removed. Requires `.readWrite`.
    func remove(_ assetIDs: [[UInt8]], from albumID: String, hint: [UInt8]?) async throws(AlbumError) -> [RemoveResult]

    /// Deletes an album, never an original or an asset. Requires `.readWrite`, and the flag (rule R11), which the
    /// service checks.
    func deleteAlbum(_ id: String, hint: [UInt8]?) async throws(AlbumError) -> AlbumDeletion

    /// Arranges the album in the tape's order, for example by a playlist; does nothing if the library has no order.
    func arrange(_ albumID: String, hint: [UInt8]?, tape: TapeRecord, clips: [ClipRecord]) async throws(AlbumError)

    /// Compares the album with the tape without changing anything. Unless `isThorough` is true, checks only the names
    /// in the album's own list, without waiting for a lock.
    ///
    /// - Throws: `AlbumError`; `.albumMissing` even for an album that is not at `hint`, unless `isThorough` is true.
    func check(
        _ albumID: String,
        hint: [UInt8]?,
        tape: TapeRecord,
        clips: [ClipRecord],
        isThorough: Bool
    ) async throws(AlbumError) -> [AlbumFinding]

    /// Repairs differences found by `check`, for clips that are `.linked`; other clips are not changed. Requires
    /// `.readWrite`.
    func mend(_ albumID: String, hint: [UInt8]?, tape: TapeRecord, clips: [ClipRecord]) async throws(AlbumError)

    /// Finds leftovers from killed processes outside albums, without changing anything.
    func leftovers() async throws(AlbumError) -> [AlbumFinding]

    /// Removes leftovers. Requires `.readWrite`.
    func removeLeftovers(_ leftovers: [AlbumFinding]) async throws(AlbumError)
}

// Defaults for a library whose albums have neither an order nor their own names.
extension AlbumLibrary {
    public var linksToOriginals: Bool { false }

    /// Always nil.
    public func contained(_ assetIDs: [[UInt8]], in albumID: String) async throws(AlbumError) -> Set<[UInt8]>? { nil }

    /// Finds no differences.
    public func check(
        _ albumID: String,
        hint: [UInt8]?,
        tape: TapeRecord,
        clips: [ClipRecord],
        isThorough: Bool
    ) async throws(AlbumError) -> [AlbumFinding] { [] }

    /// Does nothing.
    public func mend(
        _ albumID: String,
        hint: [UInt8]?,
        tape: TapeRecord,
        clips: [ClipRecord]
    ) async throws(AlbumError) {}

    /// Finds no leftovers.
    public func leftovers() async throws(AlbumError) -> [AlbumFinding] { [] }

    /// Does nothing.
    public func removeLeftovers(_ leftovers: [AlbumFinding]) async throws(AlbumError) {}
}

/// One library instance (contract 4.2).
public struct AlbumLibraryIdentity: Sendable, Equatable {
    /// `folder:UUID` or `immich:BASE#ACCOUNT`.
    public var libraryID: String
    /// The account; nil if there is none or it is unknown.
    public var accountID: String?
    /// ID of the API key; nil if there is none.
    public var keyID: String?
    /// Display name.
    public var name: String
}

/// The title of a new album (rule R1).
enum AlbumTitle {
    /// With U+2013, an en dash, in every locale (trap 19).
    static let prefix = "Tapes \u{2013} "

    /// Derived from the tape's current title: trimmed, with spaces for control characters.
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

/// An event that concerns an album (rule R19). It does not contain the key; titles and paths are in `details`, for
/// debug logs only.
public struct AlbumEvent: Sendable, Equatable {
    /// The kind of event.
    public enum Kind: String, Sendable {
        /// An attempt starts.
        case ensure
        /// An album was created.
        case create
        /// An existing album is used.
        case reuse
        /// All clips of the attempt are in the album.
        case add
        /// The library refused some of the clips.
        case addPartly = "partial add"
        /// Clips were removed.
        case remove
        /// An album was deleted.
        case delete
        /// An attempt stopped; the message is the reason.
        case pending
    }

    public var kind: Kind
    public var tapeID: String
    public var albumID: String?
    /// Message without titles or paths.
    public var message: String
    /// Titles and paths: for debug logs.
    public var details: String
}

/// The result of one attempt at an album.
public struct AlbumOutcome: Sendable, Equatable {
    /// The state of the album.
    public enum State: String, Sendable, CaseIterable {
        /// Albums are disabled (rule R18), or there is nothing to do: the tape is empty or deleted.
        case skipped
        /// Every clip is in the album.
        case associated
        /// The album exists; some clips are not in it.
        case partly
        /// There is no usable album.
        case pending
    }

    public var state: State
    /// The album; nil if there is none.
    public var link: AlbumLink?
    /// Whether this attempt created the album.
    public var isCreated = false
    /// The tape's album in a different library, which is kept; set if this attempt created one in the current library.
    public var formerLink: AlbumLink?
    /// Why the album is incomplete: the tape's reason, otherwise the reason of its first clip.
    public var reason: AssociationReason?
    /// The library's message for the user. May contain control characters.
    public var detail = ""
    /// Whether only this album is unreadable; the library responds.
    public var isAlbumDamaged = false
    /// The cause, if it is known and determines the remedy.
    public var obstacle: AlbumObstacle?
    /// The missing permissions, as named by the library.
    public var missingPermissions: [String] = []
    /// Number of clips that are not in the album.
    public var pendingClips = 0
    /// Number of clips added by this attempt.
    public var addedClips = 0
    /// Whether the rendered video is in the album (rule R16).
    public var isFiled = false
    /// Number of clips in the library's trash, which are invisible until the user restores them.
    public var hiddenClips = 0
    /// Size in bytes of the smallest file that the library refused as too large; nil if none was refused.
    public var refusedByteCount: Int64?

    /// There is nothing to do.
    public static let skipped = AlbumOutcome(state: .skipped)
}

/// A cause of failure with a remedy different from that of other failures of the same kind.
public enum AlbumObstacle: Sendable, Equatable {
    /// The folder has no library: its disk is not mounted, or the library was deleted.
    case libraryMissing
    /// The marker of the folder library cannot be read.
    case markerDamaged
    /// The folder contains a different library from the one with the album.
    case otherFolder
    /// The API key is for a different account from the one with the album, or does not show its account.
    case otherAccount
    /// The album or the library was written by a newer version of mediactl, and is read-only.
    case newerVersion
}

/// An error from a library (tapes contract 4.1).
public struct AlbumError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The kind of failure, the only property on which the service bases decisions.
    public enum Kind: Sendable, Equatable {
        case unauthorized
        /// These permissions are missing.
        case insufficient([String])
        /// The album does not exist in the expected library: a definite result.
        case albumMissing
        /// The album exists, but its manifest cannot be read: only this album is affected.
        case albumDamaged
        /// The library at this address is a different one, or cannot be identified.
        case libraryChanged
        /// No response, or an invalid one; temporary.
        case unreachable(retryAfter: Duration?)
        /// Refused permanently.
        case rejected(status: Int?)
        /// The account or the disk is full.
        case quota
        /// The library refuses files of this size (the size of the smallest refused file) or larger; temporary, since
        /// the limit may be raised.
        case tooLarge(byteCount: Int64)
        /// The library's version is not supported.
        case unsupported
        /// Canceled by the caller.
        case cancelled
    }

    public var kind: Kind
    /// Message from the library or the system, at most 500 characters. May contain control characters.
    public var detail: String
    /// Status of a server's response.
    public var httpStatus: Int?
    /// The cause, if it is known and determines the remedy.
    public var obstacle: AlbumObstacle?

    public init(_ kind: Kind, detail: String = "", httpStatus: Int? = nil, obstacle: AlbumObstacle? = nil) {
        self.kind = kind
        self.detail = detail
        self.httpStatus = httpStatus
        self.obstacle = obstacle
    }

    /// Kind and detail, for logs.
    public var description: String { "\(kind): \(detail)" }
}
