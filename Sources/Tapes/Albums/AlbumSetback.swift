public import MediaStore
internal import MediaTransport

/// Why an attempt at an album went no further: a state to be kept, no error (rule R9).
struct AlbumSetback: Sendable, Equatable {
    /// What tape and clips are told.
    var reason: AssociationReason
    /// What the library said.
    var detail = ""
    /// The permissions that are missing, by the library's names.
    var missingPermissions: [String] = []
    /// The library asked for so much patience.
    var retryAfter: Duration?
    /// Whether every other tape would fare the same.
    var isLibraryWide = true
    /// Whether it is the album that cannot be read.
    var isOfAlbum = false
    /// Whether nothing was tried: a refusal is believed to stand (rule R10).
    var isBelieved = false

    /// What a library's failure means.
    ///
    /// - Parameters:
    ///   - error: Not `.cancelled`.
    ///   - refusal: What a refusal of this very request is called.
    init(_ error: AlbumError, refusal: AssociationReason = .internalError) {
        reason = error.reason(refusal: refusal)
        detail = error.detail
        switch error.kind {
        case .insufficient(let names): missingPermissions = names
        case .unreachable(let patience): retryAfter = patience
        case .rejected:
            // The same request would be refused again.
            retryAfter = RetryPolicy.album.cap
            isLibraryWide = false
        case .albumDamaged:
            isOfAlbum = true
            isLibraryWide = false
        case .albumMissing, .cancelled: isLibraryWide = false
        case .unauthorized, .libraryChanged, .quota: break
        }
    }

    init(_ reason: AssociationReason, detail: String = "", missing: [String] = [], isLibraryWide: Bool = true) {
        self.reason = reason
        self.detail = detail
        self.isLibraryWide = isLibraryWide
        missingPermissions = missing
    }
}

/// What ends an attempt early.
enum AlbumTrouble: Error {
    /// To be thrown on: the store's trouble, cancelling.
    case fatal(TapesError)
    /// To be kept as a state.
    case setback(AlbumSetback)

    /// What a library's failure means; cancelling is no setback.
    init(_ error: AlbumError, refusal: AssociationReason = .internalError) {
        self =
            error.kind == .cancelled
            ? .fatal(TapesError(.cancelled, underlying: error)) : .setback(AlbumSetback(error, refusal: refusal))
    }
}

extension AlbumError {
    /// The reason to be kept.
    ///
    /// - Parameter refusal: What a refusal of this very request is called.
    /// - Returns: The reason.
    func reason(refusal: AssociationReason) -> AssociationReason {
        switch kind {
        case .unauthorized: .accessDenied
        case .insufficient: .accessLimited
        case .albumMissing: .albumMissing
        case .libraryChanged: .libraryChanged
        case .unreachable, .albumDamaged: .unreachable
        case .rejected: refusal
        case .quota: .quota
        case .cancelled: .internalError
        }
    }
}

extension AssociationReason {
    /// Whether the grant decides: the try is repeated when that differs, not after a time (rule R10).
    var isOfAccess: Bool { [.accessNotDetermined, .accessDenied, .accessLimited].contains(self) }

    /// Whether a try costs the user's time, so that another clip's does not take the clip along before its own time: a disk
    /// that does not answer is waited for (rule R14).
    var isCostly: Bool { self == .originalUnavailable }
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
