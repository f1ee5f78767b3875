import Foundation
import TestSupport
import Testing

/// The short form of `make proof`.
@Suite struct RandomKillTests {
    @Test(arguments: ["multipart", "tus"]) func twentyKillsAtRandomTimesLoseNothing(over transport: String) async throws
    {
        let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("scripts/random-kills.py").path
        let runner = try BinaryRunner()
        let result = try await runner.run(
            [],
            extra: ["MEDIACTL_SANDBOX": SandboxProcess.builtProgram("mediactl-sandbox")],
            through: ["/bin/sh", "-c", "MEDIACTL_BINARY=\"$0\" exec /usr/bin/python3 '\(script)' 20 \(transport)"],
            deadline: .seconds(240)
        )
        #expect(result.exitCode == 0, "\(result.output)\(result.errors)")
        #expect(result.lines.last == "random kills: 20 of 20 passed")
    }
}
