/// What a payload discloses about a capture besides hash and depth. Nothing else can be sent, because there is no member for it
/// (hash-only contract 1.2 and section 4).
public struct CaptureMetadata: Sendable, Equatable {
    /// Where it was taken, as far as disclosed.
    public enum Location: Sendable, Equatable {
        /// Degrees.
        case coordinates(latitude: Double, longitude: Double)
        /// Only for the profile `mediactl-1`. The country is ISO 3166-1 alpha-2.
        case place(city: String?, country: String)
    }

    /// Where it was taken.
    public var location: Location?
    /// `YYYY-MM-DD` or `YYYY-MM-DDTHH:MM:SSZ`.
    public var timestamp: String?
    /// The model of the camera or phone.
    public var deviceModel: String?

    /// Everything is absent by default.
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
    /// The existing server (contract 2.1): seven members are signed, and no Linux device can be enrolled.
    case reference
}

/// What kind of media a capture is (contract 1.2).
public enum CaptureMediaType: String, Sendable, CaseIterable {
    /// A photo.
    case photo
    /// A video, with hash chain, frame count and duration.
    case video
}

/// How much of the location is disclosed.
public enum LocationLevel: String, Sendable, CaseIterable {
    /// Nothing.
    case none
    /// City and country; coordinates with one decimal where the server accepts no names and the user requests it.
    case coarse
    /// Latitude and longitude as known.
    case precise
}

/// How much of the time is disclosed.
public enum TimestampLevel: String, Sendable, CaseIterable {
    /// Nothing but the day of the submission, which every request discloses.
    case none
    /// The UTC day.
    case dayOnly = "day_only"
    /// To the second.
    case exact
}

/// How much of the device is disclosed.
public enum DeviceInfoLevel: String, Sendable, CaseIterable {
    /// Nothing.
    case none
    /// The model of the camera or phone.
    case modelOnly = "model_only"
    /// The model, the release of Linux, and the version of this program.
    case full
}

/// The user's choice, and what exists of it (contract section 4): "included" only if the value is in the payload.
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

    /// Whether the levels are those of other flags.
    package func hasLevels(of other: MetadataFlags) -> Bool {
        locationLevel == other.locationLevel && timestampLevel == other.timestampLevel
            && deviceInfoLevel == other.deviceInfoLevel
    }

    /// The flags of metadata that were filtered by these levels.
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
