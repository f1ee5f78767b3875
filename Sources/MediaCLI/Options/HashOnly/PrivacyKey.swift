internal import ArgumentParser
internal import CaptureSubmission
internal import HashCapture

/// A privacy setting, by the name it has on the command line.
enum PrivacyKey: String, ExpressibleByArgument, CaseIterable {
    case privacyMode = "privacy-mode"
    case location, timestamp, device

    /// Its value, as `set` takes it.
    func value(in settings: PrivacySettings) -> String {
        let raw =
            switch self {
            case .privacyMode: settings.isPrivacyModeEnabled ? "on" : "off"
            case .location: settings.location.rawValue
            case .timestamp: settings.timestamp.rawValue
            case .device: settings.deviceInfo.rawValue
            }
        return raw.replacing("_", with: "-")
    }

    /// Sets it.
    ///
    /// - Throws: `Diagnosis` for a value that it cannot have.
    func set(_ text: String, in settings: inout PrivacySettings) throws(Diagnosis) {
        let raw = text.replacing("-", with: "_")
        switch self {
        case .privacyMode:
            guard raw == "on" || raw == "off" else { throw refused(text, "on or off") }
            settings.isPrivacyModeEnabled = raw == "on"
        case .location:
            guard let level = LocationLevel(rawValue: raw) else { throw refused(text, "none, coarse or precise") }
            settings.location = level
        case .timestamp:
            guard let level = TimestampLevel(rawValue: raw) else { throw refused(text, "none, day-only or exact") }
            settings.timestamp = level
        case .device:
            guard let level = DeviceInfoLevel(rawValue: raw) else { throw refused(text, "none, model-only or full") }
            settings.deviceInfo = level
        }
    }

    private func refused(_ text: String, _ choices: String) -> Diagnosis {
        .usage("\(rawValue): \(ErrorCatalogue.quoted(text)) is no value of it", hint: "use \(choices)")
    }
}
