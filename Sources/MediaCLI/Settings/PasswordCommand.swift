internal import Foundation
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
        let process = Process()
        process.executableURL = URL(fileURLWithPath: try program())
        process.arguments = Array(arguments.dropFirst())
        process.standardInput = FileHandle.nullDevice
        let output = Pipe()
        process.standardOutput = output
        do {
            try process.run()
        } catch {
            throw failure("cannot be run")
        }
        let bytes = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                // Reading blocks, and must not hold one of the few threads of Swift's pool.
                Thread.detachNewThread {
                    let bytes = output.fileHandleForReading.readDataToEndOfFile()
                    process.waitUntilExit()
                    continuation.resume(returning: bytes)
                }
            }
        } onCancel: {
            process.terminate()
        }
        guard process.terminationReason == .exit, process.terminationStatus == 0 else {
            throw failure(
                process.terminationReason == .exit
                    ? "failed with exit code \(process.terminationStatus)"
                    : "was ended by signal \(process.terminationStatus)"
            )
        }
        guard let text = String(validating: bytes, as: UTF8.self) else { throw failure("printed what is not UTF-8") }
        let line = text.prefix { $0 != "\n" && $0 != "\r\n" }
        guard !line.isEmpty else { throw failure("printed no password") }
        return String(line)
    }

    private func program() throws(CredentialError) -> String {
        guard let name = arguments.first else { throw failure("names no program") }
        if name.contains("/") { return name }
        // Entries that are not absolute would mean the current directory.
        let candidates = searchPath.split(separator: ":").filter { $0.hasPrefix("/") }.map { "\($0)/\(name)" }
        guard let path = candidates.first(where: { FileManager.default.isExecutableFile(atPath: $0) }) else {
            throw failure("is not in PATH")
        }
        return path
    }

    /// Arguments may be telling, so that only the program is named.
    private func failure(_ what: String) -> CredentialError {
        let name = TerminalText.escaped(arguments.first ?? "")
        return .notAuthenticated("password_command \"\(name)\" \(what)", hint: "run it by hand to see what is wrong")
    }
}
