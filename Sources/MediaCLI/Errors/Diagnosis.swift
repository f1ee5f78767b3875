/// An error as the user sees it: a stable code, one line, what to do next, and how the program ends.
struct Diagnosis: Error, Sendable, Equatable {
    /// Stable, snake_case; part of the JSON output.
    var code: String
    /// One line: lower case, no full stop. Foreign text in it is escaped already.
    var message: String
    /// More of what went wrong, a line each, when it is more than one thing.
    var details: [String] = []
    /// What to do next, one line.
    var hint: String?
    /// How the program ends when nothing else happens.
    var exitCode: ExitCode
    /// Status of the server's answer, when there was one.
    var httpStatus: Int?
    /// Whether the same command may succeed later.
    var isRetryable = false

    init(
        _ code: String,
        _ message: String,
        hint: String? = nil,
        exitCode: ExitCode,
        httpStatus: Int? = nil,
        isRetryable: Bool = false
    ) {
        self.code = code
        self.message = message
        self.hint = hint
        self.exitCode = exitCode
        self.httpStatus = httpStatus
        self.isRetryable = isRetryable
    }

    /// Wrong usage that the parser cannot see.
    static func usage(_ message: String, hint: String? = nil) -> Diagnosis {
        Diagnosis("usage", message, hint: hint, exitCode: .usage)
    }

    /// The same about a file, which the message names.
    func naming(_ path: [UInt8]) -> Diagnosis {
        let name = ErrorCatalogue.quoted(path)
        guard !message.contains(name) else { return self }
        var named = self
        named.message = "\(name): \(message)"
        return named
    }
}
