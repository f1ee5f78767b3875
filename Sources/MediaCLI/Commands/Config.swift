internal import ArgumentParser

/// `mediactl config …`
struct Config: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Settings and where they come from.",
        subcommands: [ConfigShow.self]
    )
}
