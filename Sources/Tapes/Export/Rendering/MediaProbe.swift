internal import MediaCore
internal import MediaTransport

/// What ffprobe says of a file.
struct MediaProbe: Equatable {
    /// Whether it has a moving picture; a cover is none.
    var hasPicture: Bool
    var hasSound: Bool
    /// How long it is; nil is unknown.
    var milliseconds: Int64?
    /// How long its picture is; nil is unknown.
    var pictureMilliseconds: Int64?

    /// Reads ffprobe's JSON; nil when it is none.
    init?(_ json: [UInt8]) {
        guard let members = JSONValue.object(in: json[...]) else { return nil }
        let streams = (members["streams"]?.elements ?? []).compactMap(\.members)
        let picture = streams.first { stream in
            stream["codec_type"]?.text == "video"
                && stream["disposition"]?.members?["attached_pic"]?.wholeNumber != 1
        }
        hasPicture = picture != nil
        hasSound = streams.contains { $0["codec_type"]?.text == "audio" }
        pictureMilliseconds = Self.milliseconds(picture?["duration"])
        milliseconds = Self.milliseconds(members["format"]?.members?["duration"]) ?? pictureMilliseconds
    }

    /// Seconds as text; `N/A` and what is no length are nil.
    private static func milliseconds(_ value: JSONValue?) -> Int64? {
        guard let text = value?.text, let seconds = Double(text), seconds > 0, seconds < 1e12 else { return nil }
        return Int64((seconds * 1000).rounded())
    }
}
