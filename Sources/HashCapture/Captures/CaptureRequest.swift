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
