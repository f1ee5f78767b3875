internal import ArgumentParser
internal import MediaTransport

/// Connection flags; each command has those that apply to it.
protocol ConnectionFlags {
    /// nil for flags that were not given.
    var flags: SettingsFlags { get }

    /// The flags other than `--server` that select a library or a server, and are therefore added to printed commands.
    static var hintKeys: [SettingKey] { get }
}

extension ConnectionFlags {
    static var hintKeys: [SettingKey] { [] }
}

/// The upload server and its connection.
struct ConnectionOptions: ParsableArguments, ConnectionFlags {
    @OptionGroup var choice: ServerOptions

    @OptionGroup var identity: UserOptions

    @OptionGroup var network: NetworkOptions

    // These values are rarely needed and available only as settings; the 0.1.0 options are accepted for one release.
    @Option(help: .hidden)
    var finishTimeout: String?

    @Option(help: .hidden)
    var settleTimeout: String?

    var flags: SettingsFlags {
        let settingsOnly = [SettingKey.finishTimeout: finishTimeout, .settleTimeout: settleTimeout]
        var flags = choice.flags + network.flags + identity.flags + SettingsFlags(settingsOnly)
        for (key, text) in settingsOnly.sorted(by: { $0.key.rawValue < $1.key.rawValue }) where text != nil {
            flags.deprecated.append(Deprecated.note(key.flag, use: "the setting \(key.rawValue)"))
        }
        return flags
    }
}

/// One type for all commands: the parser uses the type to pass on options that precede the command.
struct UserOptions: ParsableArguments, ConnectionFlags {
    @Option("Log in as this user: uploader or admin on most servers.", value: "name")
    var user: String?

    var flags: SettingsFlags { SettingsFlags([.user: user]) }
}

/// A server and connection options, without a user name.
struct ServerConnectionOptions: ParsableArguments, ConnectionFlags {
    @OptionGroup var choice: ServerOptions
    @OptionGroup var network: NetworkOptions

    var flags: SettingsFlags { choice.flags + network.flags }
}

/// A server. Commands with no other connection options send no requests: the server selects local data, or is stored
/// with it.
struct ServerOptions: ParsableArguments, ConnectionFlags {
    @Option("Address of the server, https://HOST[:PORT].", value: "url")
    var server: String?

    @OptionGroup var named: ProfileOptions

    var flags: SettingsFlags { SettingsFlags([.server: server], profile: named.profile) }

    /// The host of `--server`, for commands where it is also a filter; nil for all hosts.
    var scope: String? {
        get throws(ServerURLError) {
            guard let server else { return nil }
            return try ServerURL(server, allowingPath: true).scope
        }
    }

    /// The host of `--server`, otherwise the host of the server to use with `--profile`; nil for all hosts.
    func scope(_ settings: SettingsSession, of service: SettingKey = .uploadsURL) throws -> String? {
        guard server == nil, named.profile != nil else { return try scope }
        // The environment takes precedence over a profile, but does not filter.
        if case .environment? = settings.settings.addresses[service]?.origin { return nil }
        return try settings.configuredServer(of: service, allowingPath: true)?.scope
    }
}

/// One type for all commands: the parser uses the type to pass on options that precede the command.
struct ProfileOptions: ParsableArguments, ConnectionFlags {
    @Option("Use this profile from the settings file.", value: "name")
    var profile: String?

    var flags: SettingsFlags { SettingsFlags(profile: profile) }
}

/// Connection options of commands that upload files.
struct UploadConnectionOptions<Base: ParsableArguments & ConnectionFlags>: ParsableArguments, ConnectionFlags {
    @OptionGroup var base: Base
    @OptionGroup var rate: RateOptions

    var flags: SettingsFlags { base.flags + rate.flags }

    static var hintKeys: [SettingKey] { Base.hintKeys }
}

/// Bandwidth of uploads.
struct RateOptions: ParsableArguments, ConnectionFlags {
    @Option(
        "Limit the bandwidth of uploads (bytes per second), for example 500K or 20M (powers of 1024).",
        value: "rate"
    )
    var limitRate: String?

    var flags: SettingsFlags { SettingsFlags([.limitRate: limitRate]) }
}

struct NetworkOptions: ParsableArguments, ConnectionFlags {
    @OptionGroup var protection: ProtocolOptions
    @OptionGroup var limits: TimeoutOptions

    var flags: SettingsFlags { protection.flags + limits.flags }
}

/// TLS and HTTP.
struct ProtocolOptions: ParsableArguments, ConnectionFlags {
    @Option("Trust the CA certificates in this PEM file.", value: .file, name: .customLong("cacert"))
    var caFile: String?

    @Option(
        "Pin the server's public key, sha256//BASE64; replaces certificate chain and hostname verification.",
        value: "spec"
    )
    var pinnedKey: String?

    @Flag(help: "Accept any certificate. Others on the network can then read the password or key.")
    var insecure = false

    @Flag(name: .customLong("allow-http"), help: "Allow credentials and tokens over plain http to other machines.")
    var allowHTTP = false

    @Flag(help: "Use HTTP/2 if the server supports it. The default is HTTP/1.1, which is faster for large files.")
    var http2 = false

    func validate() throws {
        try require(!insecure || caFile == nil, "--insecure cannot be combined with --cacert.")
    }

    var flags: SettingsFlags {
        SettingsFlags([
            .caFile: caFile, .pinnedKey: pinnedKey, .insecure: insecure ? "true" : nil,
            .allowHTTP: allowHTTP ? "true" : nil, .http2: http2 ? "true" : nil,
        ])
    }
}

struct TimeoutOptions: ParsableArguments, ConnectionFlags {
    @Option("Maximum time to connect (default: 30s). Times are in seconds, or have a unit: 30s, 5m, 1h.", value: "time")
    var connectTimeout: String?

    @Option("Maximum time without data during a transfer (default: 60s).", value: "time")
    var stallTimeout: String?

    @Option("Maximum time from the last byte sent to the end of the response (default: 600s).", value: "time")
    var responseTimeout: String?

    @Option(help: .hidden)
    var answerTimeout: String?

    @Option(
        "Number of retries for idempotent requests (default: 3; sync commands and upload --watch retry for up to 2 minutes).",
        value: "n",
        parsing: .unconditional
    )
    var retries: String?

    func validate() throws {
        try require(
            responseTimeout == nil || answerTimeout == nil,
            "--answer-timeout is the old name of --response-timeout; use only one of them."
        )
    }

    var flags: SettingsFlags {
        var flags = SettingsFlags([
            .connectTimeout: connectTimeout, .stallTimeout: stallTimeout,
            .responseTimeout: responseTimeout ?? answerTimeout, .retries: retries,
        ])
        if answerTimeout != nil {
            flags.deprecated.append(Deprecated.note("--answer-timeout", use: "--response-timeout"))
        }
        return flags
    }
}
