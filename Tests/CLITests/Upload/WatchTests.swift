import Foundation
import TestSupport
import Testing

@testable import MediaCLI

/// `upload --watch DIR`.
@Suite(.prompt) struct WatchTests {
    @Test func newFilesAreUploadedUntilCtrlC() async throws {
        let fixture = try await BatchFixture()
        let drop = fixture.runner.home.file("drop")
        try fixture.file("drop/there.mp4")
        let moved = try fixture.file("moved.mp4")
        let report = fixture.runner.home.file("report.json")
        let child = try fixture.runner.start(["upload", "--watch", drop, "--json", "--report", report] + fixture.login)
        try await child.wait(for: #"/drop/there.mp4","upload_id""#)
        _ = try fixture.text("drop/notes.txt", "no media")
        try FileManager.default.moveItem(atPath: moved, toPath: drop + "/moved.mp4")
        try await child.signal(SIGINT, after: #"/drop/moved.mp4","upload_id""#)
        let result = try await child.finish()
        #expect(result.exitCode == 130)
        try result.expectShapes("upload")
        let last = try #require(result.lines.last)
        #expect(last.contains(#""items":2,"planned":0,"done":2"#) && last.contains(#""signal":"SIGINT""#))
        #expect(try fixture.sandbox.storedFiles().count == 2)
        #expect((try BatchFixture.report(report)["items"] as? [Any])?.count == 2)
    }

    /// Other uploads retry three times.
    @Test(arguments: [([], "done"), (["--retries", "3"], "failed")])
    func aRestartOfTheServerIsWaitedFor(_ options: [String], _ state: String) async throws {
        let fixture = try await BatchFixture(faults: ["upload:early-status=503,times=4"])
        try fixture.file("drop/a.mp4")
        let command = ["upload", "--watch", fixture.runner.home.file("drop"), "--json"] + options + fixture.login
        let child = try fixture.runner.start(command)
        try await child.signal(SIGINT, after: #""state":"\#(state)""#)
        #expect(try await child.finish().records().compactMap { $0["attempts"] as? Int } == [state == "done" ? 5 : 4])
    }

    /// The server fails uploads that create the same event at the same time (trap T19).
    @Test func theFirstUploadOfAnEventIsAlone() async throws {
        let fixture = try await BatchFixture(arguments: ["--races", "0.5"])
        for number in 1...4 { try fixture.file("drop/\(number).mp4") }
        let command = ["upload", "--watch", fixture.runner.home.file("drop"), "--json"] + fixture.login
        let child = try fixture.runner.start(command)
        for number in 1...4 { try await child.wait(for: #"/drop/\#(number).mp4","upload_id""#) }
        child.signal(SIGINT)
        let items = try await child.finish().records()
        #expect(items.compactMap { $0["state"] as? String } == ["done", "done", "done", "done"])
        #expect(items.compactMap { $0["attempts"] as? Int } == [1, 1, 1, 1])
    }

    /// The event of the second write arrives while the first content is being uploaded; no other process has the
    /// file open.
    @Test func aFileWrittenDuringItsUploadIsUploadedAgain() async throws {
        let fixture = try await BatchFixture(faults: ["upload:delay-response=600,times=1"])
        let file = try fixture.file("drop/grows.mp4")
        let command = ["upload", "--watch", fixture.runner.home.file("drop"), "--json"] + fixture.login
        let child = try fixture.runner.start(command)
        try await fixture.sandbox.waitForRequests { $0.contains { $0.bodyBytesRead > 0 } }
        let handle = try #require(FileHandle(forWritingAtPath: file))
        try handle.seekToEnd()
        try handle.write(contentsOf: Data("more".utf8))
        try handle.close()
        try await fixture.sandbox.clearFaults()
        try await child.signal(SIGINT, after: #""state":"done""#)
        let result = try await child.finish()
        let items = try result.records()
        #expect(items.map { $0["state"] as? String } == ["failed", "done"], "\(result.output)")
        #expect(items.last?["size_bytes"] as? Int == 2_004)
        #expect(!result.errors.contains("another mediactl"), "\(result.errors)")
    }

    /// Programs write a file under a temporary name and rename it.
    @Test(arguments: [true, false]) func aFileRenamedOrLinkedDuringItsUploadIsNotLost(isRenamed: Bool) async throws {
        let fixture = try await BatchFixture(faults: ["upload:delay-response=600,times=1"])
        let drop = fixture.runner.home.file("drop")
        let file = try fixture.file("drop/part.mp4")
        let child = try fixture.runner.start(["upload", "--watch", drop, "-j", "2", "--json"] + fixture.login)
        try await fixture.sandbox.waitForRequests { $0.contains { $0.bodyBytesRead > 0 } }
        if isRenamed {
            try FileManager.default.moveItem(atPath: file, toPath: drop + "/whole.mp4")
        } else {
            try FileManager.default.linkItem(atPath: file, toPath: drop + "/whole.mp4")
        }
        try await fixture.sandbox.clearFaults()
        try await child.signal(SIGINT, after: #"/drop/whole.mp4","upload_id""#)
        let result = try await child.finish()
        let items = try result.records()
        #expect(items.map { $0["state"] as? String } == ["done", "duplicate"], "\(result)")
        #expect(!result.errors.contains("error:"), "\(result.errors)")
        #expect(try fixture.sandbox.storedFiles().count == 1)
    }

    @Test func aClosedPipeEndsTheWatch() async throws {
        let fixture = try await BatchFixture()
        try fixture.file("drop/there.mp4")
        let command = ["upload", "--watch", fixture.runner.home.file("drop")] + fixture.login
        let result = try await fixture.runner.run(command, streams: .closedOutput)
        #expect(result.exitCode == 0)
        #expect(try fixture.sandbox.storedFiles().count == 1)
    }

    @Test(arguments: [true, false])
    func aDirectoryThatDisappearsIsAnError(isRemoved: Bool) async throws {
        let fixture = try await BatchFixture()
        let drop = fixture.runner.home.file("drop")
        try fixture.file("drop/there.mp4")
        let child = try fixture.runner.start(["upload", "--watch", drop, "--json"] + fixture.login)
        try await child.wait(for: #""state":"done""#)
        if isRemoved {
            try FileManager.default.removeItem(atPath: drop)
        } else {
            try FileManager.default.moveItem(atPath: drop, toPath: drop + "2")
        }
        let result = try await child.finish()
        #expect(result.exitCode == 2, "\(result.errors)")
        #expect(
            result.errors.contains("mediactl: error: \"\(drop)\" no longer exists, or was renamed or unmounted\n"),
            "\(result.errors)"
        )
        #expect(try #require(result.lines.last).contains(#""exit_code":2"#), "\(result.output)")
    }

    @Test func uploadsInProgressAreFinishedWhenTheDirectoryDisappears() async throws {
        let fixture = try await BatchFixture(faults: ["upload:delay-response=600,times=1"])
        let drop = fixture.runner.home.file("drop")
        try fixture.file("drop/there.mp4")
        let child = try fixture.runner.start(["upload", "--watch", drop, "--json"] + fixture.login)
        try await fixture.sandbox.waitForRequests { $0.contains { $0.bodyBytesRead > 0 } }
        try FileManager.default.moveItem(atPath: drop, toPath: drop + "2")
        try await fixture.sandbox.clearFaults()
        let result = try await child.finish()
        #expect(result.exitCode == 2, "\(result.errors)")
        #expect(try result.records().map { $0["state"] as? String } == ["done"])
        #expect(try fixture.sandbox.storedFiles().count == 1)
    }

    @Test func aPathThatIsNotADirectoryIsRefused() async throws {
        let fixture = try await BatchFixture()
        let result = try await fixture.upload(["--watch", "/no/such/dir"])
        #expect(result.exitCode == 2)
        #expect(result.errors.contains("cannot watch \"/no/such/dir\": no such directory"))
    }
}
