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
        /// All of it is seen, with bars.
        case fit
        /// It fills the picture; what does not fit is cut off.
        case fill
    }

    /// What stands between two clips; used by exports only.
    public enum Transition: String, Sendable, CaseIterable {
        /// Nothing: a cut.
        case none
        /// One fades into the other.
        case crossfade
        /// The next one comes in from the left.
        case slideLeftToRight = "slide_lr"
        /// The next one comes in from the right.
        case slideRightToLeft = "slide_rl"
        /// One of the three above, chosen by the tape: the same every time.
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
    /// No attempt was made yet.
    case neverTried = "never_tried"
    /// The library is not set up: nobody was asked for access.
    case accessNotDetermined = "access_not_determined"
    /// The library refuses access.
    case accessDenied = "access_denied"
    /// Some permissions are missing.
    case accessLimited = "access_limited"
    /// What is at the address is not the library that has the album.
    case libraryChanged = "library_changed"
    /// The library, or this album, cannot be read now.
    case unreachable
    /// The album is gone from the library.
    case albumMissing = "album_missing"
    /// The library refused to make the album.
    case createFailed = "create_failed"
    /// The original cannot be read now: on a disk that is not there, for example.
    case originalUnavailable = "original_unavailable"
    /// The library does not know the original, and sending it is not allowed.
    case assetUnidentified = "asset_unidentified"
    /// The library refuses the original for good.
    case assetRejected = "asset_rejected"
    /// The library is full.
    case quota
    /// Anything else.
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
