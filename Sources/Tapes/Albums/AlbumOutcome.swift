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
