public import Foundation

/// A titled, ordered list of clips (tapes contract 1.1).
public struct TapeRecord: Sendable, Equatable {
    /// Shape of the picture; used by exports only.
    public enum Orientation: String, Sendable, CaseIterable {
        /// 9:16
        case portrait
        /// 16:9
        case landscape
    }

    /// How a clip of another shape fills the picture; used by exports only.
    public enum ScaleMode: String, Sendable, CaseIterable {
        case fit, fill
    }

    /// What stands between two clips; used by exports only.
    public enum Transition: String, Sendable, CaseIterable {
        case none, crossfade
        case slideLeftToRight = "slide_lr"
        case slideRightToLeft = "slide_rl"
        case randomise
    }

    /// How the tape stands with its album (contract 2.1).
    public enum Association: String, Sendable, CaseIterable {
        /// No clip yet, or albums are switched off.
        case none
        /// It has clips and no usable album; a reason is stored.
        case pending = "pending_association"
        /// A link for the current library exists.
        case associated
    }

    /// UUID, lower case; made once, never reused.
    public var id: String
    /// Trimmed.
    public var title: String
    /// When it was made; kept to the millisecond.
    public var createdAt: Date
    /// When title, clips or settings last changed; kept to the millisecond.
    public var updatedAt: Date
    /// Set by the first committed clip, never cleared.
    public var hasReceivedFirstContent: Bool
    /// Shape of the picture.
    public var orientation: Orientation
    /// Of clips without their own.
    public var scaleMode: ScaleMode
    /// Between two clips.
    public var transition: Transition
    /// 100 to 2000.
    public var transitionMilliseconds: Int
    /// How it stands with its album.
    public var association: Association
    /// nil unless pending.
    public var reason: AssociationReason?

    /// The title of a tape that was given none.
    public static let untitled = "New Tape"

    /// Makes an empty tape.
    public init(id: String, title: String, createdAt: Date) {
        self.id = id
        self.title = title
        self.createdAt = createdAt
        updatedAt = createdAt
        hasReceivedFirstContent = false
        orientation = .portrait
        scaleMode = .fit
        transition = .none
        transitionMilliseconds = 500
        association = .none
    }
}

/// Why a tape or a clip is not in its album (contract 2.3).
public enum AssociationReason: String, Sendable, CaseIterable {
    case neverTried = "never_tried"
    case accessNotDetermined = "access_not_determined"
    case accessDenied = "access_denied"
    case accessLimited = "access_limited"
    case libraryChanged = "library_changed"
    case unreachable
    case albumMissing = "album_missing"
    case createFailed = "create_failed"
    case originalUnavailable = "original_unavailable"
    case assetUnidentified = "asset_unidentified"
    case assetRejected = "asset_rejected"
    case quota
    case internalError = "internal"
}

/// A tape as `list` shows it.
public struct TapeSummary: Sendable, Equatable {
    /// The tape.
    public var tape: TapeRecord
    /// How many clips it has.
    public var clipCount: Int
    /// How many of them are not in the album.
    public var pendingClipCount: Int
    /// Sum of the known durations less the trims, in milliseconds; transitions are not taken off.
    public var durationMilliseconds: Int64
    /// Whether every duration is known.
    public var isDurationKnown: Bool

    /// Makes a summary.
    public init(
        tape: TapeRecord,
        clipCount: Int,
        pendingClipCount: Int,
        durationMilliseconds: Int64,
        isDurationKnown: Bool
    ) {
        self.tape = tape
        self.clipCount = clipCount
        self.pendingClipCount = pendingClipCount
        self.durationMilliseconds = durationMilliseconds
        self.isDurationKnown = isDurationKnown
    }
}
