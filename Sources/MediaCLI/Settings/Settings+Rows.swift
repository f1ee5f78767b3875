internal import CaptureSubmission
internal import GigHive

extension Settings {
    /// Name, value and origin of each setting, for `config show`. No secret is ever a setting, and of a
    /// command only the program is shown.
    var rows: [(name: String, value: String, origin: SettingOrigin)] {
        var rows: [(name: String, value: String, origin: SettingOrigin)] = []
        func add<Value>(_ name: String, _ setting: Setting<Value>?, _ text: (Value) -> String) {
            guard let setting else { return }
            rows.append((name, text(setting.value), setting.origin))
        }
        func add(_ key: SettingKey, _ setting: Setting<String>?) { add(key.rawValue, setting) { $0 } }
        func add(_ key: SettingKey, _ setting: Setting<Bool>) { add(key.rawValue, setting) { String($0) } }
        func add(_ key: SettingKey, _ setting: Setting<Duration>) { add(key.rawValue, setting, Self.text) }

        add("profile", profile) { $0 }
        add(.server, server)
        add(.uploadsURL, uploadsURL)
        add(.syncURL, syncURL)
        add(.captureURL, captureURL)
        add(.libraryURL, libraryURL)
        add(.user, user)
        for section in passwordCommands {
            guard let command = section.passwordCommand else { continue }
            rows.append(("password_command", Self.brief(command), section.origin))
        }
        add(.caFile, caFile)
        add(.pinnedKey, pinnedKey)
        add(.insecure, insecure)
        add(.allowHTTP, allowHTTP)
        add(.http2, http2)
        add(.connectTimeout, connectTimeout)
        add(.stallTimeout, stallTimeout)
        add(.responseTimeout, responseTimeout)
        add(.finishTimeout, finishTimeout)
        add(.settleTimeout, settleTimeout)
        add(SettingKey.limitRate.rawValue, limitRate) { $0.map { String($0) } ?? "none" }
        add(SettingKey.retries.rawValue, retries) { String($0) }
        add(SettingKey.maxBytes.rawValue, maxBytes) { String($0) }
        add(.contact, contact)
        add(.orgName, orgName)
        add(.eventType, eventType)
        add(SettingKey.color.rawValue, color) { $0.rawValue }
        add(SettingKey.jobs.rawValue, jobs) { String($0) }
        add(SettingKey.transport.rawValue, transport) { $0.rawValue }
        add(SettingKey.chunkSize.rawValue, chunkSize) { String($0) }
        add(SettingKey.captureProfile.rawValue, captureProfile) { $0.rawValue }
        add(.captureRPID, captureRPID)
        add(.albumsEnabled, albumsEnabled)
        add(SettingKey.albumsLibrary.rawValue, albumsLibrary) { $0.rawValue }
        add(.albumsFolderRoot, albumsFolderRoot)
        add(.albumsUpload, albumsUpload)
        add("albums.path_map", albumsPathMap) { $0.map { "\($0.local) = \($0.server)" }.joined(separator: ", ") }
        add(.deleteAssociatedAlbum, deleteAssociatedAlbum)
        add("vault_key_command", vaultKeyCommand) { Self.brief($0) }
        return rows
    }

    /// The program of a command, whose arguments may be telling.
    private static func brief(_ command: [String]) -> String {
        (command.first ?? "") + (command.count > 1 ? " ..." : "")
    }

    /// `30s`, or `0.5s`: what the settings file would take.
    private static func text(_ duration: Duration) -> String {
        let (seconds, attoseconds) = duration.components
        let thousandths = attoseconds / 1_000_000_000_000_000
        guard thousandths != 0 else { return "\(seconds)s" }
        let digits = String(thousandths + 1000).dropFirst()
        return "\(seconds).\(digits)s"
    }
}
