import Foundation
import TestSupport
import Testing

/// Too few threads or file descriptors, or too little address space, cause one error, and never a hang or a crash.
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

    /// KiB of address space with which the program starts but cannot create its threads. With less, the dynamic
    /// loader fails before the first statement. A release is linked statically with the Swift library and requires
    /// less.
    private static let addresses =
        BuiltProgram.path("mediactl") == BuiltProgram.besideTests("mediactl") ? "-v 160000" : "-v 135000"

    @Test(
        .measuresMemory,
        arguments: ["-n 4", "-n 5", "-n 8", "-n 10", "-n 12", "-n 16", "-n 20", "-n 26", "-n 28", "-n 32", addresses],
        [[], ["--json"]]
    )
    func aResourceLimitIsOneError(_ limit: String, _ options: [String]) async throws {
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

    /// From too little address space to enough of it: an error before the upload starts, or no resource error at all.
    @Test(.measuresMemory, arguments: (0...14).map { $0 * 5_000 })
    func addressesAreTooFewOrSufficient(_ more: Int) async throws {
        let lowest = try #require(Int(Self.addresses.dropFirst(3)))
        let result = try await run("-v \(lowest + more)", ["upload", "FILE"])
        #expect(result.signal == nil, "\(result.errors)")
        // Nothing listens at the address.
        #expect([1, 6].contains(result.exitCode), "\(result.output)\(result.errors)")
        #expect(result.exitCode == 6 || result.errors.contains("cannot start threads"), "\(result.errors)")
        #expect(
            result.errors.split(separator: "\n").count { $0.hasPrefix("mediactl: error:") } == 1,
            "\(result.errors)"
        )
    }

    /// With too few descriptors for four parallel uploads, fewer run, and every file is stored.
    @Test(.measuresMemory, arguments: [40, 48, 64, 72, 80, 96], [[], ["--transport", "tus", "--chunk-size", "64K"]])
    func fewDescriptorsMeanFewerParallelUploads(_ limit: Int, _ options: [String]) async throws {
        let sandbox = try await SandboxProcess.start()
        let bench = try Bench(sandbox.baseURL)
        let files = try (0..<40).map { try bench.movie(100_000, seed: $0, name: "clip\($0).mp4") }
        let result = try await bench.runner.run(
            ["upload"] + files + options + bench.login + ["--jobs", "4", "--json", "--no-input"],
            through: ["/bin/sh", "-c", "ulimit -n \(limit); exec \"$0\" \"$@\""],
            deadline: .seconds(120)
        )
        #expect(result.exitCode == 0, "\(result.errors)")
        #expect(!result.errors.contains("too many open files"), "\(result.errors)")
        let jobs = try #require(result.records.first?["jobs"] as? Int)
        #expect(jobs < 4 || limit > 80)
        #expect(
            result.errors.contains(
                "note: not enough file descriptors for 4 parallel uploads (ulimit -n \(limit)); using --jobs \(jobs)\n"
            ) == (jobs < 4)
        )
    }

    /// The soft limit of a session is often lower than the hard limit.
    @Test(.measuresMemory) func theSoftLimitIsRaised() async throws {
        let sandbox = try await SandboxProcess.start()
        let bench = try Bench(sandbox.baseURL)
        let files = try (0..<20).map { try bench.movie(10_000, seed: $0, name: "clip\($0).mp4") }
        let result = try await bench.runner.run(
            ["upload"] + files + bench.login + ["--jobs", "16", "--json", "--no-input"],
            through: ["/bin/sh", "-c", "ulimit -S -n 40; exec \"$0\" \"$@\""],
            deadline: .seconds(60)
        )
        #expect(result.exitCode == 0, "\(result.errors)")
        #expect(result.records.first?["jobs"] as? Int == 16 && !result.errors.contains("file descriptors"))
    }

    @Test func sufficientResourcesAreNotAnError() async throws {
        // Nothing listens at the address: with sufficient resources, only the connection fails.
        let result = try await run("-n 64", ["upload", "FILE"])
        #expect(result.exitCode == 6, "\(result.errors)")
    }
}
