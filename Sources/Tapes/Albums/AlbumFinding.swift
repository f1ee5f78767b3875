public import MediaStore

/// A difference between a tape and its album, or a leftover from a killed process.
public struct AlbumFinding: Sendable, Equatable {
    /// The kind of difference.
    public enum Kind: String, Sendable, CaseIterable {
        /// The album no longer exists.
        case albumMissing = "album_missing"
        /// The album exists, but its list of contents cannot be read.
        case albumUnreadable = "album_unreadable"
        /// Reading the album is not permitted.
        case albumUnknown = "album_unknown"
        /// The album on a server lacks the assets of clips: they were removed from the album, were deleted, or are in
        /// the trash.
        case assetsMissing = "assets_missing"
        /// The library refused the clip.
        case clipFailed = "clip_failed"
        /// The clip is not in the album yet.
        case clipPending = "clip_pending"
        /// The original of a clip, or of a link without a clip, is missing.
        case originalMissing = "original_missing"
        /// The content of a clip's original does not match its checksums.
        case originalChanged = "original_changed"
        /// The link of a clip is missing.
        case linkMissing = "link_missing"
        /// The link of a clip was renamed manually.
        case linkRenamed = "link_renamed"
        /// A file or folder has replaced the link of a clip.
        case linkReplaced = "link_replaced"
        /// The number in the name of a link differs from the position of its clip.
        case linkMisnumbered = "link_misnumbered"
        /// A process was killed while renaming links.
        case renamingInterrupted = "renaming_interrupted"
        case playlistMissing = "playlist_missing"
        /// The playlist does not contain the clips of the tape in order.
        case playlistOutdated = "playlist_outdated"
        /// A foreign file has the name of the playlist. It is never replaced.
        case playlistForeign = "playlist_foreign"
        /// A process was killed while writing this file.
        case temporaryFile = "temporary_file"
        /// A process was killed after creating the folder of an album.
        case emptyFolder = "empty_folder"
        /// A process was killed while rendering a video.
        case renderLeftover = "render_leftover"
    }

    public var kind: Kind
    /// The clip concerned, if any.
    public var clip: ClipRecord?
    /// Path of the link, original, file or folder, as bytes; nil if there is none.
    public var path: [UInt8]?
    /// Path of the renamed link, its correct name according to the order of the tape, or the missing original to which
    /// a link points.
    public var other: [UInt8]?
    /// The library's message for the user. May contain control characters.
    public var detail = ""

    /// Whether a later finding describes the same difference; names may have changed in between.
    func isSame(as other: AlbumFinding) -> Bool {
        guard kind == other.kind, clip?.id == other.clip?.id else { return false }
        return clip != nil || (kind == .originalMissing ? self.other == other.other : path == other.path)
    }

    /// Whether the clip is not in the album.
    public var isOfAbsentClip: Bool { kind == .clipPending || kind == .clipFailed }
}

/// A tape compared with its album.
public struct AlbumCheck: Sendable, Equatable {
    public var tape: TapeRecord
    /// Whether the tape has an album in this library.
    public var hasAlbum: Bool
    /// The differences; empty if the album matches the tape.
    public var findings: [AlbumFinding]

    /// Whether `repair` can repair a finding.
    public func isRepairable(_ finding: AlbumFinding) -> Bool {
        switch finding.kind {
        case .albumUnreadable, .albumUnknown, .originalChanged, .playlistForeign: false
        case .originalMissing: finding.clip == nil
        // Albums are created by reconciling, a limited number at a time (rule R13).
        case .clipPending, .clipFailed: hasAlbum
        default: true
        }
    }
}

/// The result of repairing the album of one tape.
public struct AlbumRepair: Sendable, Equatable {
    public var tape: TapeRecord
    /// Whether the tape has an album in this library.
    public var hasAlbum: Bool
    /// Differences repaired, confirmed by a check afterwards.
    public var repaired: [AlbumFinding]
    /// Differences found by that check.
    public var remaining: [AlbumFinding]
    /// The reason for the remaining differences if the library refused a repair; nil otherwise.
    public var reason: AssociationReason?
    /// The library's message for the user. May contain control characters.
    public var detail = ""
}
