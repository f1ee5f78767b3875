internal import Foundation

/// Runs one of this package's executables as a user would, in an environment of its own: nothing of the developer's
/// settings, credentials or data can reach it.
public struct BinaryRunner: Sendable {
    /// The executable's path.
    public let executable: String
    /// Holds `HOME` and the XDG directories; lives as long as the runner.
    public let home: TemporaryDirectory
    /// The whole environment of the child.
    public var environment: [String: String]

    /// Finds an executable beside the test bundle.
    ///
    /// - Parameter name: The product's name, for example `mediactl`.
    /// - Throws: When no temporary directory can be made.
    public init(_ name: String = "mediactl") throws {
        executable = Bundle.main.bundleURL.appendingPathComponent(name).path
        home = try TemporaryDirectory()
        environment = [
            "PATH": "/usr/bin:/bin", "HOME": home.path, "LANG": "C.UTF-8", "TZ": "UTC", "TERM": "dumb",
            "XDG_CONFIG_HOME": home.file("config"), "XDG_DATA_HOME": home.file("data"),
            "XDG_STATE_HOME": home.file("state"), "XDG_CACHE_HOME": home.file("cache"),
        ]
    }

    /// How the child's standard streams are connected.
    public enum Streams: Sendable {
        /// Three pipes.
        case pipes
        /// A terminal of its own for all three, which is also the controlling one.
        case terminal(columns: UInt16)
        /// Pipes, but nobody reads standard output any more.
        case closedOutput
        /// Pipes, but standard output is this file.
        case outputFile(String)
    }

    /// Starts the executable.
    ///
    /// - Parameters:
    ///   - arguments: Without the program's name.
    ///   - streams: The standard streams.
    ///   - extra: Environment variables added to, or replacing, those of the runner.
    ///   - wrapper: A program, by its path, and its arguments, that runs the executable; the child is then this one.
    /// - Returns: The running child.
    /// - Throws: `BinaryError` when it cannot be started.
    public func start(
        _ arguments: [String],
        streams: Streams = .pipes,
        extra: [String: String] = [:],
        through wrapper: [String] = []
    ) throws -> RunningBinary {
        let words = wrapper + [executable] + arguments
        return try RunningBinary(
            executable: words[0],
            arguments: words.dropFirst().map { Array($0.utf8) },
            environment: environment.merging(extra) { $1 },
            streams: streams
        )
    }

    /// Runs the executable to its end.
    ///
    /// - Parameters:
    ///   - arguments: Without the program's name.
    ///   - input: What standard input yields before its end.
    ///   - streams: The standard streams.
    ///   - extra: Environment variables added to, or replacing, those of the runner.
    ///   - wrapper: A program, by its path, and its arguments, that runs the executable.
    ///   - deadline: The child is killed after it.
    /// - Returns: What it wrote and how it ended.
    /// - Throws: `BinaryError`.
    public func run(
        _ arguments: [String],
        input: String = "",
        streams: Streams = .pipes,
        extra: [String: String] = [:],
        through wrapper: [String] = [],
        deadline: Duration = .seconds(60)
    ) async throws -> BinaryResult {
        let child = try start(arguments, streams: streams, extra: extra, through: wrapper)
        child.write(input)
        child.closeInput()
        return try await child.finish(deadline: deadline)
    }

    /// Runs the executable to its end with arguments that need not be UTF-8.
    ///
    /// - Parameter rawArguments: Without the program's name.
    /// - Returns: What it wrote and how it ended.
    /// - Throws: `BinaryError`.
    public func run(rawArguments: [[UInt8]]) async throws -> BinaryResult {
        let child = try RunningBinary(
            executable: executable,
            arguments: rawArguments,
            environment: environment,
            streams: .pipes
        )
        child.closeInput()
        return try await child.finish()
    }
}

/// What an executable wrote, and how it ended.
public struct BinaryResult: Sendable {
    /// Standard output; of a terminal, everything shown.
    public var output: String
    /// Standard error; empty when it was a terminal.
    public var errors: String
    /// The exit code; nil when a signal ended it.
    public var exitCode: Int32?
    /// The signal that ended it.
    public var signal: Int32?

    /// The lines of standard output that are not empty; a terminal ends them with CR and LF.
    public var lines: [String] { output.split(whereSeparator: \.isNewline).map(String.init) }
}

/// Why a child could not be run.
public enum BinaryError: Error, Sendable, Equatable {
    /// The system refused; holds `errno`.
    case cannotStart(Int32)
    /// The deadline passed before the text appeared; holds what was written so far.
    case neverSaid(String, soFar: String)
    /// The deadline passed before the child ended; it was killed.
    case neverEnded(soFar: String)
}
