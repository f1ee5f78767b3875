internal import CaptureSubmission
internal import HashCapture

extension CaptureNotice {
    /// Stable code for JSON.
    var code: String {
        switch self {
        case .noDepth: "no_depth"
        case .depthUnavailable: "depth_unavailable"
        case .recordedAsSuspicious: "recorded_as_suspicious"
        case .labelledByServer: "labelled_by_server"
        case .capturedAtIsPublic: "captured_at_is_public"
        case .captureTimeUnknown: "capture_time_unknown"
        case .coordinatesArePublic: "coordinates_are_public"
        case .coarseLocationLeftOut: "coarse_location_left_out"
        case .placeUnknown: "place_unknown"
        case .depthFromKeyframes: "depth_from_keyframes"
        case .notObserved: "not_observed"
        case .clockDiffers: "clock_differs"
        }
    }

    /// Whether it may be a mistake, and not only worth knowing.
    var isWarning: Bool {
        switch self {
        case .noDepth, .depthUnavailable, .recordedAsSuspicious, .captureTimeUnknown, .coordinatesArePublic,
            .clockDiffers:
            true
        default: false
        }
    }

    /// Whether `CaptureDisclosure` tells it in its own words.
    var isInDisclosure: Bool {
        switch self {
        case .capturedAtIsPublic, .captureTimeUnknown, .coordinatesArePublic: true
        default: false
        }
    }

    /// One line: lower case, no full stop.
    var words: String {
        switch self {
        case .noDepth: "no depth map was given, so nothing shows that the scene was real; --depth FILE adds one"
        case .depthUnavailable: "the depth map has nothing to analyse; it is told as unavailable"
        case .recordedAsSuspicious: "this server records a capture like this as suspicious"
        case .labelledByServer:
            "this server labels every hash-only capture as made by iOS and LiDAR; mediactl claims neither"
        case .capturedAtIsPublic(let time): "captured_at is public at the server: \(ErrorCatalogue.clean(time))"
        case .captureTimeUnknown:
            "nothing says when it was taken, so the time of sending stands for it; --captured-at names another"
        case .coordinatesArePublic(let decimals):
            "the server publishes where it was taken, with \(Formats.count(decimals, "decimal")) of a degree"
        case .coarseLocationLeftOut:
            "the place is left out: this server takes no city and country; --coarse-coordinates tells one decimal"
        case .placeUnknown: "the place is left out: no city or country is known near the position"
        case .depthFromKeyframes: "the depth of the video is computed from its keyframes"
        case .notObserved: "the file was not seen here: its digest is proven as it was given, and no copy is kept"
        case .clockDiffers(let seconds):
            "this machine's clock is \(Formats.span(.seconds(abs(seconds)))) \(seconds > 0 ? "behind" : "ahead of") the "
                + "server's"
        }
    }
}
