internal import ArgumentParser

/// `--server` or `--profile` as a filter for the data stored on this machine. Only these flags filter; the environment
/// and the default profile do not.
struct ServerFilterOptions: ParsableArguments, ConnectionFlags {
    @OptionGroup var choice: ServerOptions
    @OptionGroup(visibility: .hidden) var old: OldHostOption

    var flags: SettingsFlags { choice.flags }

    /// The host to filter by, in the form used by the store; nil for all.
    ///
    /// - Throws: `ServerURLError`; `UserFacingError` (usage) if two servers are specified.
    func scope(_ settings: SettingsSession) throws -> String? { try old.scope(choice, settings) }
}

/// `--server` as a filter, or all servers.
struct ServersOptions: ParsableArguments, ConnectionFlags {
    @OptionGroup var filter: ServerFilterOptions

    @Flag(help: "All servers (default for list and export).")
    var all = false

    @Flag(help: .hidden)
    var allHosts = false

    var flags: SettingsFlags { filter.flags }

    var isAll: Bool { all || allHosts }

    var isOne: Bool { filter.choice.server != nil || filter.old.host != nil }

    func validate() throws {
        try require(!isAll || !isOne, "--server cannot be combined with --all.")
    }

    /// The host to filter by, as for `ServerFilterOptions.scope`.
    func scope(_ settings: SettingsSession) throws -> String? {
        if allHosts { settings.console.note(Deprecated.note("--all-hosts", use: "--all")) }
        return isAll ? nil : try filter.scope(settings)
    }
}

/// The 0.1.0 name of `--server` as a filter.
struct OldHostOption: ParsableArguments {
    @Option(help: .hidden)
    var host: String?

    /// The host of `--server`, `--profile` or the old option.
    ///
    /// - Throws: `ServerURLError`; `UserFacingError` (usage) if two servers are specified.
    func scope(_ choice: ServerOptions, _ settings: SettingsSession) throws -> String? {
        guard let host = host?.lowercased() else { return try choice.scope(settings) }
        let scope = try choice.scope
        settings.console.note(Deprecated.note("--host", use: "--server"))
        if let scope, scope != host {
            let server = ErrorCatalog.clean(choice.server ?? scope)
            throw UserFacingError.usage(
                "--host \(ErrorCatalog.clean(host)) and --server \(server) are different servers",
                hint: "omit --host, which is the old name of --server"
            )
        }
        return host
    }
}

/// Old names of options and settings, which are accepted for one release.
enum Deprecated {
    static func note(_ old: String, use new: String) -> String { "\(old) is deprecated; use \(new)" }
}
