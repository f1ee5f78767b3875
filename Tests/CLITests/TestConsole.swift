import Foundation
import Synchronization
import TestSupport

@testable import MediaCLI

/// A console whose output goes to files, with a clock and a terminal that the test sets.
final class TestConsole: Sendable {
    let directory: TemporaryDirectory
    let clock = Mutex(Duration.zero)
    let interruption = Interruption()
    private let outputDescriptor: Int32
    private let errorDescriptor: Int32

    init() throws {
        directory = try TemporaryDirectory()
        outputDescriptor = open(directory.file("out"), O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        errorDescriptor = open(directory.file("err"), O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    }

    deinit {
        close(outputDescriptor)
        close(errorDescriptor)
    }

    var output: String { text("out") }
    var errors: String { text("err") }

    private func text(_ name: String) -> String {
        (try? String(contentsOfFile: directory.file(name), encoding: .utf8)) ?? ""
    }

    func forget() {
        ftruncate(errorDescriptor, 0)
        lseek(errorDescriptor, 0, SEEK_SET)
    }

    func advance(_ duration: Duration) {
        clock.withLock { $0 += duration }
    }

    func context(
        environment: [String: String] = [:],
        isTerminal: Bool = false,
        columns: Int = 80,
        rows: Int = 24
    ) -> CommandContext {
        CommandContext(
            environment: ["HOME": directory.path, "LANG": "C.UTF-8"].merging(environment) { $1 },
            workingDirectory: directory.path,
            standardInput: -1,
            output: Output(outputDescriptor),
            errors: Output(errorDescriptor),
            terminal: Terminal(
                isInputTerminal: isTerminal,
                isOutputTerminal: isTerminal,
                isErrorTerminal: isTerminal,
                columns: { _ in columns },
                rows: { _ in rows }
            ),
            now: { Date(timeIntervalSince1970: 1_780_000_000) },
            elapsed: { [self] in clock.withLock { $0 } },
            interruption: interruption
        )
    }

    func console(
        _ preferences: OutputPreferences = OutputPreferences(),
        environment: [String: String] = [:],
        isTerminal: Bool = false,
        columns: Int = 80,
        rows: Int = 24
    ) -> Console {
        Console(
            context(environment: environment, isTerminal: isTerminal, columns: columns, rows: rows),
            schema: "mediactl.upload/1",
            preferences: preferences
        )
    }
}
