internal import ArgumentParser

/// Flags about the server; each command has those that concern it.
protocol ConnectionFlags {
    /// What they say, where nothing is said nil.
    var flags: SettingsFlags { get }
}

/// Which server uploads go to, and how it is talked to.
struct ConnectionOptions: ParsableArguments, ConnectionFlags {
    @OptionGroup var choice: ServerOptions

    @Option(help: ArgumentHelp("Log in as this user: uploader or admin on most servers.", valueName: "name"))
    var user: String?

    @OptionGroup var network: NetworkOptions

    @Option(
        help: ArgumentHelp(
            "How long SIGTERM and SIGHUP still wait for the answer after the last byte, 30s by default.",
            valueName: "time"
        )
    )
    var finishTimeout: String?

    @Option(
        help: ArgumentHelp(
            "How long a server is asked for a file whose answer was lost, 330s by default. It may still be storing it.",
            valueName: "time"
        )
    )
    var settleTimeout: String?

    var flags: SettingsFlags {
        var flags = network.adding(to: choice.flags)
        flags.user = user
        flags.finishTimeout = finishTimeout
        flags.settleTimeout = settleTimeout
        return flags
    }
}
