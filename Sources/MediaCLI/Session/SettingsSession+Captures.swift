internal import CaptureSubmission
internal import Foundation
internal import HashCapture
internal import MediaTransport

extension SettingsSession {
    /// The privacy settings: a file of their own beside the settings file, so that a change of one cannot damage the other.
    var privacyFile: String {
        let file = locations.configFile
        guard let slash = file.lastIndex(of: "/") else { return "hash-only.json" }
        return file[...slash] + "hash-only.json"
    }

    /// The privacy settings that are kept.
    ///
    /// - Throws: `CaptureError` when they cannot be read: nobody's privacy is off by accident.
    func privacySettings() throws(CaptureError) -> PrivacySettings {
        try PrivacySettings.read(privacyFile)
    }

    /// The relying party id of the server.
    var captureRPID: String {
        settings.captureRPID?.value ?? settings.captureProfile.value.usualRPID
    }

    /// Where the vault's key comes from.
    var vaultKey: VaultKey {
        settings.vaultKeyCommand.map { .command($0.value) } ?? .file
    }
}

extension CaptureProfile {
    /// What servers of this profile call themselves unless their operator has changed it (hash-only contract 3.1).
    var usualRPID: String {
        switch self {
        case .mediactl1: "mediactl-1"
        case .reference: "XXXXXXXXXX.com.realitycam.app"
        }
    }
}
