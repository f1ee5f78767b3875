import Foundation
import TestSupport
import Testing

@testable import MediaCLI

/// `upload --watch DIR`.
@Suite(.prompt) struct WatchTests {
    @Test func newFilesAreUploadedUntilCtrlC() async throws {
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

    /// The event of the second write arrives while the first content is being uploaded; no other process has the
    /// file open.
    @Test func aFileWrittenDuringItsUploadIsUploadedAgain() async throws {
        let scene = try await BatchScene(faults: ["upload:delay-answer=600,times=1"])
        let file = try scene.file("drop/grows.mp4")
        let command = ["upload", "--watch", scene.runner.home.file("drop"), "--json"] + scene.login
        let child = try scene.runner.start(command)
        try await scene.sandbox.waitForRequests { $0.contains { $0.bodyBytesRead > 0 } }
        let handle = try #require(FileHandle(forWritingAtPath: file))
        try handle.seekToEnd()
        try handle.write(contentsOf: Data("more".utf8))
        try handle.close()
        try await scene.sandbox.clearFaults()
        try await child.wait(for: #""state":"done""#)
        child.signal(SIGINT)
        let result = try await child.finish()
        let items = try BatchScene.records(result, "item")
        #expect(items.map { $0["state"] as? String } == ["failed", "done"], "\(result.output)")
        #expect(items.last?["size_bytes"] as? Int == 2_004)
        #expect(!result.errors.contains("another mediactl"), "\(result.errors)")
    }

    @Test func aClosedPipeEndsTheWatch() async throws {
        let scene = try await BatchScene()
        try scene.file("drop/there.mp4")
        let command = ["upload", "--watch", scene.runner.home.file("drop")] + scene.login
        let result = try await scene.runner.run(command, streams: .closedOutput)
        #expect(result.exitCode == 0)
        #expect(try scene.sandbox.storedFiles().count == 1)
    }

    @Test func aPathThatIsNotADirectoryIsRefused() async throws {
        let scene = try await BatchScene()
        let result = try await scene.upload(["--watch", "/no/such/dir"])
        #expect(result.exitCode == 2)
        #expect(result.errors.contains("cannot watch \"/no/such/dir\": no such directory"))
    }
}
