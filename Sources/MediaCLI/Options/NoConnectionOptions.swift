internal import ArgumentParser

/// How servers are talked to that records name themselves.
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

/// For commands that ask no server.
struct NoConnectionOptions: ParsableArguments, ConnectionFlags {
    @OptionGroup var named: ProfileOptions

    var flags: SettingsFlags { SettingsFlags(profile: named.profile) }
}
