public import CaptureSubmission
public import MediaCrypto

/// What a user wants proven.
public struct CaptureRequest: Sendable {
    /// The media.
    public enum Subject: Sendable, Equatable {
        /// A file, path as bytes.
        case file([UInt8])
        /// A file that is not here: recorded as not observed.
        case digest(SHA256Digest)
    }

    /// What is known of depth.
    public enum Depth: Sendable, Equatable {
        /// Nothing was said: a warning on `mediactl-1`, an error on `reference`, where it would be recorded as suspicious (M8).
        case unspecified
        /// The user knows that there is none.
        case declined
        /// One map.
        case map(path: [UInt8], layout: DepthMapFile.Layout)
        /// The maps of a video's keyframes, in order.
        case keyframes(paths: [[UInt8]], layout: DepthMapFile.Layout)
    }

    /// The media.
    public var subject: Subject
    /// nil: told by the file itself; must be given for a digest.
    public var mediaType: CaptureMediaType?
    /// What is known of depth.
    public var depth: Depth
    /// What the user says; it takes the place of what the file says.
    public var facts: CaptureFacts
    /// Chain, frames and duration of a video, without its temporal analysis.
    public var video: VideoMembers?
    /// The settings in force, overrides included.
    public var settings: PrivacySettings
    /// On `reference`: coarse location as coordinates of one decimal.
    public var sendsCoarseCoordinates: Bool

    /// Makes a request.
    public init(
        _ subject: Subject,
        mediaType: CaptureMediaType? = nil,
        depth: Depth = .unspecified,
        facts: CaptureFacts = CaptureFacts(),
        video: VideoMembers? = nil,
        settings: PrivacySettings,
        sendsCoarseCoordinates: Bool = false
    ) {
        self.subject = subject
        self.mediaType = mediaType
        self.depth = depth
        self.facts = facts
        self.video = video
        self.settings = settings
        self.sendsCoarseCoordinates = sendsCoarseCoordinates
    }
}

/// What the user should be told about a capture; the caller phrases it.
public enum CaptureNotice: Sendable, Equatable {
    /// No depth map was given.
    case noDepth
    /// A depth map was given and could not be analysed (below 3×3, no valid sample).
    case depthUnavailable
    /// `reference` records this as suspicious.
    case recordedAsSuspicious
    /// `reference` labels all hash-only evidence `ios` and `lidar` by itself (trap 23).
    case labelledByServer
    /// `captured_at` is public, and so exact.
    case capturedAtIsPublic(String)
    /// Nothing says when it was taken: the time of sending stands for it.
    case captureTimeUnknown
    /// Coordinates that the server publishes with so many decimals.
    case coordinatesArePublic(decimals: Int)
    /// A location is known, and the profile cannot take its coarse form.
    case coarseLocationLeftOut
    /// A location is known, and no city or country is near.
    case placeUnknown
    /// A video's depth members are computed from its keyframes (M2).
    case depthFromKeyframes
    /// The media was not observed here.
    case notObserved
    /// This machine's clock differs from the server's by so many seconds (positive: it is behind).
    case clockDiffers(seconds: Int64)
}

/// What a capture would send.
public struct CapturePreview: Sendable {
    /// What it says.
    public var payload: HashOnlyPayload
    /// Identical to what is sent but for the assertion.
    public var body: HashOnlyBody
    /// What the user should be told.
    public var notices: [CaptureNotice]
    /// How long the analysis took.
    public var analysisMilliseconds: Int64
    /// Length of the media; nil when it was not observed.
    public var mediaBytes: Int64?
    /// Another record of the same media, if there is one.
    public var earlierID: String?
}
