internal import ArgumentParser

/// A command of `mediactl`: parsed by ArgumentParser, run by `Program` with its surroundings.
protocol ContextCommand: ParsableCommand {
    /// The schema of its JSON records.
    static var schema: String { get }

    var global: GlobalOptions { get }

    /// Does the work, and tells how it ended. An error that is thrown ends the command as a whole.
    func run(in console: Console) async throws -> ExitCode
}
