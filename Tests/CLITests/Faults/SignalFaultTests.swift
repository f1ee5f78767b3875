import Foundation
import MediaStore
import TestSupport
import Testing

/// Signals at each stage of an upload.
@Suite(.prompt) struct SignalFaultTests {
    private static func waiting(_ signal: Int32) -> String {
        signal == SIGINT
            ? "mediactl: waiting for the delete token; press Ctrl-C again to abandon it"
            : "mediactl: waiting up to 30 s for the delete token"
    }

    private static func unknown(_ exitCode: Int32) -> ExpectedFault {
        let message = "whether the server has the file is unknown"
        return ExpectedFault(exitCode, "unknown_outcome", message, hint: "uploads status")
    }

    @Test func interruptBeforeTheConnection() async throws {
        let silent = try SilentListener()
        let fixture = try FaultFixture("http://127.0.0.1:\(silent.port)")
        let child = try fixture.startUpload(["--connect-timeout", "600s"])
        try await child.signal(SIGINT, after: #""phase":"connecting""#)
        let report = FaultReport(try await child.finish())
        #expect(report.result.exitCode == 130)
        #expect(try report.item().state == "cancelled")
        #expect(try report.item().bytesSent == 0)
        #expect(!report.result.errors.contains("for the delete token"))
        // The signal may come before the intent is in the journal.
        #expect(try fixture.states().allSatisfy { $0 == .cancelled })
    }

    @Test(arguments: [(SIGINT, 130), (SIGTERM, 143), (SIGHUP, 129)] as [(Int32, Int32)])
    func signalWhileSending(_ signal: Int32, _ exitCode: Int32) async throws {
        let sandbox = try await SandboxProcess.start(faults: ["upload:stall,after=1000"])
        let fixture = try FaultFixture(sandbox.baseURL, byteCount: 24_000_000)
        let child = try fixture.startUpload()
        try await child.signal(signal, after: #""phase":"sending""#)
        let report = FaultReport(try await child.finish())
        #expect(report.result.exitCode == exitCode)
        #expect(report.records.last?.exitCode == exitCode)
        #expect(try report.item().state == "cancelled")
        #expect(!report.result.errors.contains("for the delete token"))
        #expect(try fixture.states() == [.cancelled])
        #expect(try fixture.tokens().isEmpty)
        #expect(try sandbox.storedFiles().isEmpty)
        #expect(try await sandbox.posts() == 1)
    }

    @Test(arguments: [(SIGINT, 130), (SIGTERM, 143), (SIGHUP, 129)] as [(Int32, Int32)])
    func signalWhileTheServerWorksWaitsForTheToken(_ signal: Int32, _ exitCode: Int32) async throws {
        let held = try HeldResponse()
        let child = try held.client.startUpload()
        try await child.signal(signal, after: #""phase":"processing""#)
        try await child.wait(for: Self.waiting(signal))
        held.response.open()
        let report = FaultReport(try await child.finish())
        #expect(report.result.exitCode == exitCode)
        #expect(try report.item().state == "done")
        #expect(try report.item().hasDeleteToken == true)
        #expect(try held.client.states() == [.done])
        #expect(try held.client.tokens().map(\.fileID) == [18])
        #expect(held.site.posts == 1)
    }

    /// The token is abandoned after a second Ctrl-C, or when the wait after another signal reaches its limit.
    @Test(arguments: [(SIGINT, 130), (SIGTERM, 143), (SIGHUP, 129)] as [(Int32, Int32)])
    func theWaitForTheTokenEnds(_ signal: Int32, _ exitCode: Int32) async throws {
        let held = try HeldResponse()
        let child = try held.client.startUpload(signal == SIGINT ? [] : ["--finish-timeout", "0.5s"])
        try await child.signal(signal, after: #""phase":"processing""#)
        if signal == SIGINT {
            try await child.wait(for: Self.waiting(SIGINT))
            try await child.repeatSignal(SIGINT)
        }
        let report = FaultReport(try await child.finish())
        report.expect(Self.unknown(exitCode))
        #expect(try report.item().state == "unknown_outcome")
        #expect(try held.client.states() == [.unknownOutcome])
        #expect(held.site.posts == 1)
        held.response.open()
    }

    /// The query after a lost response can be interrupted; the next call repeats it.
    @Test func interruptDuringTheQuery() async throws {
        let sandbox = try await SandboxProcess.start(faults: ["upload:reset,after=body"])
        let fixture = try FaultFixture(sandbox.baseURL)
        let child = try fixture.startUpload(["--settle-timeout", "5m"])
        try await child.signal(SIGINT, after: #""phase":"resolving""#)
        let report = FaultReport(try await child.finish())
        report.expect(Self.unknown(130))
        #expect(!report.result.errors.contains("delete token"))
        #expect(try fixture.states() == [.unknownOutcome])
        #expect(try await sandbox.posts() == 1)
    }

    /// Checking an upload that a killed process left behind may take minutes. The check precedes the upload of the
    /// file.
    @Test func checkOfAnEarlierUploadIsPrinted() async throws {
        let sandbox = try await SandboxProcess.start()
        let fixture = try FaultFixture(sandbox.baseURL)
        let killed = try await fixture.upload(extra: ["MEDIACTL_KILL_AT": "afterIntent"])
        #expect(killed.result.signal == SIGKILL)
        let next = try await fixture.upload()
        #expect(next.result.exitCode == 0)
        let note = "note: the outcome of an upload is unknown; checking whether the server has the file, for up to "
        #expect(next.result.errors.contains(note), "\(next.result)")
        #expect(try fixture.states() == [.done, .failed])
    }

    @Test func interruptBetweenTwoAttempts() async throws {
        let sandbox = try await SandboxProcess.start(faults: ["upload:status=503,retry-after=110"])
        let fixture = try FaultFixture(sandbox.baseURL)
        let child = try fixture.startUpload(["--retries", "3"])
        try await child.signal(SIGINT, after: #""phase":"retrying""#)
        // The deadline is shorter than the wait that is interrupted.
        let report = FaultReport(try await child.finish(deadline: .seconds(90)))
        #expect(report.result.exitCode == 130)
        #expect(try report.item().state == "cancelled")
        #expect(try fixture.states() == [.cancelled])
        #expect(try await sandbox.posts() == 1)
    }

    /// The reader of the results has exited: uploads in flight continue without output.
    @Test func closedOutput() async throws {
        let sandbox = try await SandboxProcess.start()
        let fixture = try FaultFixture(sandbox.baseURL)
        let second = try fixture.movie("second.mp4")
        let result = try await fixture.runner.run(
            ["upload", fixture.file, second, "-j", "1"] + fixture.login,
            streams: .closedOutput
        )
        #expect(result.signal == nil)
        #expect(!result.errors.contains("error:"))
        #expect(try fixture.states() == [.done])
        #expect(try fixture.tokens().count == 1)
        #expect(try sandbox.storedFiles().count == 1)
    }

    /// nohup(1): a hangup that was ignored from the start stays ignored.
    @Test func closedTerminalUnderNohup() async throws {
        let held = try HeldResponse()
        var runner = held.client.runner
        let program = runner.executable
        runner.executable = "/usr/bin/nohup"
        let arguments = ["upload", held.client.file, "--json", "--progress-events"] + held.client.login
        let child = try runner.start([program] + arguments)
        try await child.signal(SIGHUP, after: #""phase":"processing""#)
        held.response.open()
        let result = try await child.finish()
        #expect(result.exitCode == 0)
        #expect(!result.errors.contains("for the delete token"))
        #expect(try held.client.states() == [.done])
    }
}
