public import CaptureSubmission

/// What may be told about captures (hash-only contract section 4).
public struct PrivacySettings: Sendable, Equatable {
    /// Whether full uploads are refused.
    public var isPrivacyModeEnabled = false
    public var location = LocationLevel.coarse
    public var timestamp = TimestampLevel.exact
    public var deviceInfo = DeviceInfoLevel.modelOnly

    /// The contract's defaults.
    public init() {}

    /// The settings of a file, a JSON object with `privacyModeEnabled`, `locationLevel`, `timestampLevel`,
    /// `deviceInfoLevel`; the defaults when there is no file.
    ///
    /// - Throws: `CaptureError` `.settingsUnusable` for a file that cannot be read or is not exactly that: privacy is never
    ///   off by accident.
    public static func read(_ path: String) throws(CaptureError) -> PrivacySettings {
        throw CaptureError(.internalError)
    }

    /// Writes the file as a whole, 0600: the new settings or the old ones, never a part.
    ///
    /// - Throws: `CaptureError` `.settingsUnusable`.
    public func write(to path: String) throws(CaptureError) {}

    /// The settings as the record of a capture keeps them: the file's JSON.
    public var json: String { "" }
}
