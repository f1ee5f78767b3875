internal import Foundation

/// Runs one of this package's executables as a user would, in a separate environment without the developer's
/// settings, credentials or data.
public struct BinaryRunner: Sendable {
    /// The executable's path.
    public var executable: String
    /// `HOME`, which contains the XDG directories; exists as long as the runner and its children.
    public let home: TemporaryDirectory
    /// The whole environment of the child.
    public var environment: [String: String]

    /// Finds an executable next to the test bundle, or `mediactl` at the path in `MEDIACTL_BINARY`.
    ///
    /// - Parameter name: The product's name, for example `mediactl`.
    /// - Throws: An error if no temporary directory can be created.
    public init(_ name: String = "mediactl") throws {
        executable = BuiltProgram.path(name)
        home = try TemporaryDirectory()
        let sanitizers = ProcessInfo.processInfo.environment.filter { $0.key.hasSuffix("SAN_OPTIONS") }
        environment = sanitizers.merging([
            "PATH": "/usr/bin:/bin", "HOME": home.path, "LANG": "C.UTF-8", "TZ": "UTC", "TERM": "dumb",
            "XDG_CONFIG_HOME": home.file("config"), "XDG_DATA_HOME": home.file("data"),
            "XDG_STATE_HOME": home.file("state"), "XDG_CACHE_HOME": home.file("cache"),
        ]) { $1 }
    }

    /// Starts the executable.
    ///
    /// - Parameters:
    ///   - arguments: Without the program's name.
    ///   - streams: The standard streams.
    ///   - extra: Environment variables added to, or replacing, those of the runner.
    ///   - wrapper: A program that runs the executable, with its arguments; the child is then that program.
    /// - Returns: The running child.
    /// - Throws: ``ChildError`` if it cannot be started.
    public func start(
        _ arguments: [String],
        streams: ChildStreams = .pipes,
        extra: [String: String] = [:],
        through wrapper: [String] = []
    ) throws -> ChildProcess {
        let variables = environment.merging(extra) { $1 }
        let words = wrapper + [BuiltProgram.path(executable, environment: variables)] + arguments
        return try ChildProcess(
            words[0],
            Array(words.dropFirst()),
            environment: variables,
            streams: streams,
            home: home
        )
    }

    /// Runs the executable to completion.
    ///
    /// - Parameters:
    ///   - arguments: Without the program's name.
    ///   - input: The content of standard input.
    ///   - streams: The standard streams.
    ///   - extra: Environment variables added to, or replacing, those of the runner.
    ///   - wrapper: A program that runs the executable, with its arguments.
    ///   - deadline: The time after which the child is killed.
    /// - Returns: Its output and exit status.
    /// - Throws: ``ChildError``.
    public func run(
        _ arguments: [String],
        input: String = "",
        streams: ChildStreams = .pipes,
        extra: [String: String] = [:],
        through wrapper: [String] = [],
        deadline: Duration = .seconds(120)
    ) async throws -> ChildResult {
        let child = try start(arguments, streams: streams, extra: extra, through: wrapper)
        child.write(input)
        child.closeInput()
        return try await child.finish(deadline: deadline)
    }

    /// Runs the executable to completion with arguments that need not be UTF-8.
    ///
    /// - Parameter rawArguments: Without the program's name.
    /// - Returns: Its output and exit status.
    /// - Throws: ``ChildError``.
    public func run(rawArguments: [[UInt8]]) async throws -> ChildResult {
        try await ChildProcess(executable, rawArguments: rawArguments, environment: environment, home: home).finish()
    }
}
