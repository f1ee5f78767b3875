/// Asks for a password on the controlling terminal.
enum PasswordPrompt {
    /// Reads one line from `/dev/tty` with echo off; the terminal is restored on every way out, signals included.
    ///
    /// - Parameter question: Shown as is, on the terminal.
    static func ask(_ question: String) async throws(CredentialError) -> String {
        throw CredentialError(exitCode: 4, message: "not implemented")
    }
}
