public import MediaStore
internal import MediaTransport

/// Why an attempt at an album stopped: a state to be stored, not an error of the command (rule R9).
struct AlbumFailure: Error, Equatable {
    var reason: AssociationReason
    var detail = ""
    var missingPermissions: [String] = []
    /// The library's `Retry-After`.
    var retryAfter: Duration?
    /// Whether all other tapes would fail as well.
    var isLibraryWide = true
    /// Whether only the album cannot be read.
    var isOfAlbum = false
    /// Size of the smallest file that was refused as too large.
    var refusedByteCount: Int64?
    /// Whether nothing was attempted, since an earlier refusal still counts (rule R10).
    var isBelieved = false

    init(_ reason: AssociationReason, detail: String = "", missing: [String] = [], isLibraryWide: Bool = true) {
        self.reason = reason
        self.detail = detail
        self.isLibraryWide = isLibraryWide
        missingPermissions = missing
    }

    /// Converts what work on an album throws.
    ///
    /// - Throws: `TapesError` for an error of the store and for cancellation, which end the command.
    init(caught error: any Error) throws(TapesError) {
        switch error {
        case let failure as AlbumFailure: self = failure
        case let error as AlbumError:
            guard error.kind != .cancelled else { throw TapesError(.cancelled, underlying: error) }
            self.init(error)
        case let error as StoreError: throw TapesError(error)
        case let error as TapesError: throw error
        default: throw TapesError(.internalError, detail: "\(error)")
        }
    }

    /// Converts a library's error; `refusal` is the reason for a refusal of this request. Not for `.cancelled`.
    init(_ error: AlbumError, refusal: AssociationReason = .internalError) {
        self.init(refusal, detail: error.detail)
        switch error.kind {
        case .unauthorized: reason = .accessDenied
        case .insufficient(let names): (reason, missingPermissions) = (.accessLimited, names)
        case .albumMissing: (reason, isLibraryWide) = (.albumMissing, false)
        case .albumDamaged: (reason, isOfAlbum, isLibraryWide) = (.unreachable, true, false)
        case .libraryChanged: reason = .libraryChanged
        case .unreachable(let delay): (reason, retryAfter) = (.unreachable, delay)
        // The same request would be refused again.
        case .rejected: (retryAfter, isLibraryWide) = (RetryPolicy.album.cap, false)
        case .quota: reason = .quota
        case .tooLarge(let byteCount): (reason, refusedByteCount, isLibraryWide) = (.tooLarge, byteCount, false)
        case .unsupported: reason = .unsupported
        case .cancelled: (reason, isLibraryWide) = (.internalError, false)
        }
    }

    var detailOrPermissions: String { detail.isEmpty ? missingPermissions.joined(separator: ", ") : detail }

    init(_ access: AlbumAccess) {
        switch access.state {
        case .notDetermined: self.init(.accessNotDetermined, detail: access.detail)
        case .limited(let missing): self.init(.accessLimited, detail: access.detail, missing: missing)
        case .restricted, .denied, .authorized: self.init(.accessDenied, detail: access.detail)
        }
    }
}

extension AssociationReason {
    /// Whether access decides: the attempt is repeated when that changes, not after a time (rule R10).
    package var isOfAccess: Bool { [.accessNotDetermined, .accessDenied, .accessLimited].contains(self) }

    /// Whether an attempt takes long, so that a clip waits for its own retry time even if other clips are due: a disk
    /// that does not respond is waited for (rule R14).
    var isCostly: Bool { self == .originalUnavailable }
}

/// Whether an album exists.
public enum AlbumPresence: Sendable, Equatable {
    /// It exists; with its current path, if known.
    case found(title: String, hint: [UInt8]?)
    /// It does not exist: a definite result of this very library.
    case missing
    /// Unknown: looking is not allowed.
    case unknown
    /// It exists, but cannot be read; with the reason for the user.
    case damaged(String)
}

/// An album that was created, or found by its mark.
public struct MadeAlbum: Sendable, Equatable {
    /// The id to be stored.
    public var id: String
    /// Its title.
    public var title: String
    /// The account that owns it.
    public var ownerID: String?
    /// Its path.
    public var hint: [UInt8]?
}

/// The library's result for one original.
public enum AssetResolution: Sendable, Equatable {
    /// Its asset id. `isHidden`: it is in the library's trash; only the user can restore it.
    case asset([UInt8], isHidden: Bool = false)
    /// The bytes are required but not available now (rule R14).
    case unavailable(String)
    /// Unknown to the library, and not uploaded (rule R15).
    case unidentified
    /// Rejected permanently.
    case rejected(String)
    /// A temporary failure of this one; others may have succeeded.
    case failed(AlbumError)
}

/// An asset to add.
public struct AlbumAsset: Sendable, Equatable {
    /// The library's id.
    public var id: [UInt8]
    /// The kind of its clip.
    public var kind: ClipRecord.Kind
}

/// The result of `add` for one asset.
public enum AddResult: Sendable, Equatable {
    /// Added.
    case added
    /// Already in the album.
    case alreadyInAlbum
    /// Not ours, unknown or locked: the library does not distinguish them.
    case notAllowed
    /// The library has no such asset.
    case notFound
    /// Refused permanently, with the reason for the user.
    case failed(String)
    /// A temporary failure of this part of the request; other parts succeeded.
    case notNow(AlbumError)
}

/// The result of `remove` for one asset.
public enum RemoveResult: Sendable, Equatable {
    /// Not in the album now.
    case removed
    /// Not ours to remove.
    case notAllowed
    /// Still there, with the reason for the user.
    case failed(String)
}

/// The result of `deleteAlbum`.
public enum AlbumDeletion: Sendable, Equatable {
    /// Deleted.
    case deleted
    /// Did not exist any more.
    case alreadyGone
    /// Emptied of our links; the folder is kept for this number of foreign entries.
    case keptForeign(Int)
}
