import Foundation
import TestSupport
import Testing

/// The built client with `https_proxy`: the proxy's response to CONNECT is not the server's.
@Suite("Through a tunnel", .timeLimit(.minutes(4)))
struct TunnelProxyTests {
    private func run(
        _ arguments: [String],
        through tunnel: TunnelProxy,
        to port: Int,
        with runner: BinaryRunner
    ) async throws -> ChildResult {
        try await runner.run(
            arguments + ["--server", "https://localhost:\(port)", "--user", "uploader", "--retries", "0", "--json"],
            extra: ["https_proxy": tunnel.address, "MEDIACTL_PASSWORD": "uploader"]
        )
    }

    private func clip(_ runner: BinaryRunner) throws -> String {
        try runner.home.write("clip.mp4", Data(repeating: 0x61, count: 600_000))
    }

    @Test("the body counts as being sent until the server has it")
    func upload() async throws {
        let sandbox = try await SandboxProcess.start()
        let server = try await ReverseProxy(before: sandbox.baseURL)
        let tunnel = try TunnelProxy(before: server.port)
        let runner = try BinaryRunner()

        let result = try await run(
            [
                "upload", clip(runner), "--org-name", "Band", "--transport", "multipart", "--limit-rate", "300K",
                "--progress-events", "--cacert", server.authority,
            ],
            through: tunnel,
            to: server.port,
            with: runner
        )

        #expect(result.exitCode == 0, "\(result.errors)")
        let phases = try result.records("progress").compactMap { $0["phase"] as? String }
        #expect(phases.contains("sending"), "\(phases)")
    }

    @Test("a refusal by the proxy is a failed connection", arguments: [302, 401, 403, 407, 417, 502])
    func refusal(status: Int) async throws {
        let tunnel = try TunnelProxy(before: 1, status: status)
        let runner = try BinaryRunner()

        for command in [["media", "list"], ["upload", try clip(runner), "--org-name", "Band"]] {
            let result = try await run(command, through: tunnel, to: 1, with: runner)

            #expect(result.exitCode == 6, "\(result.errors)")
            #expect(result.output.contains(#""code":"cannot_connect""#), "\(result.output)")
            #expect(result.errors.contains("CONNECT tunnel failed, response \(status)"), "\(result.errors)")
            #expect(result.errors.contains("a proxy is set by the variable https_proxy"), "\(result.errors)")
        }
    }

    @Test("an untrusted certificate is reported as such")
    func certificate() async throws {
        let server = try await SelfSignedServer()
        let tunnel = try TunnelProxy(before: server.port)
        let runner = try BinaryRunner()

        for command in [["media", "list"], ["upload", try clip(runner), "--org-name", "Band"]] {
            let result = try await run(command, through: tunnel, to: server.port, with: runner)

            #expect(result.exitCode == 6, "\(result.errors)")
            #expect(result.output.contains(#""code":"certificate_untrusted""#), "\(result.output)")
        }
    }
}
