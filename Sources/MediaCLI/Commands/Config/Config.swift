internal import ArgumentParser

/// `mediactl config …`
struct Config: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show settings, and where they come from.",
        discussion: """
            Examples:
              mediactl config show
              mediactl config show --profile stage
            """,
        subcommands: [ConfigShow.self]
    )
}
