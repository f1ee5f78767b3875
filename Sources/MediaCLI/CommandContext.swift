internal import ArgumentParser
internal import Foundation

/// Everything a command touches outside itself. Tests pass their own; nothing else reads the process's surroundings.
struct CommandContext: Sendable {
    var environment: [String: String]
    /// Where relative paths begin.
    var workingDirectory: String
    /// The descriptor of standard input.
    var standardInput: Int32
    /// Results.
    var output: Output
    /// Progress, prompts, warnings and errors.
    var errors: Output
    var terminal: Terminal
    /// The wall clock.
    var now: @Sendable () -> Date
    /// The monotonic clock.
    var elapsed: @Sendable () -> Duration
    /// What the user wants stopped.
    var interruption: Interruption
    /// The command line, without the name of the program.
    var arguments: [String] = []

    /// The surroundings of this process.
    static func process(interruption: Interruption) -> CommandContext {
        let start = ContinuousClock.now
        return CommandContext(
            environment: ProcessInfo.processInfo.environment,
            workingDirectory: FileManager.default.currentDirectoryPath,
            standardInput: STDIN_FILENO,
            output: Output(STDOUT_FILENO),
            errors: Output(STDERR_FILENO),
            terminal: .process(),
            now: { Date() },
            elapsed: { ContinuousClock.now - start },
            interruption: interruption
        )
    }
}

/// A command of `mediactl`: parsed by ArgumentParser, run by `Program` with its surroundings.
protocol ContextCommand: ParsableCommand {
    /// The schema of its JSON records.
    static var schema: String { get }

    var global: GlobalOptions { get }

    /// Does the work, and tells how it ended. An error that is thrown ends the command as a whole.
    func run(in console: Console) async throws -> ExitCode
}
