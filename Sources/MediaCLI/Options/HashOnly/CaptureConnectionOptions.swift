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
