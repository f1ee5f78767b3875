internal import Yams

/// Turns YAML mappings into sections, and refuses values that are not exactly understood. Names that are not known are kept
/// for a warning, or refused (`UnknownSetting`).
struct SectionReader {
    let file: String
    let home: String?

    func readProfiles(_ node: Node) throws(SettingsError) -> [String: SettingsFile.Section] {
        if SettingsFile.isNull(node) { return [:] }
        guard let mapping = node.mapping else {
            throw error(node, "profiles", "must hold names, each with its settings")
        }
        var profiles: [String: SettingsFile.Section] = [:]
        for (key, value) in mapping {
            guard let name = key.scalar?.string, !name.isEmpty else { throw error(key, "profiles", "needs names") }
            let empty = SettingsFile.Section(file: file, origin: .profile(name), keyPrefix: "profiles.\(name).")
            profiles[name] = try read(value, into: empty) { _, _ throws(SettingsError) in false }
        }
        return profiles
    }

    /// The name of a profile.
    ///
    /// - Throws: `SettingsError` for one that does not exist.
    func profileName(_ node: Node, among known: [String]) throws(SettingsError) -> String {
        guard let name = node.scalar?.string, !SettingsFile.isNull(node) else {
            throw error(node, "default_profile", "must be the name of a profile")
        }
        guard known.contains(name) else {
            var refused = error(node, "default_profile", "is not a profile", value: name)
            refused.hint = ProfileChoice.hint(for: name, among: known, in: file)
            throw refused
        }
        return name
    }

    /// Reads the settings of one level.
    ///
    /// - Parameters:
    ///   - node: The mapping.
    ///   - empty: The section to fill.
    ///   - special: Takes what only this level may have; false for keys it does not know.
    /// - Returns: The filled section.
    /// - Throws: `SettingsError` for the first thing that is not understood.
    func read(
        _ node: Node,
        into empty: SettingsFile.Section,
        special: (String, Node) throws(SettingsError) -> Bool
    ) throws(SettingsError) -> SettingsFile.Section {
        var section = empty
        if SettingsFile.isNull(node) { return section }
        guard let mapping = node.mapping else {
            let name = empty.keyPrefix.isEmpty ? nil : String(empty.keyPrefix.dropLast())
            throw error(node, name, "must hold settings, one `name: value` a line")
        }
        try fill(&section, from: mapping, group: "", special: special)
        return section
    }

    /// Reads the settings of a mapping. A name with dots means the same as groups within each other.
    private func fill(
        _ section: inout SettingsFile.Section,
        from mapping: Node.Mapping,
        group: String,
        special: (String, Node) throws(SettingsError) -> Bool
    ) throws(SettingsError) {
        for (keyNode, value) in mapping {
            guard let word = keyNode.scalar?.string else { throw error(keyNode, nil, "is not the name of a setting") }
            let name = group + word
            let path = section.keyPrefix + name
            if let key = SettingKey(rawValue: name) ?? SettingKey.deprecated[name] {
                if SettingKey.deprecated[name] != nil { section.deprecated.append((name, key)) }
                guard section.values[key] == nil else { throw error(keyNode, path, "is set twice") }
                let text = try scalar(value, of: key, path)
                section.values[key] = (text, value.mark?.line ?? keyNode.mark?.line ?? 1)
            } else if SettingKey.groups.contains(name), SettingsFile.isNull(value) {
                continue
            } else if SettingKey.groups.contains(name) {
                guard let inner = value.mapping else { throw error(value, path, "must hold settings of its own") }
                try fill(&section, from: inner, group: name + ".") { _, _ throws(SettingsError) in false }
            } else if name == "albums.path_map" {
                section.pathMap = try pathMap(value, path)
            } else if name == "password_command" {
                section.passwordCommand = try command(value, path)
            } else if name == "vault_key_command" {
                section.vaultKeyCommand = try command(value, path)
            } else if try !special(name, value) {
                let isTopLevel = section.keyPrefix.isEmpty && group.isEmpty
                section.unknown.append(try unknown(name, keyNode, path, isTopLevel: isTopLevel))
            }
        }
    }

    private func pathMap(_ node: Node, _ path: String) throws(SettingsError) -> [PathPrefix] {
        guard let mapping = node.mapping else {
            var refused = error(node, path, "must hold directories, one `here: on the server` a line")
            refused.hint = "for example /srv/photos: /mnt/library"
            throw refused
        }
        var map: [PathPrefix] = []
        for (local, server) in mapping {
            guard let here = local.scalar?.string, let there = server.scalar?.string, here.hasPrefix("/"),
                there.hasPrefix("/")
            else { throw error(local, path, "takes absolute paths only") }
            map.append(PathPrefix(local: here, server: there))
        }
        return map
    }

    private func scalar(_ node: Node, of key: SettingKey, _ path: String) throws(SettingsError) -> String {
        guard let scalar = node.scalar else { throw error(node, path, "must be a single value") }
        guard !SettingsFile.isNull(node) else { throw error(node, path, "has no value") }
        let isBoolean = scalar.style == .plain && node.bool != nil
        if key.isBoolean, !isBoolean {
            throw error(node, path, "must be true or false", value: scalar.string)
        }
        if !key.isBoolean, isBoolean {
            throw error(node, path, "is a yes or no in YAML; put it in quotes to mean the word", value: scalar.string)
        }
        return key.isPath ? absolute(scalar.string) : scalar.string
    }

    /// File names start from the settings file's directory, never from the current one.
    private func absolute(_ path: String) -> String {
        if path.hasPrefix("/") || path.isEmpty { return path }
        if path.hasPrefix("~/"), let home { return home + path.dropFirst() }
        let directory = file.contains("/") ? file[...(file.lastIndex(of: "/") ?? file.startIndex)] : ""
        return directory + path
    }

    private func command(_ node: Node, _ path: String) throws(SettingsError) -> [String] {
        let arguments = node.sequence?.map { $0.scalar?.string }
        guard let command = arguments?.compactMap({ $0 }), command.count == arguments?.count,
            command.first?.isEmpty == false
        else {
            var refused = error(node, path, "must be a list: the program and its arguments, run without a shell")
            refused.hint = "for example [pass, show, media/stage]"
            throw refused
        }
        return command
    }

    /// The warning about a name that is no setting. Its value is never repeated, because it may be a secret.
    ///
    /// - Throws: `SettingsError` for a secret, and for what may have been meant to protect.
    private func unknown(
        _ name: String,
        _ node: Node,
        _ path: String,
        isTopLevel: Bool
    ) throws(SettingsError) -> SettingsError {
        let secrets: Set = ["password", "passwd", "pass", "api_key", "apikey", "token", "secret"]
        if secrets.contains(name.lowercased().replacing("-", with: "_")) {
            var refused = error(node, path, "secrets do not belong in the settings file")
            refused.hint = "name a program that prints it: password_command: [pass, show, media]; or use netrc"
            throw refused
        }
        let unknown = UnknownSetting(place: error(node, path, ""), name: name)
        if let refusal = unknown.refusalInFile(isTopLevel: isTopLevel) { throw refusal }
        return unknown.warningInFile(isTopLevel: isTopLevel)
    }

    private func error(_ node: Node, _ key: String?, _ rule: String, value: String? = nil) -> SettingsError {
        SettingsError(file: file, line: node.mark?.line, key: key, value: value, rule: rule)
    }
}
