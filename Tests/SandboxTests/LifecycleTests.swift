import Foundation
import TestSupport
import Testing

@Suite struct LifecycleTests {
    @Test(arguments: [SIGTERM, SIGINT])
    func printsOneLineAndStopsCleanly(signal: Int32) async throws {
        let sandbox = try await SandboxProcess.start()
        let outcome = try await sandbox.stop(signal: signal)
        #expect(outcome.exitCode == 0)
        #expect(outcome.output == "listening on http://127.0.0.1:\(sandbox.port)\n")
        #expect(outcome.errors.isEmpty)
    }

    @Test func stopsCleanlyDuringAStall() async throws {
        let fixture = try await Fixture(faults: ["upload:stall,after=body"])
        let path = try fixture.file(content: "stalled")
        async let response = fixture.upload(path)
        try await fixture.sandbox.waitForRequests { $0.contains { $0.bodyBytesRead > 0 } }
        let outcome = try await fixture.sandbox.stop()
        #expect(outcome.exitCode == 0)
        #expect(try await response.status == 0)
    }

    @Test func aRestartKeepsFilesTokensAndNumbers() async throws {
        let data = try TemporaryDirectory()
        let media = try TemporaryDirectory()
        let path = try media.write("a.mp4", "kept".utf8)
        let first = try await SandboxProcess.start(data: data)
        let upload = try await curl([
            "-u", "uploader:uploader", "-F", "file=@\(path);type=video/mp4", "-F", "label=x",
            first.baseURL + "/api/uploads",
        ])
        try await first.stop()
        let second = try await SandboxProcess.start(data: data)
        let asset = try await curl("-u", "uploader:uploader", second.baseURL + "/api/uploads/1")
        #expect(try asset.string("checksum_sha256") == upload.string("checksum_sha256"))
        let token = try #require(try upload.string("delete_token"))
        let delete = try await curl([
            "-u", "uploader:uploader", "-d", #"{"asset_id":1,"delete_token":"\#(token)"}"#,
            second.baseURL + "/db/delete_media_files.php",
        ])
        #expect(try delete.int("deleted_count") == 1)
    }

    @Test(arguments: [
        ["--listen", "0.0.0.0:0"],
        ["--listen", "nonsense"],
        ["--fault", "upload:explode"],
        ["--dialect", "d5"],
        ["--user", "nopassword"],
        ["--body-timeout", "0"],
        ["--hook-delay", "-1"],
        ["--races", "soon"],
        ["--tus-max-size", "-1"],
        ["--event-link-token", "only-a-token"],
        ["--event-link-token", "token=2026-02-30,Org,band"],
    ])
    func refusesBadArguments(arguments: [String]) async throws {
        await #expect(throws: SandboxProcess.Failure.self) {
            _ = try await SandboxProcess.start(arguments: arguments)
        }
    }
}
