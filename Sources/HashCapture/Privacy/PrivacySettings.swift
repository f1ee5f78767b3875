public import CaptureSubmission

/// What may be told about captures (hash-only contract section 4).
public struct PrivacySettings: Sendable, Equatable {
    /// Whether full uploads are refused.
    public var isPrivacyModeEnabled = false
    /// How much of the location is told.
    public var location = LocationLevel.coarse
    /// How much of the time is told.
    public var timestamp = TimestampLevel.exact
    /// How much of the device is told.
    public var deviceInfo = DeviceInfoLevel.modelOnly

    /// The contract's defaults.
    public init() {}

    /// The settings as the record of a capture keeps them, and as their file holds them.
    public var json: String {
        // No value needs escaping: they are a truth value and names of levels.
        """
        {"\(Member.privacyMode.rawValue)":\(isPrivacyModeEnabled),"\(Member.location.rawValue)":"\(location.rawValue)",\
        "\(Member.timestamp.rawValue)":"\(timestamp.rawValue)","\(Member.deviceInfo.rawValue)":"\(deviceInfo.rawValue)"}
        """
    }

    /// Members of the stored form.
    enum Member: String, CaseIterable {
        case privacyMode = "privacyModeEnabled"
        case location = "locationLevel"
        case timestamp = "timestampLevel"
        case deviceInfo = "deviceInfoLevel"
    }
}
