internal import CaptureSubmission
internal import HashCapture
internal import MediaCore
internal import MediaFiles

/// What a body tells, in words: one line for each thing that leaves, and one for what stays.
enum CaptureDisclosure {
    /// Says it.
    ///
    /// - Parameters:
    ///   - payload: What would be sent.
    ///   - profile: How the server reads it.
    ///   - isTimeNamed: Whether the user said when it was taken.
    /// - Returns: Lines to be shown as they are.
    static func lines(_ payload: HashOnlyPayload, _ profile: CaptureProfile, isTimeNamed: Bool) -> [String] {
        var lines: [String?] = [
            "the SHA-256 of the \(payload.mediaType.rawValue), from which nobody can make the \(payload.mediaType.rawValue)",
            "captured_at \(payload.capturedAt): the server publishes it always" + rounding(of: payload),
            isTimeNamed ? nil : source(of: payload),
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

    /// Where the time is from, when nobody has said it.
    private static func source(of payload: HashOnlyPayload) -> String? {
        guard payload.flags.timestampLevel != .none else { return nil }
        return payload.metadata.timestamp == nil
            ? "  nothing tells when it was taken, so it is the time of sending; --captured-at names another"
            : "  read from the file, where a clock without a zone is taken as UTC; --captured-at names another"
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
