internal import CaptureSubmission
internal import HashCapture
internal import MediaCore

/// Describes a request body: one line for each thing it discloses.
enum CaptureDisclosure {
    /// `timeSource` is nil if the capture time is unknown. The lines may be printed without escaping.
    static func lines(
        _ payload: HashOnlyPayload,
        _ profile: CaptureProfile,
        _ timeSource: CaptureTimeSource?
    ) -> [String] {
        var lines: [String?] = [
            "the SHA-256 of the \(payload.mediaType.rawValue), from which nobody can make the \(payload.mediaType.rawValue)",
            "captured_at \(payload.capturedAt): the server publishes it always" + rounding(of: payload),
            source(timeSource, of: payload),
            place(payload, profile),
            payload.metadata.timestamp.map { "the time \($0)" } ?? "no time",
            payload.metadata.deviceModel.map { "the device \(ErrorCatalogue.quoted($0))" } ?? "no device model",
            depth(payload),
        ]
        if let video = payload.video {
            lines.append(
                "\(Formats.count(video.frameCount, "frame")), \(video.durationMilliseconds) ms, and the last hash of their "
                    + "chain"
            )
        }
        lines.append("which levels of privacy were chosen, and the signature of this machine's key")
        return lines.compactMap { $0 }.map { "  " + $0 }
    }

    private static func rounding(of payload: HashOnlyPayload) -> String {
        switch payload.flags.timestampLevel {
        case .exact: ""
        case .dayOnly: "; only the day is told"
        case .none: "; the day of the submission is told in its place"
        }
    }

    /// Where the time comes from if the user did not specify it.
    private static func source(_ source: CaptureTimeSource?, of payload: HashOnlyPayload) -> String? {
        guard payload.flags.timestampLevel != .none else { return nil }
        let words: String? =
            switch source {
            case .given: nil
            case .fileOffset: "from the file, with its time zone"
            case .satellites: "from the file: GPS date and time"
            case .container: "from the file's container, in UTC"
            case .userOffset: "from the camera's clock, with --utc-offset"
            case .localClock:
                "the day of the camera's clock, which has no time zone; --utc-offset or --captured-at sets it"
            case nil: "the capture time is unknown: the time of submission is used; --captured-at sets it"
            }
        return words.map { "  " + $0 }
    }

    private static func place(_ payload: HashOnlyPayload, _ profile: CaptureProfile) -> String {
        switch payload.metadata.location {
        case .coordinates(let latitude, let longitude):
            let decimals = payload.flags.locationLevel == .coarse ? 1 : 4
            return "the place \(latitude),\(longitude)"
                + (profile == .reference ? ": the server publishes it with \(Formats.count(decimals, "decimal"))" : "")
        case .place(let city, let country):
            return
                "the place \([city, country].compactMap { $0 }.map { TerminalText.escaped($0) }.joined(separator: ", "))"
        case nil: return "no place"
        }
    }

    private static func depth(_ payload: HashOnlyPayload) -> String {
        payload.depthAnalysis.status == .unavailable
            ? "that no depth was analysed"
            : "five numbers about the depth of the scene, which \(payload.depthAnalysis.isLikelyRealScene ? "looks" : "does not look") "
                + "real by them"
    }
}

extension CaptureNotice {
    var code: String {
        switch self {
        case .noDepth: "no_depth"
        case .depthUnavailable: "depth_unavailable"
        case .sceneNotReal: "scene_not_real"
        case .recordedAsSuspicious: "recorded_as_suspicious"
        case .labelledByServer: "labelled_by_server"
        case .capturedAtIsPublic: "captured_at_is_public"
        case .captureTimeUnknown: "capture_time_unknown"
        case .timeWithoutZone: "time_without_zone"
        case .optionsNotSent: "options_not_sent"
        case .coordinatesArePublic: "coordinates_are_public"
        case .coarseLocationLeftOut: "coarse_location_left_out"
        case .placeUnknown: "place_unknown"
        case .nearBorder: "near_border"
        case .depthFromKeyframes: "depth_from_keyframes"
        case .notObserved: "not_observed"
        case .clockDiffers: "clock_differs"
        }
    }

    /// Whether it may be a mistake, rather than only information.
    var isWarning: Bool {
        switch self {
        case .noDepth, .depthUnavailable, .sceneNotReal, .recordedAsSuspicious, .captureTimeUnknown, .timeWithoutZone,
            .optionsNotSent, .coordinatesArePublic, .nearBorder, .clockDiffers:
            true
        default: false
        }
    }

    /// Whether it applies to media that is not submitted again.
    var isAboutEarlierSubmission: Bool {
        if case .optionsNotSent = self { true } else { false }
    }

    /// Whether `CaptureDisclosure` already covers it.
    var isInDisclosure: Bool {
        switch self {
        case .capturedAtIsPublic, .captureTimeUnknown, .coordinatesArePublic: true
        default: false
        }
    }

    var words: String {
        switch self {
        case .noDepth:
            "no depth map was specified: nothing shows that the scene was real; to submit a photo, add --depth FILE or --no-depth"
        case .depthUnavailable: "the depth map has nothing to analyse; it is told as unavailable"
        case .recordedAsSuspicious: "this server records a capture like this as suspicious"
        case .labelledByServer:
            "this server labels every hash-only capture as made by iOS and LiDAR; mediactl claims neither"
        case .capturedAtIsPublic(let time): "captured_at is public at the server: \(ErrorCatalogue.clean(time))"
        case .captureTimeUnknown:
            "nothing says when it was taken, so the time of sending stands for it; --captured-at names another"
        case .timeWithoutZone:
            "the camera's clock has no time zone: only its day is submitted; add --utc-offset or --captured-at for the exact "
                + "time"
        case .optionsNotSent(let options):
            "submitted earlier with other options; not sent now: "
                + options.map { $0.rawValue.replacing("_", with: " ") }.joined(separator: ", ")
        case .coordinatesArePublic(let decimals):
            "the server publishes where it was taken, with \(Formats.count(decimals, "decimal")) of a degree"
        case .coarseLocationLeftOut:
            "the place is left out: this server takes no city and country; --coarse-coordinates tells one decimal"
        case .placeUnknown:
            "location omitted: too few places near the position to determine the country; to submit it, specify --place "
                + "CITY,CC"
        case .nearBorder(let candidates): PlaceChoice(candidates).words
        case .depthFromKeyframes: "the depth of the video is computed from its keyframes"
        case .notObserved: "the file was not seen here: its digest is proven as it was given, and no copy is kept"
        case .clockDiffers(let seconds):
            "this machine's clock is \(Formats.span(.seconds(abs(seconds)))) \(seconds > 0 ? "behind" : "ahead of") the "
                + "server's"
        }
    }
}
