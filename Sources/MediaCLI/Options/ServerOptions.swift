internal import ArgumentParser

/// Which server.
struct ServerOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Address of the server, https://HOST[:PORT].", valueName: "url"))
    var server: String?

    @Option(help: ArgumentHelp("Use this profile of the settings file.", valueName: "name"))
    var profile: String?

    var flags: SettingsFlags { SettingsFlags(server: server, profile: profile) }
}
