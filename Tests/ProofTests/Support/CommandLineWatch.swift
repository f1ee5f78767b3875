import Foundation
import Synchronization
import TestSupport
import Testing

/// Collects `/proc/<pid>/cmdline` until the process has exited.
final class CommandLineWatch: Sendable {
    private let seen = Mutex<Set<String>>([])
    private let isOver = Mutex(false)

    init(_ processID: Int32) {
        Thread.detachNewThread { [self] in
            while !isOver.withLock({ $0 }) {
                let path = "/proc/\(processID)/cmdline"
                guard let data = FileManager.default.contents(atPath: path), !data.isEmpty else { return }
                seen.withLock { _ = $0.insert(String(decoding: data, as: UTF8.self)) }
                usleep(1000)
            }
        }
    }

    func end() -> Set<String> {
        isOver.withLock { $0 = true }
        return seen.withLock { $0 }
    }
}

/// Runs commands, and collects their output and arguments.
final class Witness {
    /// Everything that could be seen so far.
    var written = ""
    private let runner: BinaryRunner

    init(_ runner: BinaryRunner) { self.runner = runner }

    func run(
        _ arguments: [String],
        expecting exitCode: Int32,
        input: String = "",
        _ extra: [String: String] = [:]
    ) async throws {
        let child = try runner.start(arguments, extra: extra)
        let watch = CommandLineWatch(child.processID)
        child.write(input)
        child.closeInput()
        let result = try await child.finish()
        #expect(result.exitCode == exitCode, "\(arguments): \(result.output)\(result.errors)")
        written += result.output + result.errors + watch.end().joined()
    }
}
