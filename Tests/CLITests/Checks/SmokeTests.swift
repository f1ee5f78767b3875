import Foundation
import MediaStore
import TestSupport
import Testing

/// `mediactl smoke` against the sandbox: it uploads to a server and leaves it unchanged.
@Suite struct SmokeTests {
    private struct Fixture {
        let sandbox: SandboxProcess
        var runner: BinaryRunner

        init(dialect: String = "d3", faults: [String] = []) async throws {
            sandbox = try await SandboxProcess.start(dialect: dialect, faults: faults)
            runner = try BinaryRunner()
            let temporary = runner.home.file("tmp")
            try makeDirectory(temporary)
            runner.environment.merge([
                "MEDIACTL_PASSWORD": "uploader", "MEDIACTL_RETRIES": "0", "MEDIACTL_SETTLE_TIMEOUT": "0.3",
                "TMPDIR": temporary,
            ]) { $1 }
        }

        func smoke(_ more: [String] = [], user: String = "uploader") async throws -> CheckReport {
            CheckReport(
                try await runner.run(
                    ["smoke", "--json", "--server", sandbox.baseURL, "--user", user] + more,
                    extra: ["MEDIACTL_PASSWORD": user]
                )
            )
        }

        func tokens() throws -> [TokenEntry] {
            try runner.store().tokens(host: nil)
        }

        var temporaryFiles: [String] {
            get throws { try FileManager.default.contentsOfDirectory(atPath: runner.home.file("tmp")) }
        }
    }

    private static func statuses(_ report: CheckReport) throws -> [String] {
        report.records.filter { $0["type"] as? String == "item" }
            .map { "\($0["name"] as? String ?? "") \($0["status"] as? String ?? "")" }
    }

    @Test(arguments: ["d1", "d2", "d3"])
    func aGoodServerPassesAndIsLeftUnchanged(dialect: String) async throws {
        let fixture = try await Fixture(dialect: dialect)
        let report = try await fixture.smoke()
        #expect(report.result.exitCode == 0)
        #expect(
            try Self.statuses(report) == [
                "login passed", "upload passed", "checksum passed", "token passed", "listed passed", "served passed",
                "delete passed", "gone passed",
            ]
        )
        #expect(try fixture.sandbox.storedFiles().isEmpty)
        #expect(try fixture.tokens().isEmpty)
        #expect(try fixture.temporaryFiles.isEmpty)
        try report.result.expectShapes("smoke")
    }

    @Test(arguments: ["d1", "d2", "d3"], [[], ["upload:no-token"]])
    func anAdministratorLeavesNoFile(dialect: String, faults: [String]) async throws {
        let fixture = try await Fixture(dialect: dialect, faults: faults)
        let report = try await fixture.smoke(user: "admin")
        // A response without a token is a separate failure; the file is deleted anyway.
        #expect(report.result.exitCode == (faults.isEmpty ? 0 : 11))
        #expect(try Self.statuses(report).suffix(2) == ["delete passed", "gone passed"])
        #expect(try fixture.sandbox.storedFiles().isEmpty)
        #expect(try fixture.tokens().isEmpty)
    }

    /// A deletion that fails keeps the token. An uploader's request without a token is refused.
    @Test(
        arguments: [
            ("delete:status=500", 7, 1, ""), ("upload:no-token", 11, 0, " --as-admin --sha256 "),
        ] as [(String, Int32, Int, String)]
    )
    func filesLeftOnTheServerAreReported(fault: String, exitCode: Int32, tokens: Int, options: String) async throws {
        let fixture = try await Fixture(faults: [fault])
        let report = try await fixture.smoke()
        #expect(report.result.exitCode == exitCode)
        #expect(try Self.statuses(report).suffix(2) == ["delete failed", "gone skipped"])
        #expect(try fixture.tokens().count == tokens)
        #expect(try fixture.sandbox.storedFiles().count == 1)
        #expect(
            report.result.errors.contains(
                "the test file is still on the server: 1, in the event of 2000-01-01, mediactl smoke test\n"
            )
        )
        let hint = try #require(report.result.errors.split(separator: "\n").last { $0.contains("hint: mediactl") })
        #expect(hint.contains("hint: mediactl uploads delete 1\(options)"))
        #expect(hint.hasSuffix("--server \(fixture.sandbox.baseURL)"))
        // The command works when an administrator pastes it.
        if !options.isEmpty {
            let words = hint.split(separator: " ").dropFirst(3).map(String.init)
            let result = try await fixture.runner.run(
                words + ["--yes", "--user", "admin"],
                extra: ["MEDIACTL_PASSWORD": "admin"]
            )
            #expect(result.exitCode == 0)
            #expect(try fixture.sandbox.storedFiles().isEmpty)
        }
    }

    /// The response does not confirm the deletion; a query shows that the file is gone.
    @Test func aFileThatIsGoneIsNotReportedAsLeft() async throws {
        let fixture = try await Fixture(faults: ["delete:status-after=200"])
        let report = try await fixture.smoke()
        #expect(report.result.exitCode == 0, "\(report.result.errors)")
        #expect(try Self.statuses(report).suffix(2) == ["delete passed", "gone passed"])
        #expect(!report.result.errors.contains("still on the server"))
        #expect(try fixture.tokens().isEmpty)
    }

    @Test func everyRunUploadsAnotherValidRecording() async throws {
        let fixture = try await Fixture(faults: ["delete:status=500"])
        _ = try await fixture.smoke()
        let second = try await fixture.smoke()
        #expect(try Self.statuses(second).contains("upload passed"))
        let names = try fixture.sandbox.storedFiles()
        #expect(names.count == 2)
        let options = ["-v", "error", "-show_entries", "stream=codec_name,sample_rate,duration", "-of", "csv=p=0"]
        for name in names {
            let file = fixture.sandbox.data.file("media/audio/" + name)
            let probe = try await ChildProcess.run("/usr/bin/ffprobe", options + [file])
            #expect(probe.output == "pcm_u8,8000,1.000000\n")
        }
    }

    @Test func aServerThatReportsAnotherChecksumFails() async throws {
        let fixture = try await Fixture(faults: ["upload:corrupt"])
        let report = try await fixture.smoke()
        #expect(report.result.exitCode == 8)
    }

    @Test func aServerThatHangsFailsAfterTheTimeout() async throws {
        let fixture = try await Fixture(faults: ["listing:stall"])
        let report = try await fixture.smoke(["--timeout", "0.5"])
        #expect(report.result.exitCode == 6)
        #expect(try Self.statuses(report).count == 8)
        #expect(try fixture.sandbox.storedFiles().isEmpty)
    }

    @Test func theReportIsJUnit() async throws {
        let fixture = try await Fixture(faults: ["delete:status=500"])
        let path = fixture.runner.home.file("report.xml")
        _ = try await fixture.smoke(["--junit", path])
        let parse = "import sys,xml.etree.ElementTree as E;s=E.parse(sys.argv[1]).getroot().find('testsuite');"
        let script =
            parse + "print(s.get('tests'),s.get('failures'),len(s.findall('testcase/failure')),"
            + "len(s.findall('testcase')),s.get('skipped'))"
        let parsed = try await ChildProcess.run("/usr/bin/env", ["python3", "-c", script, path])
        #expect(parsed.output == "8 1 1 8 1\n")
    }

    @Test(arguments: [true, false])
    func aReportThatCannotBeWrittenIsDetectedBeforeTheFirstCheck(isClip: Bool) async throws {
        let fixture = try await Fixture()
        let clip = try fixture.runner.home.write("clip.mp4", "a clip".utf8)
        let report = try await fixture.smoke(["--junit", isClip ? clip : "/no/such/directory/report.xml"])
        #expect(report.result.exitCode == 2)
        let message =
            isClip
            ? "\"\(clip)\" exists and is not a JUnit report; it was not changed"
            : "cannot write \"/no/such/directory/report.xml\": no such file or directory"
        #expect(report.result.errors.contains("mediactl: error: \(message)\n"), "\(report.result.errors)")
        #expect(!(try await fixture.sandbox.requests().contains { $0.path.hasPrefix("/api") }))
        #expect(try Data(contentsOf: URL(filePath: clip)) == Data("a clip".utf8))
    }

    @Test func aReportReplacesAnEarlierOne() async throws {
        let fixture = try await Fixture()
        let path = fixture.runner.home.file("report.xml")
        for _ in 0..<2 { #expect(try await fixture.smoke(["--junit", path]).result.exitCode == 0) }
    }
}
