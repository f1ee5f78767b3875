import Foundation
import MediaStore
import TestSupport
import Testing

/// A server that cannot be asked by hash, and says 500 where it may have the capture already.
@Suite struct CaptureUnknownTests {
    /// A machine with a device that was enrolled elsewhere, as this server needs it.
    private func enrolled() async throws -> CaptureBench {
        let device = UUID().uuidString.lowercased()
        let keys = try TemporaryDirectory()
        let made = try await ChildProcess.run(
            "/bin/sh",
            [
                "-c",
                """
                cd '\(keys.path)' && openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out key.pem \
                && chmod 600 key.pem && openssl pkey -in key.pem -pubout -out public.pem
                """,
            ]
        )
        try #require(made.exitCode == 0, "\(made.errors)")
        let sandbox = try await SandboxProcess.start(
            arguments: [
                "--capture-profile", "reference", "--capture-device",
                "\(device):secure_enclave:\(keys.file("public.pem"))",
            ]
        )
        var bench = try CaptureBench(sandbox)
        bench.runner.environment["MEDIACTL_CAPTURE_PROFILE"] = "reference"
        let key = bench.runner.home.file("key.pem")
        try FileManager.default.copyItem(atPath: keys.file("key.pem"), toPath: key)
        try await bench.succeed("register", "--device-id", device, "--key", key)
        return bench
    }

    @Test func onlyADeliberateResendSendsAgain() async throws {
        let bench = try await enrolled()
        // The state on the server, and the result of the resend.
        let faults = [("500-after-store", false), ("reset,after=body", true)]
        for (number, (fault, isAcceptedThen)) in faults.enumerated() {
            let photo = try bench.photo("\(number).jpg", seed: number)
            try await bench.sandbox.addFaults("capture:\(fault)")
            let sent = try await bench.run(bench.sending(photo))
            try await bench.sandbox.clearFaults()
            #expect(sent.exitCode == 6 && sent.states == ["unknown_outcome"], "\(fault): \(sent.output)")
            let record = try #require(try bench.records().first)
            let seen = try await bench.submissions().filter { $0.mediaHash == record.mediaHash }.count
            #expect(record.submissions == 1 && seen <= 1, "\(fault)")

            for again in [["retry", "--all"], ["retry", record.id], bench.sending(photo)] {
                let result = try await bench.run(again)
                #expect(result.exitCode != 0 && result.states.contains("unknown_outcome"), "\(fault): \(result.output)")
            }
            #expect(try await bench.submissions().filter { $0.mediaHash == record.mediaHash }.count == seen, "\(fault)")
            #expect(try bench.records().count == number + 1)

            let resent = try await bench.run(["retry", record.id, "--resend"])
            #expect(resent.states == [isAcceptedThen ? "accepted" : "unknown_outcome"], "\(fault): \(resent.output)")
            let after = try #require(try bench.records().first)
            #expect(after.submissions == 2)
            #expect(try #require(after.counter) > #require(record.counter), "\(fault)")
            let counters = try await bench.submissions().filter { $0.mediaHash == record.mediaHash }.map(\.counter)
            #expect(counters.count == seen + 1 && counters.last == after.counter, "\(fault): \(counters)")

            // Once is deliberate, twice is a habit.
            _ = try await bench.run(["retry", record.id, "--resend"])
            #expect(try await bench.submissions().filter { $0.mediaHash == record.mediaHash }.count == seen + 1)
            let stored = try await bench.sandbox.captures().filter { $0.mediaHash == record.mediaHash }
            #expect(stored.count == 1, "\(fault)")
        }
        try await bench.expectAscendingCounters()
    }
}
