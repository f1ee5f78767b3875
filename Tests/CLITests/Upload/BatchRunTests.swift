import Foundation
import TestSupport
import Testing

@testable import MediaCLI

/// Many files in one run: results, report, retry, argument order, interruption.
@Suite struct BatchRunTests {
    @Test func everyFileHasOneResultAndIsInTheReport() async throws {
        let fixture = try await BatchFixture()
        let files = try (0..<6).map { try fixture.file("\($0).mp4") }
        let report = fixture.runner.home.file("report.json")
        let result = try await fixture.upload(files + ["/no/such.mp4", "--json", "--report", report, "-j", "3"])
        #expect(result.exitCode == 3)
        try result.expectShapes("upload")
        let items = try result.records()
        #expect(items.count == 7 && items.count { $0["state"] as? String == "done" } == 6)
        #expect(result.errors.contains("mediactl: error: cannot read \"/no/such.mp4\": no such file"))

        let text = try String(contentsOfFile: report, encoding: .utf8)
        try JSONSchemaTests.expectExactShape(text, schema: "upload-report")
        let lines = try #require(try BatchFixture.report(report)["items"] as? [[String: Any]])
        #expect(lines.map { $0["path"] as? String } == files + ["/no/such.mp4"])
        #expect(lines.map { $0["state"] as? String } == Array(repeating: "done", count: 6) + ["failed"])
        let left = try FileManager.default.contentsOfDirectory(atPath: fixture.runner.home.path)
        #expect(!left.contains { $0.hasSuffix(".part") })
    }

    @Test func retryFailedUploadsFailedFilesWithTheirDetails() async throws {
        let fixture = try await BatchFixture(faults: ["upload:status=500,times=1", "upload:status=500,times=1"])
        let files = try (0..<3).map { try fixture.file("in/\($0).mp4") }
        let report = fixture.runner.home.file("report.json")
        let first = try await fixture.upload(
            files + [
                "-j", "1", "--retries", "0", "--fail-fast", "--label", "Song {n}", "--report", report,
                "--settle-timeout", "1",
            ]
        )
        #expect(first.exitCode != 0)
        let before = try #require(try BatchFixture.report(report)["items"] as? [[String: Any]])
        #expect(before.map { $0["state"] as? String } == ["failed", "not_started", "not_started"])
        #expect(before.map { $0["label"] as? String } == ["Song 1", "Song 2", "Song 3"])
        try await fixture.sandbox.clearFaults()

        let again = try await fixture.upload(["--retry-failed", report, "--report", report, "--json"])
        #expect(again.exitCode == 0)
        let items = try again.records()
        #expect(Set(items.compactMap { $0["label"] as? String }) == ["Song 1", "Song 2", "Song 3"])

        let done = try await fixture.upload(["--retry-failed", report])
        #expect(done.exitCode == 0 && done.output.isEmpty)
    }

    @Test func retryFailedWalksADirectoryThatCouldNotBeRead() async throws {
        let (fixture, file) = try await BatchFixture.withFile("in/locked/a.mp4")
        let directory = fixture.runner.home.file("in/locked")
        let report = try fixture.text(
            "report.json",
            """
            {"schema":"mediactl.upload-report/1","working_directory":"/",
             "items":[{"path":"\(directory)","state":"failed"}]}
            """
        )
        let refused = try await fixture.upload(["--retry-failed", report])
        #expect(refused.exitCode == 2 && refused.errors.contains("hint: specify the files in it, or add --recursive"))
        let result = try await fixture.upload(["--retry-failed", report, "--recursive", "--json"])
        #expect(result.exitCode == 0)
        #expect(try result.records().map { $0["path"] as? String } == [file])
    }

    @Test func aReportThatCannotBeWrittenIsDetectedBeforeTheFirstByte() async throws {
        let (fixture, file) = try await BatchFixture.withFile("a.mp4")
        let result = try await fixture.upload([file, "--report", "/no/such/report.json"])
        #expect(result.exitCode == 2)
        #expect(result.errors.contains("cannot write \"/no/such/report.json\": no such file or directory"))
        #expect(try await fixture.sandbox.posts() == 0)
    }

    /// For example `--report *.mp4`, and `--manifest m.csv --report m.csv`.
    @Test(arguments: ["first.mp4", "m.csv", #"{"schema":"other"}"#])
    func aReportReplacesNothingButReports(_ name: String) async throws {
        let (fixture, file) = try await BatchFixture.withFile("a.mp4")
        let taken = try name.hasSuffix(".mp4") ? fixture.file(name) : fixture.text("taken", name)
        let before = try Data(contentsOf: URL(filePath: taken))
        let result = try await fixture.upload([file, "--report", taken])
        #expect(result.exitCode == 2)
        let message = "error: \"\(taken)\" exists and is not an upload report; it was not changed\n"
        #expect(result.errors.contains(message), "\(result.errors)")
        #expect(try await fixture.sandbox.posts() == 0)
        #expect(try Data(contentsOf: URL(filePath: taken)) == before)
    }

    /// The files appear between the check at the start and the end of a run.
    @Test func aReportReplacesNothingThatAppearedDuringTheRun() throws {
        let directory = try TemporaryDirectory()
        let (media, device) = (directory.file("a.mp4"), directory.file("device"))
        let reports = try [media, device].map { try NewFile(replacing: Array($0.utf8), .upload) }
        try Data("media".utf8).write(to: URL(filePath: media))
        try makeLink(device, to: "/dev/null")
        let error = #expect(throws: UserFacingError.self) { try reports[0].write("{}") }
        #expect(error?.code == "report_failed" && error?.message.contains("it was not changed") == true)
        #expect(try Data(contentsOf: URL(filePath: media)) == Data("media".utf8))
        try reports[1].write("{}")
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: device) == "/dev/null")
    }

    @Test func aReportReplacesOnlyRegularFiles() async throws {
        let (fixture, file) = try await BatchFixture.withFile("a.mp4")
        let target = try fixture.text("target.json", "")
        let link = fixture.runner.home.file("link.json")
        try makeLink(link, to: "target.json")
        #expect(try await fixture.upload([file, "--report", link]).exitCode == 0)
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == "target.json")
        #expect(try BatchFixture.report(target)["schema"] as? String == "mediactl.upload-report/1")

        // A symbolic link, so that an error does not overwrite a device.
        let stream = fixture.runner.home.file("stream")
        try makeLink(stream, to: "/dev/stdout")
        let streamed = try await fixture.upload([file, "-q", "--report", stream])
        #expect(streamed.exitCode == 0 && streamed.output.contains(#"{"schema":"mediactl.upload-report/1""#))
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: stream) == "/dev/stdout")
    }

    /// What the command writes to the file before and after the report is kept.
    @Test(arguments: [
        (">", "/dev/stdout", #""type":"start""#), (">", "\"$0\"", #""type":"summary""#),
        ("2>", "/dev/stderr", "mediactl: trace: "),
    ])
    func aReportIsAddedToRedirectedOutput(_ redirection: String, _ report: String, _ other: String) async throws {
        let (fixture, file) = try await BatchFixture.withFile("a.mp4")
        let target = fixture.runner.home.file("target")
        let script = "exec \"$@\" --report \(report) \(redirection) \"$0\""
        let result = try await fixture.runner.run(
            ["upload", file, "--json", "-v"] + fixture.login,
            through: ["/bin/sh", "-c", script, target]
        )
        #expect(result.exitCode == 0, "\(result)")
        let text = try String(contentsOfFile: target, encoding: .utf8)
        #expect(text.contains(other) && text.contains(#"{"schema":"mediactl.upload-report/1""#), "\(text)")
    }

    @Test func filesWithoutTokenAreReportedInOneNote() async throws {
        let fixture = try await BatchFixture(faults: ["upload:no-token"])
        let files = try (0..<6).map { try fixture.file("in/\($0).mp4") }
        let result = try await fixture.upload(files)
        #expect(result.exitCode == 0)
        #expect(result.errors.components(separatedBy: "File uploaded successfully, but no delete token").count == 4)
        #expect(result.errors.contains("no delete token: 3 more files; use -v to list them"))
    }

    @Test func aFileOfAnotherKindIsNotAReport() async throws {
        let fixture = try await BatchFixture()
        let file = try fixture.text("r.json", #"{"schema":"other","items":[]}"#)
        let result = try await fixture.upload(["--retry-failed", file])
        #expect(result.exitCode == 2 && result.errors.contains("is not an upload report"))
    }

    @Test func sameFileTwiceIsSentOnce() async throws {
        let (fixture, file) = try await BatchFixture.withFile("a.mp4")
        let result = try await fixture.upload([file, file, "--json"])
        #expect(result.exitCode == 0)
        let summary = try #require(try result.records("summary").first)
        #expect(summary["done"] as? Int == 1 && summary["duplicate"] as? Int == 1 && summary["skipped"] as? Int == 1)
        #expect(try result.records().map { $0["state"] as? String } == ["done", "duplicate"])
        #expect(try await fixture.sandbox.posts() == 1)
        #expect(try fixture.sandbox.storedFiles().count == 1)
    }

    /// The files of a large batch are checked in parallel.
    @Test func aLargeBatchIsCheckedInItsOrder() async throws {
        let fixture = try await BatchFixture()
        let files = try (0..<300).map { try fixture.file("in/\($0).mp4", byteCount: $0 % 100 == 50 ? 0 : 64) }
        let result = try await fixture.upload(files + ["--dry-run", "--json"])
        let items = try result.records()
        #expect(items.map { $0["path"] as? String } == files)
        let failed = items.filter { $0["state"] as? String == "failed" }
        #expect(failed.map { $0["path"] as? String } == [files[50], files[150], files[250]])
        #expect(result.exitCode == 3)
    }

    @Test func aLargeBatchIsReportedInShort() async throws {
        let fixture = try await BatchFixture()
        let files = try (0..<25).map { try fixture.file("in/\($0).mp4") }
        let first = try await fixture.upload([fixture.runner.home.file("in"), "-r"])
        #expect(first.exitCode == 0)
        #expect(first.lines.count == 25 && first.lines.allSatisfy { $0.hasPrefix("uploaded ") })
        #expect(first.errors.contains("mediactl: note: 25 of 25 files on the server, "))

        try FileManager.default.removeItem(atPath: files[0])
        let missing = try fixture.text("list", (files + ["/no/a.mp4", "/no/b.mp4"]).joined(separator: "\n"))
        let again = try await fixture.upload(["--files-from", missing])
        #expect(again.exitCode == 3)
        #expect(again.errors.components(separatedBy: "hint: check the spelling of the path").count == 2)
    }

    @Test func settingsOfTransfersFollowThePrecedence() async throws {
        let runner = try BinaryRunner()
        try makeDirectory(runner.home.file("config/mediactl"))
        try Data("jobs: 2\ntransport: tus\nprofiles:\n  p: {jobs: 3, chunk_size: 1M}\n".utf8)
            .write(to: URL(fileURLWithPath: runner.home.file("config/mediactl/config.yaml")))
        let shown = try await runner.run(["config", "show", "--json"])
        #expect(shown.output.contains(#""name":"jobs","value":"2""#))
        #expect(shown.output.contains(#""name":"transport","value":"tus""#))
        let profile = try await runner.run(["config", "show", "--json", "--profile", "p"])
        #expect(profile.output.contains(#""name":"jobs","value":"3""#))
        #expect(profile.output.contains(#""name":"chunk_size","value":"1048576""#))
        let named = try await runner.run(["config", "show", "--json"], extra: ["MEDIACTL_JOBS": "5"])
        #expect(
            named.output.contains(#""name":"jobs","value":"5","source":""#) && named.output.contains("MEDIACTL_JOBS")
        )
        let wrong = try await runner.run(["upload", "a.mp4", "-j", "17"])
        #expect(wrong.exitCode == 2 && wrong.errors.contains("is not a whole number from 1 to 16"))
        let small = try await runner.run(["upload", "a.mp4", "--chunk-size", "1K"])
        #expect(small.exitCode == 2 && small.errors.contains("is less than 64K"))
    }
}
