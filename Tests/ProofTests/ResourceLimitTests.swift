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

    /// KiB of addresses with which the program starts, but cannot create its threads. With less, the dynamic loader ends it before
    /// its first statement; a release, which has the Swift library inside, needs less.
    private static let addresses =
        BuiltProgram.path("mediactl") == BuiltProgram.besideTests("mediactl") ? "-v 160000" : "-v 135000"

    @Test(
        .measuresMemory,
        arguments: ["-n 4", "-n 6", "-n 10", "-n 26", addresses],
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
