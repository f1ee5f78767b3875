internal import ArgumentParser

/// Which capture server, and how it is talked to. It knows its devices by their signatures.
struct CaptureConnectionOptions: ParsableArguments, ConnectionFlags {
    @OptionGroup var choice: ServerOptions

    @Option(
        help: ArgumentHelp(
            "How the server reads captures: mediactl-1 (by default) or reference.",
            valueName: "profile"
        )
    )
    var captureProfile: String?

    @OptionGroup var network: NetworkOptions

    var flags: SettingsFlags {
        var flags = network.adding(to: choice.flags)
        flags.captureProfile = captureProfile
        return flags
    }
}

/// How servers are talked to that records name themselves.
struct NetworkConnectionOptions: ParsableArguments, ConnectionFlags {
    @OptionGroup var named: ProfileOptions

    @OptionGroup var network: NetworkOptions

    var flags: SettingsFlags { network.adding(to: SettingsFlags(profile: named.profile)) }
}

/// For commands that ask no server.
struct NoConnectionOptions: ParsableArguments, ConnectionFlags {
    @OptionGroup var named: ProfileOptions

    var flags: SettingsFlags { SettingsFlags(profile: named.profile) }
}
