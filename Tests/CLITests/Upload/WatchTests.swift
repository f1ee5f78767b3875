import Foundation
import TestSupport
import Testing

@testable import MediaCLI

/// `upload --watch DIR`.
@Suite(.prompt) struct WatchTests {
    @Test func whatAppearsIsSentUntilCtrlC() async throws {
        let scene = try await BatchScene()
        let drop = scene.runner.home.file("drop")
        try scene.file("drop/there.mp4")
        let moved = try scene.file("moved.mp4")
        let report = scene.runner.home.file("report.json")
        let child = try scene.runner.start(["upload", "--watch", drop, "--json", "--report", report] + scene.login)
        try await child.wait(for: #"/drop/there.mp4","upload_id""#)
        _ = try scene.text("drop/notes.txt", "no media")
        try FileManager.default.moveItem(atPath: moved, toPath: drop + "/moved.mp4")
        try await child.wait(for: #"/drop/moved.mp4","upload_id""#)
        child.signal(SIGINT)
        let result = try await child.finish()
        #expect(result.exitCode == 130)
        for line in result.lines {
            try JSONSchemaTests.expectExactShape(line, schema: "upload")
        }
        let last = try #require(result.lines.last)
        #expect(last.contains(#""items":2,"planned":0,"done":2"#) && last.contains(#""signal":"SIGINT""#))
        #expect(try scene.sandbox.storedFiles().count == 2)
        #expect((try BatchScene.report(report)["items"] as? [Any])?.count == 2)
    }

    @Test func nobodyWhoReadsTheResultsEndsIt() async throws {
        let scene = try await BatchScene()
        try scene.file("drop/there.mp4")
        let command = ["upload", "--watch", scene.runner.home.file("drop")] + scene.login
        let result = try await scene.runner.run(command, streams: .closedOutput)
        #expect(result.exitCode == 0)
        #expect(try scene.sandbox.storedFiles().count == 1)
    }

    @Test func aDirectoryThatIsNoneIsRefused() async throws {
        let scene = try await BatchScene()
        let result = try await scene.upload(["--watch", "/no/such/dir"])
        #expect(result.exitCode == 2)
        #expect(result.errors.contains("cannot watch \"/no/such/dir\": no such directory"))
    }
}
