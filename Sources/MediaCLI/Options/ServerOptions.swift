internal import ArgumentParser

/// Which server.
struct ServerOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Address of the server, https://HOST[:PORT].", valueName: "url"))
    var server: String?

    @OptionGroup var named: ProfileOptions

    var flags: SettingsFlags { SettingsFlags(server: server, profile: named.profile) }
}

/// Which profile of the settings. One type for all commands: the parser hands on by type what stood before the command.
struct ProfileOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Use this profile from the settings file.", valueName: "name"))
    var profile: String?
}
