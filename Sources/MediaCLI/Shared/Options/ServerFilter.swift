internal import ArgumentParser

/// `--server` as a filter of what is stored on this machine. Only the flag filters; the environment and profiles never do.
struct ServerFilterOptions: ParsableArguments, ConnectionFlags {
    @OptionGroup var choice: ServerOptions
    @OptionGroup(visibility: .hidden) var old: OldHostOption

    var flags: SettingsFlags { choice.flags }

    /// The host to filter by, as the store has it; nil for all.
    ///
    /// - Throws: `ServerURLError`; `Diagnosis` (usage) for two servers.
    func scope(_ console: Console) throws -> String? { try old.scope(choice, console) }
}

/// `--server` as a filter, or all servers.
struct ServersOptions: ParsableArguments, ConnectionFlags {
    @OptionGroup var filter: ServerFilterOptions

    @Flag(help: "All servers; the default of list and export.")
    var all = false

    @Flag(help: .hidden)
    var allHosts = false

    var flags: SettingsFlags { filter.flags }

    var isAll: Bool { all || allHosts }

    var isOne: Bool { filter.choice.server != nil || filter.old.host != nil }

    func validate() throws {
        try require(!isAll || !isOne, "--server cannot be combined with --all.")
    }

    /// As `ServerFilterOptions.scope`.
    func scope(_ console: Console) throws -> String? {
        if allHosts { console.note(Deprecated.note("--all-hosts", use: "--all")) }
        return try filter.scope(console)
    }
}

/// The name of `--server` as a filter in 0.1.0.
struct OldHostOption: ParsableArguments {
    @Option(help: .hidden)
    var host: String?

    /// The host of `--server`, or of the old name.
    ///
    /// - Throws: `ServerURLError`; `Diagnosis` (usage) for two servers.
    func scope(_ choice: ServerOptions, _ console: Console) throws -> String? {
        let scope = try choice.scope
        guard let host = host?.lowercased() else { return scope }
        console.note(Deprecated.note("--host", use: "--server"))
        if let scope, scope != host {
            let server = ErrorCatalog.clean(choice.server ?? scope)
            throw Diagnosis.usage(
                "--host \(ErrorCatalog.clean(host)) and --server \(server) are two servers",
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
