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
