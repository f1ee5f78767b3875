internal import MediaCore
internal import MediaFiles

/// The program of `password_command`: its first line of output is the password.
struct PasswordCommand: Sendable {
    /// Program and arguments; no shell sees them.
    var arguments: [String]
    /// `PATH`: where a program without a slash is looked for.
    var searchPath: String

    /// Runs it with no standard input; what it says on standard error is the user's to read.
    ///
    /// Cancelling terminates the program.
    ///
    /// - Throws: `CredentialError` when it cannot be run, fails, or prints nothing.
    func run() async throws(CredentialError) -> String {
        let result: ProgramResult
        do {
            result = try await ProgramRun(arguments, searchPath: searchPath).run()
        } catch {
            throw failure(error.detail)
        }
        if let words = result.failure { throw failure(words) }
        guard let text = String(validating: result.output, as: UTF8.self) else {
            throw failure("printed invalid UTF-8")
        }
        let line = text.prefix { $0 != "\n" && $0 != "\r\n" }
        guard !line.isEmpty else { throw failure("printed no password") }
        return String(line)
    }

    /// Arguments may be telling, so that only the program is named.
    private func failure(_ what: String) -> CredentialError {
        let name = TerminalText.escaped(arguments.first ?? "")
        return .notAuthenticated("password_command \"\(name)\" \(what)", hint: "run it manually to find the problem")
    }
}
