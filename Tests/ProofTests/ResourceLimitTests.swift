import Foundation
import TestSupport
import Testing

/// Too few threads, file descriptors and addresses: one error, and never a hang or a crash.
@Suite struct ResourceLimitTests {
    private static let sandbox = "http://127.0.0.1:9"

    private func run(_ limit: String, _ arguments: [String]) async throws -> ChildResult {
        let bench = try Bench(Self.sandbox)
        let file = try bench.file()
        return try await bench.runner.run(
            arguments.map { $0 == "FILE" ? file : $0 } + bench.login + ["--retries", "0", "--no-input"],
            through: ["/bin/sh", "-c", "ulimit \(limit); exec \"$0\" \"$@\""],
            deadline: .seconds(60)
        )
    }

    /// With less than this, the dynamic loader ends the program before its first statement.
    @Test(
        .measuresMemory,
        arguments: ["-n 4", "-n 6", "-n 10", "-n 26", "-v 160000"],
        [[], ["--json"]]
    )
    func tooLittleIsOneError(_ limit: String, _ options: [String]) async throws {
        let result = try await run(limit, ["upload", "FILE"] + options)
        #expect(result.signal == nil, "\(result.errors)")
        #expect([1, 12].contains(result.exitCode), "\(result.output)\(result.errors)")
        #expect(
            result.errors.split(separator: "\n").count { $0.hasPrefix("mediactl: error:") } == 1,
            "\(result.errors)"
        )
        if !options.isEmpty {
            #expect(["error", "summary"].contains(result.records.last?["type"] as? String))
        }
    }

    @Test func enoughIsEnough() async throws {
        // Nothing listens there, which is found out only over the network.
        let result = try await run("-n 64", ["upload", "FILE"])
        #expect(result.exitCode == 6, "\(result.errors)")
    }
}
