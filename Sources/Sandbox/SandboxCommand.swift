public import ArgumentParser

/// The sandbox server's command line.
public struct SandboxCommand: AsyncParsableCommand {
    /// Name and abstract.
    public static let configuration = CommandConfiguration(commandName: "mediactl-sandbox")
    /// Made by the parser.
    public init() {}
}
