import Foundation
import MediaStore
import TestSupport
import Testing

/// kill -9 at each failpoint of a debug build. After the next start, the server has exactly one file with the right
/// bytes, and its token is stored or reported as lost.
@Suite struct KillTests {
    /// A point of `UploadFailpoint`, and the result of the next `upload` of the same file.
    struct Point: Sendable, CustomTestStringConvertible {
        let name: String
        /// The journal right after the kill.
        let left: Set<UploadState>
        let exitCode: Int32
        let states: [UploadState]
        let tokens: Int
        let posts: Int
        var testDescription: String { name }
    }

    static let points = [
        // Nothing arrived: the row becomes failed, and the file is sent.
        Point(name: "afterIntent", left: [.sending], exitCode: 0, states: [.done, .failed], tokens: 1, posts: 1),
        Point(name: "midBody", left: [.sending], exitCode: 0, states: [.done, .failed], tokens: 1, posts: 2),
        // The server stored it, and its response was lost.
        Point(name: "afterBody", left: [.sent], exitCode: 11, states: [.tokenLost], tokens: 0, posts: 1),
        // The response is in the rescue file.
        Point(
            name: "responseInRescueFile",
            left: [.sending, .sent],
            exitCode: 0,
            states: [.done],
            tokens: 1,
            posts: 1
        ),
        Point(name: "beforeTokenCommit", left: [.sent], exitCode: 0, states: [.done], tokens: 1, posts: 1),
        Point(name: "afterTokenCommit", left: [.done], exitCode: 0, states: [.done], tokens: 1, posts: 1),
    ]

    @Test(arguments: points)
    func restartAfterKill(_ point: Point) async throws {
        let faults = point.name == "afterBody" ? ["upload:delay-response=60"] : []
        let sandbox = try await SandboxProcess.start(faults: faults)
        var fixture = try FaultFixture(sandbox.baseURL, byteCount: 12_000_000)
        let killed = try await fixture.upload(extra: ["MEDIACTL_KILL_AT": point.name])
        #expect(killed.result.signal == SIGKILL)
        // The server may still be processing the request of a killed client.
        if point.posts == 1 && point.name != "afterIntent" {
            try await waitForFile(sandbox)
        }
        #expect(try fixture.states().count == 1 && point.left.isSuperset(of: try fixture.states()))

        fixture.runner.environment["MEDIACTL_SETTLE_TIMEOUT"] = "0.2"
        let again = try await fixture.upload()
        #expect(again.result.exitCode == point.exitCode, "\(again.result)")
        #expect(try fixture.states() == point.states)
        #expect(try fixture.tokens().count == point.tokens)
        #expect(try sandbox.storedFiles() == [try await sha256(fixture.file) + ".mp4"])
        #expect(try await sandbox.posts() == point.posts)

        let third = try await fixture.upload()
        #expect(third.result.exitCode == 0 || point.tokens == 0)
        #expect(try await sandbox.posts() == point.posts, "nothing is sent again")
    }

    /// The digest of a small file is not in the journal; the file is read again, if possible.
    @Test(arguments: [true, false])
    func smallFileWhoseResponseWasNotRead(_ isStillThere: Bool) async throws {
        let sandbox = try await SandboxProcess.start(faults: ["upload:delay-response=60"])
        let fixture = try FaultFixture(sandbox.baseURL)
        let killed = try await fixture.upload(extra: ["MEDIACTL_KILL_AT": "afterBody"])
        #expect(killed.result.signal == SIGKILL)
        try await waitForFile(sandbox)
        #expect(try fixture.states() == [.sending])
        if !isStillThere {
            try FileManager.default.removeItem(atPath: fixture.file)
        }
        let status = FaultReport(try await fixture.runner.run(["uploads", "status", "--json", "--user", "uploader"]))
        if isStillThere {
            status.expect(ExpectedFault(11, "token_lost", "on the server as 1", hint: "--as-admin"))
            #expect(try fixture.states() == [.tokenLost])
        } else {
            status.expect(ExpectedFault(6, "unknown_outcome", "the digest of the upload is unknown"))
            #expect(try fixture.states() == [.unknownOutcome])
        }
        #expect(try await sandbox.posts() == 1)
    }

    private func waitForFile(_ sandbox: SandboxProcess) async throws {
        let deadline = ContinuousClock.now + .seconds(120)
        while try sandbox.storedFiles().isEmpty {
            try #require(ContinuousClock.now < deadline)
            try await Task.sleep(for: .milliseconds(10))
        }
    }

    /// The digest as computed by `sha256sum`.
    private func sha256(_ path: String) async throws -> String {
        var runner = try BinaryRunner()
        runner.executable = "/usr/bin/sha256sum"
        return String(try await runner.run([path]).output.prefix(64))
    }
}
