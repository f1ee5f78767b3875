internal import Foundation

/// Prompts for a password or a user name on the controlling terminal.
enum PasswordPrompt {
    /// Whether the input is echoed on the terminal.
    enum Echo: Sendable {
        /// For secrets.
        case hidden
        case shown
    }

    /// Reads one line.
    ///
    /// Cancelling ends the question. The terminal is restored on every way out: the keys that would stop the program or
    /// end it with a core dump (Ctrl-Z, Ctrl-\) are without effect meanwhile, and Ctrl-C and other signals arrive as
    /// cancellation.
    ///
    /// - Parameters:
    ///   - question: Shown as is, on the terminal.
    ///   - echo: Whether the input is echoed; not for a secret.
    ///   - path: The terminal.
    /// - Returns: The line without its end.
    /// - Throws: `CredentialError` without a terminal, at its end (Ctrl-D), or when cancelled.
    static func ask(
        _ question: String,
        _ echo: Echo = .hidden,
        terminal path: String = "/dev/tty"
    ) async throws(CredentialError) -> String {
        let terminal = open(path, O_RDWR | O_CLOEXEC | O_NOCTTY)
        guard terminal >= 0 else { throw .notAuthenticated("cannot prompt for a login: not a terminal") }
        defer { close(terminal) }
        var wake: [Int32] = [-1, -1]
        guard pipe(&wake) == 0 else { throw .notAuthenticated("cannot prompt for a login") }
        let (wakeReader, wakeWriter) = (wake[0], wake[1])
        for end in wake { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        defer {
            close(wakeReader)
            close(wakeWriter)
        }
        let result: Result<String, CredentialError> = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                Thread.detachNewThread {
                    continuation.resume(returning: read(question, echo, terminal, cancelled: wakeReader))
                }
            }
        } onCancel: {
            // Both ends stay open until the thread has answered.
            _ = write(wakeWriter, "x", 1)
        }
        return try result.get()
    }

    private static func read(
        _ question: String,
        _ echo: Echo,
        _ terminal: Int32,
        cancelled: Int32
    ) -> Result<String, CredentialError> {
        var previous = termios()
        guard tcgetattr(terminal, &previous) == 0 else {
            return .failure(.notAuthenticated("cannot prompt for a login: not a terminal"))
        }
        var asking = previous
        if echo == .hidden { asking.c_lflag &= ~tcflag_t(ECHO) }
        withUnsafeMutableBytes(of: &asking.c_cc) { keys in
            keys[Int(VSUSP)] = 0
            keys[Int(VQUIT)] = 0
        }
        // TCSAFLUSH: what was typed before the question is no answer to it.
        tcsetattr(terminal, TCSAFLUSH, &asking)
        show(question, on: terminal)
        var isWhole = false
        defer {
            tcsetattr(terminal, TCSAFLUSH, &previous)
            // Echoed input includes its line break, unless it was interrupted.
            if echo == .hidden || !isWhole { show("\n", on: terminal) }
        }
        let result = readLine(terminal, cancelled: cancelled)
        if case .success = result { isWhole = true }
        return result
    }

    private static func readLine(_ terminal: Int32, cancelled: Int32) -> Result<String, CredentialError> {
        var line: [UInt8] = []
        while true {
            var ready = [
                pollfd(fd: cancelled, events: Int16(POLLIN), revents: 0),
                pollfd(fd: terminal, events: Int16(POLLIN), revents: 0),
            ]
            if poll(&ready, 2, -1) < 0, errno != EINTR { break }
            if ready[0].revents != 0 { return .failure(CredentialError(exitCode: 130, message: "interrupted")) }
            guard ready[1].revents != 0 else { continue }
            var byte: UInt8 = 0
            let got = Foundation.read(terminal, &byte, 1)
            if got < 0, errno == EINTR { continue }
            guard got == 1 else { break }
            if byte == UInt8(ascii: "\n") { return .success(String(decoding: line, as: UTF8.self)) }
            line.append(byte)
        }
        return .failure(.notAuthenticated("nothing was entered"))
    }

    private static func show(_ text: String, on terminal: Int32) {
        let bytes = Array(text.utf8)
        _ = write(terminal, bytes, bytes.count)
    }
}
