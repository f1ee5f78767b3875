import Foundation
import MediaStore
import TestSupport
import Testing

@testable import MediaCLI

/// `uploads status`, `resume` and `discard` of interrupted tus uploads.
@Suite struct ResumeTests {
    /// An environment with one upload that was interrupted after its first chunks.
    private func interruptedFixture() async throws -> (BatchFixture, id: String) {
        let fixture = try await BatchFixture()
        return (fixture, try await interruptedUpload("a.mp4", in: fixture))
    }

    private func interruptedUpload(_ name: String, in fixture: BatchFixture) async throws -> String {
        let file = try fixture.file(name, byteCount: 1_000_000)
        let result = try await fixture.interruptedUpload([file, "--transport", "tus", "--json"] + fixture.login)
        return try #require(try result.records().first?["upload_id"] as? String)
    }

    @Test func anInterruptedUploadIsListedAndResumed() async throws {
        let (fixture, id) = try await interruptedFixture()
        let status = try await fixture.runner.run(["uploads", "status", "--json"] + fixture.login)
        #expect(status.exitCode == 0)
        let row = try #require(try status.records().first)
        #expect(row["upload_id"] as? String == id && row["resumable"] as? Bool == true)
        #expect((row["sent_bytes"] as? Int ?? 0) > 0 && row["next"] as? String == "mediactl uploads resume \(id)")
        let text = try await fixture.runner.run(["uploads", "status"] + fixture.login)
        #expect(text.output.contains("resumable, ") && text.errors.contains("next: mediactl uploads resume \(id)"))

        let planned = try await fixture.runner.run(
            ["uploads", "resume", "--all", "--dry-run", "--json"] + fixture.login
        )
        #expect(try planned.records().first?["state"] as? String == "planned")
        let resumed = try await fixture.runner.run(["uploads", "resume", "--json", "--label", "Fixed"] + fixture.login)
        #expect(resumed.exitCode == 0)
        try status.expectShapes("uploads-status")
        try planned.expectShapes("uploads-resume")
        try resumed.expectShapes("uploads-resume")
        let item = try #require(try resumed.records().first)
        #expect(item["resumed"] as? Bool == true && item["state"] as? String == "done")
        #expect(item["label"] as? String == "Fixed" && item["has_delete_token"] as? Bool == true)
        let show = try await fixture.runner.run(["uploads", "show", "1"])
        #expect(show.output.contains("sent by       tus\n"))
    }

    /// The journal contains the directory of a relative path; the journal of 0.1.0 did not.
    @Test(arguments: [false, true]) func aRelativePathIsResumedFromAnotherDirectory(_ isOld: Bool) async throws {
        let (fixture, file) = try await BatchFixture.withFile("drop/a.mp4", byteCount: 1_000_000)
        let stopped = try await fixture.interruptedUpload(
            ["drop/a.mp4", "--transport", "tus", "--json"] + fixture.login,
            through: ["env", "-C", fixture.runner.home.path]
        )
        let item = try #require(try stopped.records().first)
        #expect(item["path"] as? String == "drop/a.mp4")
        let id = try #require(item["upload_id"] as? String)
        let database = fixture.runner.home.file("data/mediactl/tokens.sqlite")
        if isOld {
            let sql = "UPDATE uploads SET path = CAST('drop/a.mp4' AS BLOB)"
            let result = try await ChildProcess.run("sqlite3", [database, sql])
            try #require(result.exitCode == 0, "\(result.errors)")
        }

        func run(_ arguments: String..., in directory: String) async throws -> ChildResult {
            try await fixture.runner.run(["uploads"] + arguments + fixture.login, through: ["env", "-C", directory])
        }
        let status = try await run("status", "--json", in: fixture.runner.home.path)
        #expect(try status.records().first?["path"] as? String == "drop/a.mp4")
        let there = try await run("resume", id, "--dry-run", in: fixture.runner.home.path)
        #expect(there.exitCode == 0 && there.output.hasPrefix("drop/a.mp4: would be uploaded"), "\(there.errors)")
        let rehearsed = try await run("resume", id, "--dry-run", in: "/")
        let resumed = try await run("resume", id, in: "/")
        guard isOld else {
            #expect(rehearsed.output.hasPrefix("\(file): would be uploaded"), "\(rehearsed.errors)")
            #expect(resumed.exitCode == 0 && resumed.output.hasPrefix("uploaded \(file) as 1"), "\(resumed.errors)")
            return
        }
        for result in [rehearsed, resumed] {
            #expect(result.exitCode == 10 && result.output.isEmpty)
            #expect(result.errors.contains("cannot resume \"drop/a.mp4\": not found in the current directory"))
            #expect(result.errors.contains("hint: change to the directory of the upload"))
            #expect(!result.errors.contains("discard"))
        }
        let end = try await run("resume", id, in: fixture.runner.home.path)
        #expect(end.exitCode == 0 && end.output.hasPrefix("uploaded drop/a.mp4 as 1"), "\(end.errors)")
    }

    @Test func aDryRunReportsAMissingFile() async throws {
        let (fixture, id) = try await interruptedFixture()
        try FileManager.default.removeItem(atPath: fixture.runner.home.file("a.mp4"))
        let planned = try await fixture.runner.run(["uploads", "resume", id, "--dry-run"] + fixture.login)
        #expect(planned.exitCode == 10 && planned.output.isEmpty)
        #expect(planned.errors.contains("the file is missing"))
    }

    @Test(arguments: [("missing", nil as Int?, Int32(10)), ("changed", 10, 13)])
    func anUploadOfAMissingOrChangedFileIsNotResumable(_ words: String, _ byteCount: Int?, _ code: Int32) async throws {
        let (fixture, id) = try await interruptedFixture()
        let file = fixture.runner.home.file("a.mp4")
        try FileManager.default.removeItem(atPath: file)
        if let byteCount { _ = try fixture.file("a.mp4", byteCount: byteCount) }
        for options in [["--dry-run"], []] {
            let json = try await fixture.runner.run(["uploads", "status", "--json"] + options + fixture.login)
            let row = try #require(try json.records().first)
            #expect(row["resumable"] as? Bool == false && json.exitCode == 0, "\(json)")
            #expect(row["next"] as? String == "mediactl uploads discard \(id)", "\(json)")
            #expect(try json.records("summary").first?["resumable"] as? Int == 0)
            let text = try await fixture.runner.run(["uploads", "status"] + options + fixture.login)
            #expect(text.output.contains("file \(words)") && !text.output.contains("resumable"), "\(text)")
        }
        let resumed = try await fixture.runner.run(["uploads", "resume"] + fixture.login)
        #expect(resumed.exitCode == code && resumed.errors.contains("uploads discard \(id)"), "\(resumed)")
    }

    /// The new file has the same size, so only its bytes show the change.
    @Test func aDryRunReportsAChangedFile() async throws {
        let (fixture, id) = try await interruptedFixture()
        let file = URL(fileURLWithPath: fixture.runner.home.file("a.mp4"))
        try Data(repeating: 1, count: 1_000_000).write(to: file)
        let planned = try await fixture.runner.run(["uploads", "resume", id, "--dry-run"] + fixture.login)
        #expect(planned.exitCode == 13 && planned.output.isEmpty, "\(planned)")
        #expect(planned.errors.contains("changed since its upload started"), "\(planned)")
    }

    @Test func aDryRunReportsAnUploadThatAnotherProcessSends() async throws {
        let (fixture, id) = try await interruptedFixture()
        let directory = try DataDirectory.open(fixture.runner.home.file("data/mediactl"))
        let lock = try #require(try UploadLock.acquire(id, in: directory))
        defer { lock.release() }
        let planned = try await fixture.runner.run(["uploads", "resume", id, "--dry-run"] + fixture.login)
        #expect(planned.exitCode == 10 && planned.output.isEmpty, "\(planned)")
        #expect(planned.errors.contains("is being uploaded by another mediactl process"), "\(planned)")
    }

    /// The summary does not count the file as uploaded.
    @Test func aFinishedUploadIsNotResumed() async throws {
        let (fixture, id) = try await interruptedFixture()
        let command = ["uploads", "resume", id] + fixture.login
        #expect(try await fixture.runner.run(command).exitCode == 0)
        for options in [[], ["--dry-run"]] {
            let text = try await fixture.runner.run(command + options)
            #expect(text.exitCode == 10 && text.output.isEmpty, "\(text)")
            #expect(text.errors.contains("its state is done"), "\(text)")
            let json = try await fixture.runner.run(command + options + ["--json"])
            #expect(try json.records().first?["resumed"] as? Bool == false, "\(json)")
            let summary = try #require(try json.records("summary").first)
            let counts = ["done", "resumed", "failed"].map { summary[$0] as? Int }
            #expect(counts == [0, 0, 1], "\(json)")
        }
    }

    /// An error is reported even if the upload was canceled before; a canceled upload that the server still has is
    /// resumed.
    @Test func aCanceledUploadIsResumedUnlessItsFileHasChanged() async throws {
        let (fixture, id) = try await interruptedFixture()
        let database = fixture.runner.home.file("data/mediactl/tokens.sqlite")
        let sql = "UPDATE uploads SET state = 'cancelled'"
        let result = try await ChildProcess.run("sqlite3", [database, sql])
        try #require(result.exitCode == 0, "\(result.errors)")
        let path = fixture.runner.home.file("a.mp4")
        try FileManager.default.moveItem(atPath: path, toPath: path + ".kept")
        _ = try fixture.text("a.mp4", "changed")
        let command = ["uploads", "resume", id] + fixture.login
        let changed = try await fixture.runner.run(command)
        #expect(changed.exitCode == 13 && changed.output.isEmpty, "\(changed)")
        #expect(changed.errors.contains("changed since its upload started"), "\(changed)")
        try FileManager.default.removeItem(atPath: path)
        let missing = try await fixture.runner.run(command)
        #expect(missing.exitCode == 10 && missing.errors.contains("the file is missing"), "\(missing)")
        try FileManager.default.moveItem(atPath: path + ".kept", toPath: path)
        let resumed = try await fixture.runner.run(command)
        #expect(resumed.exitCode == 0 && resumed.output.hasPrefix("uploaded \(path) as 1"), "\(resumed)")
    }

    @Test func discardPromptsAndFreesTheServer() async throws {
        let (fixture, id) = try await interruptedFixture()
        let unconfirmed = try await fixture.runner.run(["uploads", "discard", id] + fixture.login)
        #expect(unconfirmed.exitCode == 2 && unconfirmed.errors.contains("--yes"))
        let planned = try await fixture.runner.run(["uploads", "discard", "u-", "-n", "--json"] + fixture.login)
        let done = try await fixture.runner.run(["uploads", "discard", id, "--yes", "--json"] + fixture.login)
        #expect(planned.exitCode == 0 && done.exitCode == 0)
        try planned.expectShapes("uploads-discard")
        try done.expectShapes("uploads-discard")
        #expect(done.output.contains(#""result":"discarded""#))
        #expect(try await fixture.control("GET", "uploads").contains("[]"))
        #expect(try await fixture.runner.run(["uploads", "status", "--json"] + fixture.login).lines.count == 2)
        let gone = try await fixture.runner.run(["uploads", "discard", "u-nothing", "--yes"])
        #expect(gone.exitCode == 5)
    }

    @Test func aDryRunListsWhatWillNotBeDiscarded() async throws {
        let (fixture, id) = try await interruptedFixture()
        #expect(try await fixture.runner.run(["uploads", "resume", id] + fixture.login).exitCode == 0)
        let planned = try await fixture.runner.run(["uploads", "discard", id, "--dry-run"] + fixture.login)
        #expect(planned.exitCode == 10 && planned.output.isEmpty)
        #expect(planned.errors.contains("its state is done"))
    }

    @Test func anUnreachableServerFailsWithTheFlag() async throws {
        let (fixture, id) = try await interruptedFixture()
        try await fixture.sandbox.stop()
        let command = ["uploads", "discard", id, "--yes", "--retries", "0"] + fixture.login
        #expect(try await fixture.runner.run(command).exitCode == 6)
        #expect(try await fixture.runner.run(command + ["--even-unreachable"]).exitCode == 0)
    }

    /// An upload in one request whose process was killed: its digest is not in the journal.
    private func killedFixture() async throws -> (BatchFixture, file: String, id: String) {
        let (fixture, file) = try await BatchFixture.withFile("a.mp4", faults: ["upload:stall"])
        let id = try await fixture.killedUpload([file, "--transport", "multipart", "--org-name", "The Larks"]) {
            $0.contains { $0.method == "POST" }
        }
        return (fixture, file, id)
    }

    private func expectNoUploads(_ fixture: BatchFixture) async throws {
        let status = try await fixture.runner.run(["uploads", "status", "--dry-run"])
        #expect(status.exitCode == 0 && status.errors.contains("no unfinished uploads"), "\(status.output)")
    }

    @Test func anInterruptedUploadIsRepeatedForItsEvent() async throws {
        let (fixture, file, _) = try await killedFixture()
        let status = try await fixture.runner.run(
            ["uploads", "status"] + fixture.login,
            extra: ["MEDIACTL_SETTLE_TIMEOUT": "0.2"]
        )
        let command = "mediactl upload --server \(fixture.sandbox.baseURL) "
        #expect(status.errors.contains(command), "\(status.errors)")
        #expect(status.errors.contains("'--org-name=The Larks'") && status.errors.contains(" \(file)\n"))
    }

    @Test func anUnknownOutcomeWithoutTheFileIsDiscarded() async throws {
        let (fixture, file, id) = try await killedFixture()
        try FileManager.default.removeItem(atPath: file)
        let status = try await fixture.runner.run(["uploads", "status"] + fixture.login)
        #expect(status.exitCode == 6 && status.errors.contains("mediactl uploads discard \(id)"), "\(status.errors)")
        let discarded = try await fixture.runner.run(["uploads", "discard", id, "--yes"] + fixture.login)
        #expect(discarded.exitCode == 0 && discarded.output.contains("discarded \(id)"), "\(discarded.errors)")
        try await expectNoUploads(fixture)
    }

    /// Neither status nor resume claims that the upload can be resumed.
    @Test func anUploadThatCanOnlyBeDiscardedIsNotResumable() async throws {
        let (fixture, file, id) = try await killedFixture()
        let before = try await fixture.runner.run(["uploads", "status", "--dry-run"])
        #expect(before.output.contains("resumable"), "\(before)")
        try FileManager.default.removeItem(atPath: file)
        let discard = "mediactl uploads discard \(id)"
        for options in [["--dry-run"], []] {
            let status = ["uploads", "status"] + options + fixture.login
            let json = try await fixture.runner.run(status + ["--json"])
            let row = try #require(try json.records().first)
            #expect(row["resumable"] as? Bool == false && row["next"] as? String == discard, "\(json)")
            let text = try await fixture.runner.run(status)
            #expect(text.output.contains("unknown outcome") && !text.output.contains("resumable"), "\(text)")
            #expect(text.errors.ranges(of: discard).count == 1 && !text.errors.contains("resume"), "\(text)")
        }
        let resumed = try await fixture.runner.run(["uploads", "resume", "--all"] + fixture.login)
        #expect(resumed.exitCode == 0 && resumed.errors.contains("no resumable uploads"), "\(resumed)")
    }

    @Test(arguments: [true, false]) func aSecondDiscardIsRefused(isOverTus: Bool) async throws {
        let (fixture, id): (BatchFixture, String)
        if isOverTus {
            (fixture, id) = try await interruptedFixture()
        } else {
            let killed = try await killedFixture()
            (fixture, id) = (killed.0, killed.id)
        }
        let command = ["uploads", "discard", id, "--yes"] + fixture.login
        let quick = ["MEDIACTL_SETTLE_TIMEOUT": "0.2"]
        let first = try await fixture.runner.run(command, extra: quick)
        #expect(first.exitCode == 0, "\(first)")
        for options in [[], ["--dry-run"]] {
            let second = try await fixture.runner.run(command + options, extra: quick)
            #expect(second.exitCode == 10 && second.output.isEmpty, "\(second)")
            let path = fixture.runner.home.file("a.mp4")
            #expect(
                second.errors == "mediactl: error: cannot discard \"\(path)\": nothing left to discard\n",
                "\(second)"
            )
        }
        // The upload is not resumed either.
        for options in [[], ["--dry-run"]] {
            let resumed = try await fixture.runner.run(["uploads", "resume", id] + options + fixture.login)
            #expect(resumed.exitCode == 10 && resumed.output.isEmpty, "\(resumed)")
            #expect(resumed.errors.contains(": nothing left to resume\n"), "\(resumed)")
            #expect(resumed.errors.contains("to upload the file as it is now, use mediactl upload"), "\(resumed)")
        }
        #expect(try fixture.sandbox.storedFiles().isEmpty)
    }

    /// The response was lost, and the token of the same file is stored from an earlier upload.
    @Test func anUploadWhoseFileIsOnTheServerIsNotDiscarded() async throws {
        let (fixture, file) = try await BatchFixture.withFile("a.mp4")
        #expect(try await fixture.upload([file]).exitCode == 0)
        try await fixture.sandbox.addFaults("upload:stall")
        let id = try await fixture.killedUpload([file, "--again", "--transport", "multipart"]) {
            $0.count { $0.method == "POST" } >= 2
        }
        try await fixture.sandbox.clearFaults()
        let result = try await fixture.runner.run(["uploads", "discard", id, "--yes"] + fixture.login)
        #expect(result.exitCode == 10 && result.output.isEmpty, "\(result)")
        #expect(result.errors.contains("cannot discard \"\(file)\": its state is done\n"), "\(result)")
        #expect(result.errors.contains("to delete the file from the server: mediactl uploads delete 1"), "\(result)")
    }

    @Test func anUnknownOutcomeOfAnUnreachableServerIsDiscardedWithTheFlag() async throws {
        let (fixture, _, id) = try await killedFixture()
        try await fixture.sandbox.stop()
        let command = ["uploads", "discard", id, "--yes", "--retries", "0"] + fixture.login
        let refused = try await fixture.runner.run(command)
        #expect(refused.exitCode == 6 && refused.errors.contains("uploads status"), "\(refused.errors)")
        #expect(try await fixture.runner.run(command + ["--even-unreachable"]).exitCode == 0)
        try await expectNoUploads(fixture)
    }

    /// A server that responds is queried instead: it may have stored the file.
    @Test func aFinalizeInFlightIsDiscardedOnlyIfTheServerIsUnreachable() async throws {
        let (fixture, file) = try await BatchFixture.withFile("a.mp4", faults: ["finalize:stall"])
        let id = try await fixture.killedUpload([file, "--transport", "tus"]) {
            $0.contains { $0.path.contains("finalize") }
        }
        let command = ["uploads", "discard", id, "--yes", "--retries", "0"] + fixture.login
        let forced = command + ["--even-unreachable"]
        let refused = try await fixture.runner.run(forced)
        #expect(refused.exitCode == 6 && refused.errors.contains("the server may be storing it"), "\(refused)")
        try await fixture.sandbox.stop()
        #expect(try await fixture.runner.run(command).exitCode == 6)
        let planned = try await fixture.runner.run(forced + ["--dry-run"])
        #expect(planned.exitCode == 0 && planned.output.contains("would be discarded"), "\(planned)")
        let discarded = try await fixture.runner.run(forced)
        #expect(discarded.exitCode == 0, "\(discarded)")
        #expect(discarded.output.contains("the server may have stored the file\n"), "\(discarded)")
        #expect(!discarded.output.contains("discarded"), "\(discarded)")
        try await expectNoUploads(fixture)
    }

    /// Without `--server`, the printed command would delete a file with the same ID on the configured server.
    @Test(arguments: [false, true]) func aPrintedDeletionNamesTheServerOfTheUpload(_ isSpecified: Bool) async throws {
        let (fixture, id) = try await interruptedFixture()
        let other = try await SandboxProcess.start()
        let resumed = try await fixture.runner.run(
            ["uploads", "resume", id] + (isSpecified ? ["--server", fixture.sandbox.baseURL] : []),
            extra: ["MEDIACTL_SERVER": other.baseURL, "MEDIACTL_PASSWORD": "", "NETRC": try fixture.netrc()]
        )
        #expect(resumed.exitCode == 0, "\(resumed)")
        let deletion = "to delete: mediactl uploads delete 1 --server \(fixture.sandbox.baseURL)\n"
        #expect(resumed.output.contains(deletion), "\(resumed)")
    }

    // MARK: Locked uploads

    @Test func aLockIsReportedAndWaitedForUntilTheLimit() async throws {
        let (fixture, id) = try await interruptedFixture()
        try await fixture.sandbox.addFaults("tus-delete:status=423")
        let command = ["uploads", "discard", id, "--yes", "--settle-timeout", "2s"] + fixture.login
        let began = ContinuousClock.now
        let refused = try await fixture.runner.run(command)
        #expect(refused.exitCode == 10, "\(refused.errors)")
        #expect(ContinuousClock.now - began < .seconds(30))
        #expect(
            refused.errors.contains(
                "mediactl: note: \"\(fixture.runner.home.file("a.mp4"))\": the server still has the upload locked; "
                    + "waiting for up to 2 s (settle_timeout)\n"
            ),
            "\(refused.errors)"
        )
        #expect(refused.errors.contains("locked on the server (423)") && refused.output.isEmpty)
        #expect(try await fixture.runner.run(["uploads", "status"] + fixture.login).output.contains("resumable, "))
        try await fixture.sandbox.clearFaults()
        #expect(try await fixture.runner.run(command).exitCode == 0)
        #expect(try await fixture.control("GET", "uploads").contains("[]"))
    }

    @Test(arguments: [(SIGINT, Int32(130)), (SIGTERM, Int32(143))])
    func aSignalEndsTheWaitForALock(_ signal: Int32, _ code: Int32) async throws {
        let (fixture, id) = try await interruptedFixture()
        try await fixture.sandbox.addFaults("tus-delete:status=423")
        for options in [[], ["--even-unreachable"]] {
            let child = try fixture.runner.start(
                ["uploads", "discard", id, "--yes", "--json"] + options + fixture.login
            )
            let seen = try await fixture.sandbox.requests().count { $0.method == "DELETE" }
            try await fixture.sandbox.waitForRequests { $0.count { $0.method == "DELETE" } > seen }
            child.signal(signal)
            let result = try await child.finish()
            #expect(result.exitCode == code, "\(result.errors)")
            #expect(result.output.contains(#""discarded":0"#) && result.output.contains(#""type":"summary""#))
        }
        // The upload is unchanged.
        try await fixture.sandbox.clearFaults()
        #expect(try await fixture.runner.run(["uploads", "resume", id] + fixture.login).exitCode == 0)
    }

    /// Nothing is resumed by accident.
    @Test func severalUploadsRequireAnIDOrAll() async throws {
        let (fixture, first) = try await interruptedFixture()
        let second = try await interruptedUpload("b.mp4", in: fixture)
        let before = try await fixture.sandbox.requests().count
        for options in [[], ["--dry-run"]] {
            let refused = try await fixture.runner.run(["uploads", "resume"] + options + fixture.login)
            #expect(refused.exitCode == 2 && refused.output.isEmpty, "\(refused)")
            #expect(
                refused.errors == """
                    mediactl: error: 2 uploads can be resumed
                    mediactl: hint: specify an ID, or use --all; list them with: mediactl uploads status

                    """
            )
        }
        #expect(try await fixture.sandbox.requests().count == before)
        let one = try await fixture.runner.run(["uploads", "resume", second] + fixture.login)
        #expect(one.exitCode == 0, "\(one)")
        // The other one is the only resumable upload now.
        let other = try await fixture.runner.run(["uploads", "resume", "--json"] + fixture.login)
        #expect(try other.records().map { $0["upload_id"] as? String } == [first], "\(other)")
    }

    @Test func withoutResumableUploadsNothingIsResumed() async throws {
        let fixture = try await BatchFixture()
        let none = try await fixture.runner.run(["uploads", "resume"] + fixture.login)
        #expect(none.exitCode == 0 && none.errors.contains("no resumable uploads"))
        let number = try await fixture.runner.run(["uploads", "resume", "18"] + fixture.login)
        #expect(number.exitCode == 2 && number.errors.contains("\"18\" is not an upload ID"))
    }

    /// Ctrl-C at the password prompt is not an error of an upload.
    @Test(arguments: [["resume", "--all"], ["discard", "ID", "--yes"]])
    func interruptingThePromptIsNotAnError(_ arguments: [String]) async throws {
        let (fixture, id) = try await interruptedFixture()
        var runner = fixture.runner
        runner.environment["MEDIACTL_PASSWORD"] = nil
        let child = try runner.start(
            ["uploads"] + arguments.map { $0 == "ID" ? id : $0 } + fixture.login,
            streams: .terminal(columns: 200)
        )
        try await child.signal(SIGINT, after: "Password for ")
        let result = try await child.finish()
        #expect(result.exitCode == 130)
        #expect(!result.output.contains("error") && !result.output.contains("hint"), "\(result.output)")
        #expect(try await fixture.runner.run(["uploads", "resume", "--all"] + fixture.login).exitCode == 0)
    }

    /// Every upload whose server has no credentials here is reported with its own command, and counted as not started.
    @Test func uploadsWithoutCredentialsAreAllReported() async throws {
        let (fixture, first) = try await interruptedFixture()
        let second = try await interruptedUpload("b.mp4", in: fixture)
        // The password belongs to another server.
        var runner = fixture.runner
        runner.environment["MEDIACTL_SERVER"] = "http://127.0.0.1:9"
        let result = try await runner.run(["uploads", "resume", "--all"])
        #expect(result.exitCode == 4)
        for (id, name) in [(first, "a.mp4"), (second, "b.mp4")] {
            #expect(
                result.errors.contains(
                    "mediactl: error: \"\(fixture.runner.home.file(name))\": no credentials for \(fixture.sandbox.baseURL); "
                        + "the specified credentials are for a different server\n"
                        + "mediactl: hint: mediactl uploads resume \(id) --server \(fixture.sandbox.baseURL)\n"
                )
            )
        }
        #expect(result.errors.contains("0 of 2 files on the server, 0 B sent, 2 not started"))
        let resumed = try await runner.run(["uploads", "resume", "--all", "--json"])
        #expect(try resumed.records().count == 2)
        #expect(try resumed.records("summary").first?["not_started"] as? Int == 2)
    }

    /// The environment takes precedence over a profile, but does not filter.
    @Test(arguments: [("here", nil, 1), ("there", nil, 0), ("there", "http://127.0.0.1:9", 1)])
    func aProfileSelectsTheUploadsToItsServer(_ profile: String, _ variable: String?, _ count: Int) async throws {
        let (fixture, _) = try await interruptedFixture()
        #expect(try await fixture.upload([try fixture.file("b.mp4")]).exitCode == 0)
        let settings = try fixture.text(
            "settings.yaml",
            "profiles: {here: {server: '\(fixture.sandbox.baseURL)'}, there: {server: 'http://127.0.0.1:9'}}"
        )
        var runner = fixture.runner
        runner.environment["MEDIACTL_SERVER"] = variable
        for command in [["status", "--dry-run"], ["resume", "--all", "--dry-run"], ["list"]] {
            let options = ["--json", "--config", settings, "--profile", profile]
            let result = try await runner.run(["uploads"] + command + options)
            #expect(try result.exitCode == 0 && result.records().count == count, "\(command): \(result)")
        }
    }

    /// The table lists an upload as resumable if and only if it is counted.
    @Test(arguments: [
        (UploadState.sending, true, "resumable"), (.unknownOutcome, true, "unknown outcome, resumable"),
        (.sending, false, "sending"),
    ])
    func theTableMatchesTheCount(_ state: UploadState, _ isResumable: Bool, _ words: String) {
        var record = JSONSchemaTests.record
        record.state = state
        var row = JournalRow(record: record)
        row.isResumable = isResumable
        #expect(TextRenderer.words(for: row) == words)
    }
}
