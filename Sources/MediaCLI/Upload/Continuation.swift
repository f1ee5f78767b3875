/// The command that continues a run after a login, connection or server failure.
struct Continuation: Sendable {
    /// Maximum number of paths repeated in a hint.
    static let maximumPaths = 8
    private static let again = "run the same command again"

    /// The command line, without the program name.
    var arguments: [String]
    /// Number of files or uploads on the command line.
    var pathCount = 0
    /// Whether the command line must not be repeated in a message: it contains a secret, or its input cannot be read
    /// twice.
    var isPrivate = false
    /// The report of the run, for `--retry-failed`.
    var report: String?

    /// The hint, on one line.
    var hint: String {
        guard !isPrivate, !arguments.isEmpty else { return Self.again }
        guard pathCount > Self.maximumPaths else { return Self.line(arguments) }
        guard let report else { return Self.again }
        return Self.again + ", or: " + Self.line(["upload", "--retry-failed", report] + connection)
    }

    private static func line(_ arguments: [String]) -> String {
        (["mediactl"] + arguments.map(ShellWord.quoted)).joined(separator: " ")
    }

    // MARK: Options

    private static let valued: Set<String> = [
        "--server", "--profile", "--user", "--password-file", "--api-key-file", "--cacert", "--pinned-key", "--config",
        "--data-dir", "--event-link-file", "--upload-token-file", "--display-name", "--transport",
    ]
    private static let flags: Set<String> = [
        "--password-stdin", "--insecure", "--allow-http", "--http2", "--accept-terms", "--no-input",
    ]

    /// The server and login options as given.
    private var connection: [String] {
        var kept: [String] = []
        var rest = arguments[...]
        while let argument = rest.popFirst(), argument != "--" {
            if Self.valued.contains(argument) {
                kept += [argument] + (rest.popFirst().map { [$0] } ?? [])
            } else if Self.flags.contains(argument) || Self.valued.contains(where: { argument.hasPrefix($0 + "=") }) {
                kept.append(argument)
            }
        }
        return kept
    }
}
