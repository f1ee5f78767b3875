internal import ArgumentParser
internal import Foundation

/// Everything a command reads or writes outside itself. Tests pass their own.
struct CommandContext: Sendable {
    var environment: [String: String]
    /// The base of relative paths.
    var workingDirectory: String
    var standardInput: Int32
    var output: Output
    var errors: Output
    var terminal: Terminal
    /// The wall clock.
    var now: @Sendable () -> Date
    /// The monotonic clock.
    var elapsed: @Sendable () -> Duration
    var interruption: Interruption
    /// Without the program name.
    var arguments: [String] = []

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

/// A command of `mediactl`: parsed by ArgumentParser, run by `Program` with its context.
protocol ContextCommand: ParsableCommand {
    static var schema: String { get }

    /// The schema of the records of this run; `schema` unless the command has several forms.
    var recordSchema: String { get }

    var global: GlobalOptions { get }

    associatedtype Connection: ConnectionFlags = NoConnectionOptions
    /// The connection options of the command.
    var connection: Connection { get }

    /// A thrown error ends the whole command.
    func run(in console: Console) async throws -> ExitCode
}

extension ContextCommand {
    var recordSchema: String { Self.schema }
}

extension ContextCommand where Connection == NoConnectionOptions {
    var connection: NoConnectionOptions { NoConnectionOptions() }
}
