internal import Foundation
internal import MediaSystem

/// Which streams are terminals, and the terminal's size.
struct Terminal: Sendable {
    var isInputTerminal: Bool
    var isOutputTerminal: Bool
    var isErrorTerminal: Bool
    /// Columns of a descriptor's terminal; measured each time, since windows are resized.
    var columns: @Sendable (Int32) -> Int
    /// Rows of a descriptor's terminal.
    var rows: @Sendable (Int32) -> Int

    static func process() -> Terminal {
        Terminal(
            isInputTerminal: isatty(STDIN_FILENO) == 1,
            isOutputTerminal: isatty(STDOUT_FILENO) == 1,
            isErrorTerminal: isatty(STDERR_FILENO) == 1,
            columns: { measured($0, \.ws_col) ?? 80 },
            rows: { measured($0, \.ws_row) ?? 24 }
        )
    }

    /// Whether prompts are possible.
    var isInteractive: Bool { isInputTerminal && isErrorTerminal }

    private static func measured(_ descriptor: Int32, _ side: KeyPath<winsize, UInt16>) -> Int? {
        var size = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size[keyPath: side] > 0 else { return nil }
        return Int(size[keyPath: side])
    }
}

/// Prompts go to standard error; answers are read from standard input.
struct Prompter: Sendable {
    let context: CommandContext
    /// Whether both streams are terminals and `--no-input` was not given.
    let isAllowed: Bool

    /// Prompts until the input is one of `choices`, in full or abbreviated. End of input or an empty line returns
    /// `fallback`. `shown` replaces the list of answers in the prompt.
    func choose(_ question: String, choices: [String], shown: String? = nil, fallback: String) async -> String {
        while true {
            context.errors.write("\(question) [\(shown ?? choices.joined(separator: "/"))] ")
            guard let line = await readLine() else {
                context.errors.write("\n")
                return fallback
            }
            let choice = line.lowercased().filter { !$0.isWhitespace }
            if choice.isEmpty {
                return fallback
            }
            if let match = choices.first(where: { $0.hasPrefix(choice) }) {
                return match
            }
        }
    }

    /// Only yes confirms; the default is no.
    func confirm(_ question: String) async -> Bool {
        await choose(question, choices: ["yes", "no"], shown: "y/N", fallback: "no") == "yes"
    }

    /// One line without its line ending; nil at the end of the input. Read byte by byte, so nothing after the line is
    /// consumed, and on a separate thread, since the user may take a long time.
    private func readLine() async -> String? {
        let descriptor = context.standardInput
        return await BlockingWork.run {
            var line: [UInt8] = []
            var byte: UInt8 = 0
            while true {
                let count = read(descriptor, &byte, 1)
                if count < 0, errno == EINTR { continue }
                if count <= 0, line.isEmpty { return nil }
                if count <= 0 || byte == UInt8(ascii: "\n") { return String(decoding: line, as: UTF8.self) }
                line.append(byte)
            }
        }
    }
}

/// Confirmation of a destructive action: from `--yes` or a prompt.
struct Confirmation: Sendable {
    let prompter: Prompter
    let isGiven: Bool

    /// Fails early if there is neither `--yes` nor a terminal.
    func requirePrompt(for question: String) throws(UserFacingError) {
        guard isGiven || prompter.isAllowed else {
            throw .usage("not a terminal; confirmation required: \(question)", hint: "confirm in advance with --yes")
        }
    }

    /// Shows what will happen and prompts for confirmation.
    ///
    /// - Throws: `UserFacingError` (usage) if no prompt is possible.
    func prompt(_ lines: [String], _ question: String, on console: Console) async throws(UserFacingError) -> Bool {
        try requirePrompt(for: question)
        guard !isGiven else { return true }
        console.announce(lines)
        return await console.context.interruption.prompting { await prompter.confirm(question) }
    }
}

/// Prompts for a password or a user name on the controlling terminal.
enum PasswordPrompt {
    enum Echo: Sendable {
        /// For secrets.
        case hidden
        case shown
    }

    /// Reads one line, without its line ending.
    ///
    /// Canceling stops the prompt. The terminal is always restored: keys that suspend the program or end it with a core
    /// dump (Ctrl-Z, Ctrl-\) are disabled during the prompt, and Ctrl-C and other signals arrive as cancellation.
    ///
    /// `question` is printed unchanged.
    ///
    /// - Throws: `CredentialError` without a terminal, at end of input (Ctrl-D), or if canceled.
    static func prompt(
        _ question: String,
        _ echo: Echo = .hidden,
        terminal path: String = "/dev/tty"
    ) async throws(CredentialError) -> String {
        let terminal = open(path, O_RDWR | O_CLOEXEC | O_NOCTTY)
        guard terminal >= 0 else { throw .notAuthenticated("cannot prompt for a login: not a terminal") }
        defer { close(terminal) }
        return try await BlockingWork.runCancellable { isCancelled throws(CredentialError) in
            try read(question, echo, terminal, isCancelled)
        }
    }

    private static func read(
        _ question: String,
        _ echo: Echo,
        _ terminal: Int32,
        _ isCancelled: () -> Bool
    ) throws(CredentialError) -> String {
        var previous = termios()
        guard tcgetattr(terminal, &previous) == 0 else {
            throw .notAuthenticated("cannot prompt for a login: not a terminal")
        }
        var prompting = previous
        if echo == .hidden { prompting.c_lflag &= ~tcflag_t(ECHO) }
        withUnsafeMutableBytes(of: &prompting.c_cc) { keys in
            keys[Int(VSUSP)] = 0
            keys[Int(VQUIT)] = 0
        }
        // TCSAFLUSH discards input typed before the prompt.
        tcsetattr(terminal, TCSAFLUSH, &prompting)
        show(question, on: terminal)
        var isWhole = false
        defer {
            tcsetattr(terminal, TCSAFLUSH, &previous)
            // Echoed input includes its line break, unless it was interrupted.
            if echo == .hidden || !isWhole { show("\n", on: terminal) }
        }
        let line = try readLine(terminal, isCancelled)
        isWhole = true
        return line
    }

    private static func readLine(_ terminal: Int32, _ isCancelled: () -> Bool) throws(CredentialError) -> String {
        var line: [UInt8] = []
        while true {
            guard !isCancelled() else { throw .interrupted }
            var ready = pollfd(fd: terminal, events: Int16(POLLIN), revents: 0)
            guard poll(&ready, 1, 100) > 0 else { continue }
            var byte: UInt8 = 0
            let got = Foundation.read(terminal, &byte, 1)
            if got < 0, errno == EINTR { continue }
            guard got == 1 else { throw .notAuthenticated("nothing was entered") }
            if byte == UInt8(ascii: "\n") { return String(decoding: line, as: UTF8.self) }
            line.append(byte)
        }
    }

    private static func show(_ text: String, on terminal: Int32) {
        let bytes = Array(text.utf8)
        _ = write(terminal, bytes, bytes.count)
    }
}
