/// Metadata that a payload discloses about a capture in addition to the hash and the depth analysis. Other data cannot
/// be sent, since no member exists for it (hash-only contract 1.2 and section 4).
public struct CaptureMetadata: Sendable, Equatable {
    /// The disclosed location.
    public enum Location: Sendable, Equatable {
        /// Latitude and longitude in degrees.
        case coordinates(latitude: Double, longitude: Double)
        /// A place; only for the profile `mediactl-1`. The country is ISO 3166-1 alpha-2.
        case place(city: String?, country: String)
    }

    public var location: Location?
    /// `YYYY-MM-DD` or `YYYY-MM-DDTHH:MM:SSZ`.
    public var timestamp: String?
    /// The model of the camera or phone.
    public var deviceModel: String?

    public init(location: Location? = nil, timestamp: String? = nil, deviceModel: String? = nil) {
        self.location = location
        self.timestamp = timestamp
        self.deviceModel = deviceModel
    }
}

/// The protocol by which a server reads and checks a hash-only capture; configured per server.
public enum CaptureProfile: String, Sendable, CaseIterable {
    /// The complete protocol (hash-only contract 3.4): canonical JSON (RFC 8785) of the body without the assertion is
    /// signed.
    case mediactl1 = "mediactl-1"
    /// The existing server (contract 2.1): seven members are signed, and Linux devices cannot be enrolled.
    case reference
}

/// The media type of a capture (contract 1.2).
public enum CaptureMediaType: String, Sendable, CaseIterable {
    case photo
    /// A video, with a hash chain, a frame count and a duration.
    case video
}

/// The precision of the disclosed location.
public enum LocationLevel: String, Sendable, CaseIterable {
    case none
    /// City and country; coordinates with one decimal if the server does not accept names and the user requests it.
    case coarse
    /// The latitude and longitude, as precisely as known.
    case precise
}

/// The precision of the disclosed time.
public enum TimestampLevel: String, Sendable, CaseIterable {
    /// Only the day of the submission, which every request discloses.
    case none
    /// The day in UTC.
    case dayOnly = "day_only"
    /// The exact second.
    case exact
}

/// The detail of the disclosed device information.
public enum DeviceInfoLevel: String, Sendable, CaseIterable {
    /// No device information.
    case none
    /// The model of the camera or phone.
    case modelOnly = "model_only"
    /// The model, the Linux kernel release, and the version of mediactl.
    case full
}

/// The levels by which the metadata was filtered (contract section 4). The flags in the body also show which values are
/// included.
public struct MetadataFlags: Sendable, Equatable {
    public var locationLevel: LocationLevel
    public var timestampLevel: TimestampLevel
    public var deviceInfoLevel: DeviceInfoLevel

    package init(location: LocationLevel, timestamp: TimestampLevel, deviceInfo: DeviceInfoLevel) {
        locationLevel = location
        timestampLevel = timestamp
        deviceInfoLevel = deviceInfo
    }
}
