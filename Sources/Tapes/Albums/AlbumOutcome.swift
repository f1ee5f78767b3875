public import MediaStore

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

    /// Makes an outcome.
    public init(
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

/// What deleting a tape did.
public struct TapeDeletion: Sendable, Equatable {
    /// What became of the album.
    public enum Album: Sendable, Equatable {
        /// There was none.
        case none
        /// It stays: the flag is off, it was to be kept, or another tape has it.
        case kept(AlbumLink)
        /// It is gone from the library, or was before.
        case deleted(AlbumLink)
        /// Ours is gone from it; so many things of others keep it.
        case keptForeign(AlbumLink, Int)
        /// Owed: `reconcile --apply` tries again.
        case owed(AlbumLink, AssociationReason, detail: String)
    }

    /// The tape that is gone.
    public var tape: TapeRecord
    /// What became of its albums.
    public var albums: [Album]

    /// Makes a description.
    public init(tape: TapeRecord, albums: [Album]) {
        self.tape = tape
        self.albums = albums
    }
}

/// What `reconcile` would do.
public struct ReconcilePlan: Sendable, Equatable {
    /// Tapes with something to do, the one that waits longest first.
    public var tapes: [TapeRecord]
    /// Deletions owed.
    public var tombstones: [AlbumTombstone]

    /// Makes a plan.
    public init(tapes: [TapeRecord], tombstones: [AlbumTombstone]) {
        self.tapes = tapes
        self.tombstones = tombstones
    }
}

/// What `reconcile --apply` did.
public struct ReconcileOutcome: Sendable, Equatable {
    /// Tapes that were worked on.
    public var done: Int
    /// Tapes that are left.
    public var left: Int
    /// Albums that were deleted.
    public var deletedAlbums: Int
    /// Why it ended early; nil when it did not.
    public var stoppedBy: AssociationReason?
    /// What the library said, for people.
    public var detail: String

    /// Makes an outcome.
    public init(
        done: Int,
        left: Int,
        deletedAlbums: Int,
        stoppedBy: AssociationReason? = nil,
        detail: String = ""
    ) {
        self.done = done
        self.left = left
        self.deletedAlbums = deletedAlbums
        self.stoppedBy = stoppedBy
        self.detail = detail
    }
}

/// A library and what it allows.
public struct LibraryStatus: Sendable, Equatable {
    /// `folder`, `immich`.
    public var kind: String
    /// Path of the root, or base address.
    public var address: String
    /// nil when it cannot be told.
    public var identity: AlbumLibraryIdentity?
    /// nil when the library cannot be reached.
    public var addOnly: AlbumAccess?
    /// nil when the library cannot be reached.
    public var readWrite: AlbumAccess?
    /// Why something above is nil.
    public var reason: AssociationReason?
    /// What the library said, for people.
    public var detail: String

    /// Makes a status.
    public init(
        kind: String,
        address: String,
        identity: AlbumLibraryIdentity? = nil,
        addOnly: AlbumAccess? = nil,
        readWrite: AlbumAccess? = nil,
        reason: AssociationReason? = nil,
        detail: String = ""
    ) {
        self.kind = kind
        self.address = address
        self.identity = identity
        self.addOnly = addOnly
        self.readWrite = readWrite
        self.reason = reason
        self.detail = detail
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

    /// Makes an event.
    public init(_ kind: Kind, tapeID: String, albumID: String? = nil, message: String = "", details: String = "") {
        self.kind = kind
        self.tapeID = tapeID
        self.albumID = albumID
        self.message = message
        self.details = details
    }
}
