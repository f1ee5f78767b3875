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
