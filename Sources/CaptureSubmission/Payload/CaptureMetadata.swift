/// What a payload tells about a capture besides hash and depth: nothing else can leave, because there is no member for it
/// (hash-only contract 1.2 and section 4).
public struct CaptureMetadata: Sendable, Equatable {
    /// Where it was taken, as far as it is told.
    public enum Location: Sendable, Equatable {
        /// Degrees.
        case coordinates(latitude: Double, longitude: Double)
        /// Only the profile `mediactl-1` can take it. The country is ISO 3166-1 alpha-2.
        case place(city: String?, country: String)
    }

    /// Where it was taken.
    public var location: Location?
    /// `YYYY-MM-DD` or `YYYY-MM-DDTHH:MM:SSZ`.
    public var timestamp: String?
    /// What took it.
    public var deviceModel: String?

    /// Makes metadata; everything is absent unless given.
    public init(location: Location? = nil, timestamp: String? = nil, deviceModel: String? = nil) {
        self.location = location
        self.timestamp = timestamp
        self.deviceModel = deviceModel
    }
}

/// How a server reads and checks a hash-only capture; chosen per server.
public enum CaptureProfile: String, Sendable, CaseIterable {
    /// Complete and honest (hash-only contract 3.4): canonical JSON (RFC 8785) of everything but the assertion is signed.
    case mediactl1 = "mediactl-1"
    /// The existing server as it is (contract 2.1): seven members are signed, and nobody on Linux can be enrolled.
    case reference
}

/// What kind of media a capture is (contract 1.2).
public enum CaptureMediaType: String, Sendable, CaseIterable {
    /// One picture.
    case photo
    /// A film, with hash chain, frame count and duration.
    case video
}

/// How much of the location is told.
public enum LocationLevel: String, Sendable, CaseIterable {
    /// Nothing.
    case none
    /// City and country; coordinates with one decimal where the server can take no names and the user asks for it.
    case coarse
    /// Latitude and longitude as known.
    case precise
}

/// How much of the time is told.
public enum TimestampLevel: String, Sendable, CaseIterable {
    /// Nothing but the day of the submission, which every request tells.
    case none
    /// The UTC day.
    case dayOnly = "day_only"
    /// To the second.
    case exact
}

/// How much of the device is told.
public enum DeviceInfoLevel: String, Sendable, CaseIterable {
    /// Nothing.
    case none
    /// The model of the camera or phone.
    case modelOnly = "model_only"
    /// The model, the release of Linux, and the version of this program.
    case full
}

/// What the user chose, and what is there of it (contract section 4): "included" only when the value is in the payload.
public struct MetadataFlags: Sendable, Equatable {
    /// Whether the payload has a location.
    public var locationIncluded: Bool
    /// As configured.
    public var locationLevel: LocationLevel
    /// Whether the payload has a time.
    public var timestampIncluded: Bool
    /// As configured.
    public var timestampLevel: TimestampLevel
    /// Whether the payload has a device model.
    public var deviceInfoIncluded: Bool
    /// As configured.
    public var deviceInfoLevel: DeviceInfoLevel

    /// The flags of metadata that were filtered by these levels.
    ///
    /// - Parameters:
    ///   - metadata: As filtered.
    ///   - location: As configured.
    ///   - timestamp: As configured.
    ///   - deviceInfo: As configured.
    package init(
        of metadata: CaptureMetadata,
        location: LocationLevel,
        timestamp: TimestampLevel,
        deviceInfo: DeviceInfoLevel
    ) {
        locationIncluded = metadata.location != nil
        locationLevel = location
        timestampIncluded = metadata.timestamp != nil
        timestampLevel = timestamp
        deviceInfoIncluded = metadata.deviceModel != nil
        deviceInfoLevel = deviceInfo
    }
}
