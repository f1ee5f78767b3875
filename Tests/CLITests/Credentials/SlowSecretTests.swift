import Foundation
import TestSupport
import Testing

/// The built program with secrets and settings in FIFOs.
@Suite(.prompt) struct SlowSecretTests {
    /// Where the secret comes from; `FIFO` stands for the path.
    struct Source: Sendable {
        var arguments: [String] = []
        var environment: [String: String] = [:]
    }

    static let sources = [
        Source(arguments: ["--password-file", "FIFO"]), Source(environment: ["MEDIACTL_PASSWORD_FILE": "FIFO"]),
        Source(environment: ["NETRC": "FIFO"]),
    ]

    @Test(arguments: sources, [(SIGINT, 130), (SIGTERM, 143)] as [(Int32, Int32)])
    func waitingForASecretCanBeInterrupted(source: Source, end: (signal: Int32, exitCode: Int32)) async throws {
        let (fixture, fifo) = try fixtureWithFIFO()
        let child = try start(fixture, source, fifo)
        // A FIFO opens for writing once a reader has it open.
        let silentWriter = try ChildProcess("sh", ["-c", "exec 3>\(fifo); echo opened; exec sleep 600"])
        try await silentWriter.wait(for: "opened")
        child.signal(end.signal)
        #expect(try await child.finish().exitCode == end.exitCode)
    }

    @Test func secretsComeThroughFIFOs() async throws {
        let sandbox = try await SandboxProcess.start()
        let (fixture, fifo) = try fixtureWithFIFO()
        let child = try fixture.runner.start(
            ["upload", fixture.file, "--server", sandbox.baseURL, "--user", "uploader", "--password-file", fifo]
        )
        let writer = try ChildProcess("sh", ["-c", "printf uploader > \(fifo)"])
        #expect(try await writer.finish().exitCode == 0)
        let result = try await child.finish()
        #expect(result.exitCode == 0, "\(result.errors)")
        let substituted = try await fixture.runner.run(
            ["upload", fixture.file, "--force", "--server", sandbox.baseURL, "--user", "uploader"],
            through: ["bash", "-c", #"exec "$@" --password-file <(sleep 0.1; echo uploader)"#, "bash"]
        )
        #expect(substituted.exitCode == 0, "\(substituted.errors)")
    }

    @Test func settingsMustBeARegularFile() async throws {
        let (fixture, fifo) = try fixtureWithFIFO()
        for path in [fifo, fixture.runner.home.path, "/dev/zero"] {
            let child = try fixture.runner.start(["config", "show", "--config", path])
            let result = try await child.finish()
            #expect(result.exitCode == 2)
            #expect(result.errors.contains("it is not a regular file"))
        }
    }

    private func fixtureWithFIFO() throws -> (FaultFixture, String) {
        var fixture = try FaultFixture("127.0.0.1:9")
        fixture.runner.environment["MEDIACTL_PASSWORD"] = nil
        let fifo = fixture.runner.home.file("fifo")
        try #require(mkfifo(fifo, 0o600) == 0)
        return (fixture, fifo)
    }

    private func start(_ fixture: FaultFixture, _ source: Source, _ fifo: String) throws -> ChildProcess {
        try fixture.runner.start(
            ["upload", fixture.file] + fixture.login + source.arguments.map { $0 == "FIFO" ? fifo : $0 },
            extra: source.environment.mapValues { $0 == "FIFO" ? fifo : $0 }
        )
    }
}
