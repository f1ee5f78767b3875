public import MediaStore
internal import MediaTransport

/// The reason why an attempt to update an album stopped: a state to be stored, not an error that ends the command (rule
/// R9).
struct AlbumFailure: Error, Equatable {
    var reason: AssociationReason
    var detail = ""
    var missingPermissions: [String] = []
    /// The library's `Retry-After`.
    var retryAfter: Duration?
    /// Whether all other tapes would fail with the same error.
    var isLibraryWide = true
    /// Whether only the album cannot be read.
    var isOfAlbum = false
    /// Size of the smallest file that was refused as too large.
    var refusedByteCount: Int64?
    /// Whether nothing was attempted because an earlier refusal still applies (rule R10).
    var isBelieved = false
    /// The library's error; nil for a decision made by the service.
    var cause: AlbumError?

    init(_ reason: AssociationReason, detail: String = "", missing: [String] = [], isLibraryWide: Bool = true) {
        self.reason = reason
        self.detail = detail
        self.isLibraryWide = isLibraryWide
        missingPermissions = missing
    }

    /// Converts an error thrown while an album is updated.
    ///
    /// - Throws: `TapesError` for store errors and cancellation, which stop the command.
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
        cause = error
        switch error.kind {
        case .unauthorized: reason = .accessDenied
        case .insufficient(let names): (reason, missingPermissions) = (.accessLimited, names)
        case .albumMissing: (reason, isLibraryWide) = (.albumMissing, false)
        case .albumDamaged: (reason, isOfAlbum, isLibraryWide) = (.unreachable, true, false)
        case .libraryChanged: reason = .libraryChanged
        case .unreachable(let delay): (reason, retryAfter) = (.unreachable, delay)
        // A repeated request would be refused again.
        case .rejected(let status):
            if status != nil, refusal == .internalError { reason = .rejected }
            (retryAfter, isLibraryWide) = (RetryPolicy.album.cap, false)
        case .quota: reason = .quota
        case .tooLarge(let byteCount): (reason, refusedByteCount, isLibraryWide) = (.tooLarge, byteCount, false)
        case .unsupported: reason = .unsupported
        case .cancelled: (reason, isLibraryWide) = (.internalError, false)
        }
    }

    var obstacle: AlbumObstacle? { cause?.obstacle }

    var detailOrPermissions: String { detail.isEmpty ? missingPermissions.joined(separator: ", ") : detail }

    init(_ access: AlbumAccess) {
        switch access.state {
        case .notDetermined: self.init(.accessNotDetermined, detail: access.detail)
        case .limited(let missing): self.init(.accessLimited, detail: access.detail, missing: missing)
        case .restricted, .denied, .authorized: self.init(.accessDenied, detail: access.detail)
        }
        guard let obstacle = access.obstacle else { return }
        cause = AlbumError(.unauthorized, detail: access.detail, obstacle: obstacle)
    }
}

extension AssociationReason {
    /// Whether the failure depends on the access: the attempt is repeated when the access changes, not after a delay
    /// (rule R10).
    package var isOfAccess: Bool { [.accessNotDetermined, .accessDenied, .accessLimited].contains(self) }

    /// Whether an attempt takes a long time because a disk does not respond (rule R14). The clip then waits for its own
    /// retry time even if other clips are due.
    var isCostly: Bool { self == .originalUnavailable }
}

/// Whether an album exists.
public enum AlbumPresence: Sendable, Equatable {
    /// The album exists; `hint` is its current path, `count` the number of its assets outside the trash, if known.
    case found(title: String, hint: [UInt8]?, count: Int? = nil)
    /// The album does not exist: a definite result from the expected library.
    case missing
    /// Unknown: no permission to check.
    case unknown
    /// The album exists but cannot be read; contains a message for the user.
    case damaged(String)
}

/// An album that was created, or found by its marker.
public struct MadeAlbum: Sendable, Equatable {
    /// The ID to be stored.
    public var id: String
    public var title: String
    /// The account that owns the album.
    public var ownerID: String?
    public var hint: [UInt8]?
}

/// The library's result for one original.
public enum AssetResolution: Sendable, Equatable {
    /// The asset ID of the original. `isHidden` is whether the asset is in the library's trash; only the user can
    /// restore it.
    case asset([UInt8], isHidden: Bool = false)
    /// The bytes are required but currently unavailable (rule R14).
    case unavailable(String)
    /// Unknown to the library, and not uploaded (rule R15).
    case unidentified
    /// Rejected permanently.
    case rejected(String)
    /// A temporary failure for this original; others may have succeeded.
    case failed(AlbumError)
}

/// An asset to add.
public struct AlbumAsset: Sendable, Equatable {
    /// The library's ID.
    public var id: [UInt8]
    public var kind: ClipRecord.Kind
}

/// The result of `add` for one asset.
public enum AddResult: Sendable, Equatable {
    case added
    case alreadyInAlbum
    /// Not owned by the user, unknown or locked: the library does not distinguish these cases.
    case notAllowed
    /// The library has no such asset.
    case notFound
    /// Rejected permanently, with a message for the user.
    case rejected(String)
    /// Refused for another reason, with a message for the user; it is retried later.
    case failed(String)
    /// A temporary failure of this part of the request; other parts succeeded.
    case notNow(AlbumError)
}

/// The result of `remove` for one asset.
public enum RemoveResult: Sendable, Equatable {
    /// No longer in the album.
    case removed
    /// Not removable by the user.
    case notAllowed
    /// Still in the album; contains a message for the user.
    case failed(String)
}

/// The result of `deleteAlbum`.
public enum AlbumDeletion: Sendable, Equatable {
    case deleted
    /// The album no longer existed.
    case alreadyGone
    /// All of mediactl's links were removed; the folder is kept for this number of foreign entries.
    case keptForeign(Int)
}
