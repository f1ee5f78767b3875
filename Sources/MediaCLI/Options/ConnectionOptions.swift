internal import ArgumentParser

/// Flags about the server; each command has those that concern it.
protocol ConnectionFlags {
    /// What they say, where nothing is said nil.
    var flags: SettingsFlags { get }
}

/// Which server uploads go to, and how it is talked to.
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
        flags.user = identity.user
        flags.finishTimeout = finishTimeout
        flags.settleTimeout = settleTimeout
        return flags
    }
}

/// Which user. One type for all commands: the parser hands on by type what stood before the command.
struct UserOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Log in as this user: uploader or admin on most servers.",
            valueName: "name"
        )
    )
    var user: String?
}
