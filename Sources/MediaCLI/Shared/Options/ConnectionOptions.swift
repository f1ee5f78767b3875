internal import ArgumentParser

/// Connection flags; each command has those that apply to it.
protocol ConnectionFlags {
    /// nil for flags that are not given.
    var flags: SettingsFlags { get }
}

/// The upload server and its connection.
struct ConnectionOptions: ParsableArguments, ConnectionFlags {
    @OptionGroup var choice: ServerOptions

    @OptionGroup var identity: UserOptions

    @OptionGroup var network: NetworkOptions

    @Option(
        help: ArgumentHelp(
            "Grace period after SIGTERM or SIGHUP to wait for the response (default: 30s).",
            valueName: "time"
        )
    )
    var finishTimeout: String?

    @Option(
        help: ArgumentHelp(
            "Maximum time to query the server after a lost response, or to wait for a locked upload (default: 330s).",
            valueName: "time"
        )
    )
    var settleTimeout: String?

    var flags: SettingsFlags {
        var flags = network.adding(to: choice.flags)
        flags.add([.user: identity.user, .finishTimeout: finishTimeout, .settleTimeout: settleTimeout])
        return flags
    }
}

/// One type for all commands: the parser passes on by type what precedes the command.
struct UserOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Log in as this user: uploader or admin on most servers.",
            valueName: "name"
        )
    )
    var user: String?
}

/// For commands whose servers come from records.
struct NetworkConnectionOptions: ParsableArguments, ConnectionFlags {
    @OptionGroup var named: ProfileOptions

    @OptionGroup var network: NetworkOptions

    var flags: SettingsFlags { network.adding(to: SettingsFlags(profile: named.profile)) }
}

/// For commands that store something about a server without a request.
struct ServerChoiceOptions: ParsableArguments, ConnectionFlags {
    @OptionGroup var choice: ServerOptions

    var flags: SettingsFlags { choice.flags }
}

/// For commands that query no server.
struct NoConnectionOptions: ParsableArguments, ConnectionFlags {
    @OptionGroup var named: ProfileOptions

    var flags: SettingsFlags { SettingsFlags(profile: named.profile) }
}

struct ServerOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Address of the server, https://HOST[:PORT].", valueName: "url"))
    var server: String?

    @OptionGroup var named: ProfileOptions

    var flags: SettingsFlags { SettingsFlags([.server: server], profile: named.profile) }
}

/// One type for all commands: the parser passes on by type what precedes the command.
struct ProfileOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Use this profile from the settings file.", valueName: "name"))
    var profile: String?
}

struct NetworkOptions: ParsableArguments {
    @Option(
        name: .customLong("cacert"),
        help: ArgumentHelp("Trust the CA certificates in this PEM file.", valueName: "file"),
        completion: .file()
    )
    var caFile: String?

    @Option(
        help: ArgumentHelp(
            "Pin the server's public key, sha256//BASE64; replaces certificate chain and hostname verification.",
            valueName: "spec"
        )
    )
    var pinnedKey: String?

    @Flag(help: "Accept any certificate. Others on the network can then read the password or key.")
    var insecure = false

    @Flag(name: .customLong("allow-http"), help: "Allow credentials and tokens over plain http to other machines.")
    var allowHTTP = false

    @Flag(help: "Use HTTP/2 if the server supports it. The default is HTTP/1.1, which is faster for large files.")
    var http2 = false

    @Option(
        help: ArgumentHelp(
            "Maximum time to connect (default: 30s). Times are in seconds, or like 30s, 5m and 1h.",
            valueName: "time"
        )
    )
    var connectTimeout: String?

    @Option(help: ArgumentHelp("Maximum time without data during a transfer (default: 60s).", valueName: "time"))
    var stallTimeout: String?

    @Option(
        help: ArgumentHelp(
            "Maximum time from the last byte sent to the end of the response (default: 600s).",
            valueName: "time"
        )
    )
    var responseTimeout: String?

    @Option(help: .hidden)
    var answerTimeout: String?

    @Option(
        help: ArgumentHelp(
            "Limit bandwidth (bytes per second), for example 500K or 20M (powers of 1024).",
            valueName: "rate"
        )
    )
    var limitRate: String?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Number of retries for idempotent requests (default: 3).", valueName: "n")
    )
    var retries: String?

    func validate() throws {
        guard !insecure || caFile == nil else {
            throw ValidationError("--insecure cannot be combined with --cacert.")
        }
        guard answerTimeout == nil || responseTimeout == nil else {
            throw ValidationError("--answer-timeout is the old name of --response-timeout; use only one of them.")
        }
    }

    func adding(to flags: SettingsFlags) -> SettingsFlags {
        var flags = flags
        flags.add([
            .caFile: caFile, .pinnedKey: pinnedKey, .insecure: insecure ? "true" : nil,
            .allowHTTP: allowHTTP ? "true" : nil, .http2: http2 ? "true" : nil, .connectTimeout: connectTimeout,
            .stallTimeout: stallTimeout, .responseTimeout: responseTimeout ?? answerTimeout, .limitRate: limitRate,
            .retries: retries,
        ])
        if answerTimeout != nil { flags.deprecated.append("--answer-timeout is deprecated; use --response-timeout") }
        return flags
    }
}
