internal import ArgumentParser
internal import Foundation

/// Everything external that a command reads or writes. Tests pass their own context.
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
    /// The arguments, without the program name.
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

    /// The schema of this run's records; `schema` unless the command has several forms.
    var recordSchema: String { get }

    var global: GlobalOptions { get }

    associatedtype Connection: ConnectionFlags = SettingsFlags
    /// The connection options of the command; none by default.
    var connection: Connection { get }

    /// A thrown error ends the whole command.
    func run(in console: Console) async throws -> ExitCode
}

extension ContextCommand {
    var recordSchema: String { Self.schema }

    static var hintKeys: [SettingKey] { Connection.hintKeys }
}

extension ContextCommand where Connection == SettingsFlags {
    var connection: SettingsFlags { SettingsFlags() }
}

/// A command for a photo or capture server, about logins, or for an upload that is not in the token store yet. Its server
/// is not in the token store, so a printed command includes the `--server` of the command that prints it.
protocol ServerCommand: ContextCommand {}

/// A command for files on an upload server. If a hint ends with such a command, the `--server` and `--user` of the
/// command that prints the hint are added.
protocol UploadServerCommand: ContextCommand {
    var credentials: CredentialOptions { get }
    var connection: ConnectionOptions { get }
}

/// A command whose `--server` or `--profile` selects stored uploads or captures. If the command line has both options, a
/// printed command needs both, because `--profile` alone would select those of the profile's server.
protocol ServerFilterCommand: ContextCommand {}

extension ParsableCommand {
    static func subcommand(_ name: some StringProtocol) -> (any ParsableCommand.Type)? {
        configuration.subcommands.first { $0._commandName == name }
    }

    /// The command at the beginning of a text that follows `mediactl`, for example `sync, then …`, and where its name
    /// ends; nil if there is no command.
    static func printed(_ text: Substring) -> (command: any ParsableCommand.Type, end: Substring.Index)? {
        let names = text.prefixMatch(of: /[a-z-]+(?: [a-z-]+)*/)?.0.split(separator: " ") ?? []
        var command: (any ParsableCommand.Type)?
        var end = text.startIndex
        for name in names {
            guard let next = (command ?? self).subcommand(name) else { break }
            command = next
            end = name.endIndex
        }
        guard let command else { return nil }
        return (command.configuration.defaultSubcommand ?? command, end)
    }
}
