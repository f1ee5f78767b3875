internal import CaptureSubmission
internal import HashCapture
internal import MediaCore

/// Describes a request body: one line for each disclosed item.
enum CaptureDisclosure {
    /// `timeSource` is nil if the capture time is unknown. The lines can be printed without escaping.
    static func lines(
        _ payload: HashOnlyPayload,
        _ timeSource: CaptureTimeSource?
    ) -> [String] {
        var lines: [String?] = [
            "the SHA-256 of the \(payload.mediaType.rawValue), from which the \(payload.mediaType.rawValue) cannot be reconstructed",
            "captured_at \(payload.capturedAt), always public on the server" + rounding(of: payload),
            source(timeSource, of: payload),
            place(payload),
            payload.metadata.timestamp.map { "the time \($0)" } ?? "no time",
            payload.metadata.deviceModel.map { "the device model \(ErrorCatalog.quoted($0))" } ?? "no device model",
            depth(payload),
        ]
        if let video = payload.video {
            lines.append(
                "\(Formats.count(video.frameCount, "frame")), \(video.durationMilliseconds) ms, and the last hash of the "
                    + "hash chain"
            )
        }
        lines.append("the privacy levels, and a signature with this machine's key")
        return lines.compactMap { $0 }.map { "  " + $0 }
    }

    private static func rounding(of payload: HashOnlyPayload) -> String {
        switch payload.flags.timestampLevel {
        case .exact: ""
        case .dayOnly: "; only the day is disclosed"
        case .none: "; the day of submission is disclosed instead"
        }
    }

    /// The source of the time, unless the user specified the time.
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

    private static func place(_ payload: HashOnlyPayload) -> String {
        switch payload.metadata.location {
        case .coordinates(let latitude, let longitude):
            let decimals = payload.flags.locationLevel == .coarse ? 1 : 4
            return
                "the location \(latitude),\(longitude), which the server publishes with \(Formats.count(decimals, "decimal"))"
        case .place(let city, let country):
            return
                "the location \([city, country].compactMap { $0 }.map { TerminalText.escaped($0) }.joined(separator: ", "))"
        case nil: return "no location"
        }
    }

    private static func depth(_ payload: HashOnlyPayload) -> String {
        payload.depthAnalysis.status == .unavailable
            ? "no depth analysis"
            : "five depth statistics; the scene \(payload.depthAnalysis.isLikelyRealScene ? "looks" : "does not look") real"
    }
}

extension CaptureNotice {
    var code: String {
        switch self {
        case .noDepth: "no_depth"
        case .depthUnavailable: "depth_unavailable"
        case .sceneNotReal: "scene_not_real"
        case .recordedAsSuspicious: "recorded_as_suspicious"
        case .labeledByServer: "labelled_by_server"
        case .capturedAtIsPublic: "captured_at_is_public"
        case .captureTimeUnknown: "capture_time_unknown"
        case .timeWithoutZone: "time_without_zone"
        case .optionsNotSent: "options_not_sent"
        case .disclosedEarlier: "disclosed_earlier"
        case .acceptedEarlier: "accepted_earlier"
        case .coordinatesArePublic: "coordinates_are_public"
        case .coarseLocationOmitted: "coarse_location_left_out"
        case .placeUnknown: "place_unknown"
        case .nearBorder: "near_border"
        case .depthFromKeyframes: "depth_from_keyframes"
        case .notObserved: "not_observed"
        case .clockDiffers: "clock_differs"
        }
    }

    /// Whether the notice may be the result of a mistake, rather than being purely informational.
    var isWarning: Bool {
        switch self {
        case .noDepth, .depthUnavailable, .sceneNotReal, .recordedAsSuspicious, .captureTimeUnknown, .timeWithoutZone,
            .optionsNotSent, .disclosedEarlier, .acceptedEarlier, .coordinatesArePublic, .nearBorder, .clockDiffers:
            true
        default: false
        }
    }

    /// Whether the notice applies to media that is not submitted again.
    var isAboutEarlierSubmission: Bool {
        switch self {
        case .optionsNotSent, .disclosedEarlier: true
        default: false
        }
    }

    /// Whether the notice concerns what the server publishes as soon as it has the capture.
    var isAboutPublication: Bool {
        switch self {
        case .capturedAtIsPublic, .coordinatesArePublic: true
        default: false
        }
    }

    /// Whether the notice is printed before the capture is sent, since a time on the server cannot be corrected.
    var isBeforeSending: Bool { self == .captureTimeUnknown || self == .timeWithoutZone }

    /// Whether `CaptureDisclosure` already covers the notice.
    var isInDisclosure: Bool { isAboutPublication || self == .captureTimeUnknown }

    var words: String {
        switch self {
        case .noDepth:
            "no depth map was specified, so nothing shows that the scene is real; add --depth FILE for a photo, "
                + "--keyframe-depth FILE for a video, or --no-depth"
        case .depthUnavailable: "the depth map has no valid samples; the analysis is submitted as unavailable"
        case .sceneNotReal: "the depth map shows a flat scene; the analysis is submitted as not a real scene"
        case .recordedAsSuspicious: "this server records such a capture as suspicious"
        case .labeledByServer:
            "this server labels every hash-only capture as made with iOS and LiDAR; mediactl claims neither"
        case .capturedAtIsPublic(let time): "captured_at is public on the server: \(ErrorCatalog.clean(time))"
        case .captureTimeUnknown:
            "the capture time is unknown: the time of submission is used; --captured-at sets it"
        case .timeWithoutZone:
            "the camera's clock has no time zone: only its day is submitted; add --utc-offset or --captured-at for the exact "
                + "time"
        case .optionsNotSent(let options):
            "submitted earlier with different options; not sent in this run: \(Self.words(for: options))"
        case .disclosedEarlier(let options):
            "submitted earlier with different options; disclosed then: \(Self.words(for: options))"
        case .acceptedEarlier:
            "the server accepted this file in an earlier submission whose outcome is not stored here; the server has the "
                + "time, location and device of that submission"
        case .coordinatesArePublic(let decimals):
            "the server publishes the coordinates with \(Formats.count(decimals, "decimal"))"
        case .coarseLocationOmitted:
            "location omitted: this server does not accept a city or country; --coarse-coordinates submits coordinates "
                + "with one decimal"
        case .placeUnknown:
            "location omitted: too few places near the position to determine the country; to submit it, specify --place "
                + "CITY,CC"
        case .nearBorder(let candidates): PlaceChoice(candidates).words
        case .depthFromKeyframes: "the depth analysis of the video is computed from its keyframes"
        case .notObserved: "the file was not read: its digest is submitted as specified, and no copy is stored"
        case .clockDiffers(let seconds):
            "this machine's clock is \(Formats.span(.seconds(abs(seconds)))) \(seconds > 0 ? "behind" : "ahead of") the "
                + "server's"
        }
    }

    private static func words(for options: [Option]) -> String {
        options.map { $0.rawValue.replacing("_", with: " ") }.joined(separator: ", ")
    }
}
