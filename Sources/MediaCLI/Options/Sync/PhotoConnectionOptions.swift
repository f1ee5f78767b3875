internal import ArgumentParser

/// Which photo server, and how it is talked to. Its users are known by their keys.
struct PhotoConnectionOptions: ParsableArguments, ConnectionFlags {
    @OptionGroup var choice: ServerOptions
    @OptionGroup var network: NetworkOptions

    var flags: SettingsFlags { network.adding(to: choice.flags) }
}

/// Which photo server, for commands that ask none.
struct PhotoServerOptions: ParsableArguments, ConnectionFlags {
    @OptionGroup var choice: ServerOptions

    var flags: SettingsFlags { choice.flags }
}
