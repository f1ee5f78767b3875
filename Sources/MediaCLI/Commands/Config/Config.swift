internal import ArgumentParser

/// `mediactl config …`
struct Config: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show settings, and where they come from.",
        subcommands: [ConfigShow.self]
    )
}
