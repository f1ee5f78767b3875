internal import ArgumentParser

/// `mediactl hash-only settings …`
struct HashOnlySettings: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "settings",
        abstract: "Show or change how much captures tell.",
        discussion: """
            They lie in a file of their own, hash-only.json beside the settings file. As long as it cannot be read, nothing \
            is sent.

            Examples:
              mediactl hash-only settings show
              mediactl hash-only settings set location none
            """,
        subcommands: [HashOnlySettingsShow.self, HashOnlySettingsSet.self],
        defaultSubcommand: HashOnlySettingsShow.self
    )
}
