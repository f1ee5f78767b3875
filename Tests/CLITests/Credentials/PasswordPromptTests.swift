import Foundation
import Testing

@testable import MediaCLI

@Suite struct PasswordPromptTests {
    /// Starts a prompt on a terminal, and returns when the terminal shows it.
    private func prompt(on terminal: Terminal) async -> Task<String, any Error> {
        let path = terminal.path
        let password = Task { try await PasswordPrompt.prompt("Password: ", terminal: path) }
        await terminal.waitForOutput(containing: "Password: ")
        return password
    }

    @Test(.timeLimit(.minutes(4))) func readsALineWithoutEcho() async throws {
        let terminal = try Terminal()
        let password = await prompt(on: terminal)
        #expect(!terminal.echoes)
        terminal.type("s3cret é\n")
        #expect(try await password.value == "s3cret é")
        #expect(terminal.echoes)
        await terminal.waitForOutput(containing: "Password: \r\n")
        #expect(!terminal.output.contains("s3cret"))
    }

    /// The end of the input is not a password; canceling the task is an interruption.
    @Test(.timeLimit(.minutes(4)), arguments: [false, true])
    func aPromptWithoutAPasswordRestoresTheTerminal(isCanceled: Bool) async throws {
        let terminal = try Terminal()
        let password = await prompt(on: terminal)
        #expect(!terminal.echoes)
        if isCanceled { password.cancel() } else { terminal.type("\u{4}") }
        let error = await #expect(throws: CredentialError.self) { try await password.value }
        #expect(error?.exitCode == (isCanceled ? 130 : 4))
        #expect(terminal.echoes)
    }

    @Test(arguments: ["/dev/null", "/nonexistent"]) func withoutATerminalThereIsNoPrompt(path: String) async throws {
        let error = await #expect(throws: CredentialError.self) { try await PasswordPrompt.prompt("?", terminal: path) }
        #expect(error?.exitCode == 4)
    }
}

/// A pseudo terminal; the test types on it.
private final class Terminal {
    let path: String
    private(set) var output = ""
    private let keyboard: Int32
    /// Keeps the terminal alive while the code under test opens and closes it.
    private let screen: Int32

    init() throws {
        keyboard = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
        // Linux ioctl_tty(2): TIOCSPTLCK with 0 unlocks, TIOCGPTN returns the number. Swift imports neither
        // `grantpt` nor `ptsname`.
        var (unlocked, number): (Int32, Int32) = (0, 0)
        try #require(keyboard >= 0 && ioctl(keyboard, 0x4004_5431, &unlocked) == 0)
        try #require(ioctl(keyboard, 0x8004_5430, &number) == 0)
        path = "/dev/pts/\(number)"
        screen = open(path, O_RDWR | O_NOCTTY)
        try #require(screen >= 0)
        _ = fcntl(keyboard, F_SETFL, O_NONBLOCK)
    }

    deinit {
        close(screen)
        close(keyboard)
    }

    var echoes: Bool {
        var settings = termios()
        return tcgetattr(screen, &settings) == 0 && settings.c_lflag & tcflag_t(ECHO) != 0
    }

    func type(_ text: String) {
        let bytes = Array(text.utf8)
        _ = write(keyboard, bytes, bytes.count)
    }

    func waitForOutput(containing text: String) async {
        var chunk = [UInt8](repeating: 0, count: 256)
        while !output.contains(text) {
            let got = read(keyboard, &chunk, chunk.count)
            if got > 0 { output += String(decoding: chunk[..<got], as: UTF8.self) } else { await Task.yield() }
        }
    }
}
