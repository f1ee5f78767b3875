public import ArgumentParser

/// The `mediactl` command line.
public struct MediactlCommand: AsyncParsableCommand {
    /// Name and abstract.
    public static let configuration = CommandConfiguration(commandName: "mediactl")
    /// Made by the parser.
    public init() {}
}
