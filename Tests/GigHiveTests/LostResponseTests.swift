import Foundation
import MediaStore
import MediaTransport
import Synchronization
import TestSupport
import Testing

@testable import GigHive

/// Truncated and lost responses, and the results of queries.
@Suite(.prompt) struct LostResponseTests {
    @Test func aCutResponseWithAWholeTokenIsDone() async throws {
        let bench = try Workbench(
            try FakeGigHive { request, connection, server, _ in
                guard request.path == "/api/uploads.php" else { return false }
                let response = server.store(request.fileContent).response
                try connection.write("HTTP/1.1 201 Created\r\nContent-Length: 9999\r\n\r\n" + response.dropLast(2))
                connection.close()
                return true
            }
        )
        let result = await bench.uploader.upload(try bench.prepare())
        #expect(result.state == .done)
        #expect(result.hasDeleteToken)
    }

    /// How a response is lost after the file was stored.
    enum Loss: String, Sendable, CaseIterable {
        case closed, reset, cutInToken, badGateway, serverError, noID, whitespace
    }

    @Test(arguments: Loss.allCases) func aLostResponseOfAStoredFileIsTokenLost(_ loss: Loss) async throws {
        let bench = try Workbench(
            try FakeGigHive { request, connection, server, _ in
                guard request.path == "/api/uploads.php" else { return false }
                let file = server.store(request.fileContent)
                switch loss {
                case .closed: connection.close()
                case .reset: connection.reset()
                case .cutInToken: try connection.respond(201, String(file.response.dropLast(20)))
                case .badGateway: try connection.respond(502, "<html>", type: "text/html")
                case .serverError: try connection.respond(500, #"{"message":"1406 Data too long"}"#)
                case .noID: try connection.respond(201, "{}")
                case .whitespace: try connection.respond(201, String(repeating: " ", count: 1 << 20))
                }
                return true
            },
            retries: 3
        )
        let result = await bench.uploader.upload(try bench.prepare())
        #expect(result.state == .tokenLost)
        #expect(result.error?.code == .tokenLost)
        #expect(result.error?.fileID == 18)
        #expect(result.fileID == 18)
        #expect(try bench.row()?.state == .tokenLost)
        #expect(bench.server.uploads.count == 1)
        #expect(bench.rescueFiles.isEmpty)
    }

    @Test func afterALostResponseAnAbsentFileIsSentAgainOnlyAfterAQuery() async throws {
        let bench = try Workbench(
            try FakeGigHive { request, connection, _, number in
                guard request.path == "/api/uploads.php", number == 1 else { return false }
                connection.close()
                return true
            },
            retries: 1
        )
        let result = await bench.uploader.upload(try bench.prepare())
        #expect(result.state == .done)
        #expect(result.attempts == 2)
        let paths = bench.server.requests.map(\.path)
        let first = try #require(paths.firstIndex(of: "/api/uploads.php"))
        let again = try #require(paths.lastIndex(of: "/api/uploads.php"))
        #expect(paths[first..<again].contains("/db/database.php"))
        #expect(paths[first..<again].contains("/audio/\(abcChecksum).mp4"))
    }

    @Test func aFileThatAppearsLateIsFoundByPolling() async throws {
        let checks = Mutex(0)
        var bench = try Workbench(
            try FakeGigHive { request, connection, server, _ in
                if request.path.hasPrefix("/video/"),
                    checks.withLock({
                        $0 += 1; return $0 == 3
                    })
                {
                    server.store("abc")
                }
                guard request.path == "/api/uploads.php" else { return false }
                connection.close()
                return true
            }
        )
        bench.options.processingTime = .seconds(60)
        let result = await bench.uploader.upload(try bench.prepare())
        #expect(result.state == .tokenLost)
        #expect(checks.withLock { $0 } == 3)
    }

    @Test func aServerWithoutAClearResponseLeavesTheOutcomeUnknown() async throws {
        let bench = try Workbench(
            try FakeGigHive { request, connection, _, _ in
                if request.path == "/api/uploads.php" {
                    connection.close()
                } else {
                    try connection.respond(503, "")
                }
                return true
            },
            retries: 3
        )
        let result = await bench.uploader.upload(try bench.prepare())
        #expect(result.state == .unknownOutcome)
        #expect(result.error?.code == .unknownOutcome)
        #expect(try bench.row()?.state == .unknownOutcome)
        #expect(bench.server.uploads.count == 1)
    }

    @Test func aPeerWithoutHTTPIsQueriedThreeTimes() async throws {
        var bench = try Workbench(
            try FakeGigHive { _, connection, _, _ in
                try connection.write("SSH-2.0-OpenSSH_9.2\r\n\r\n")
                connection.close()
                return true
            },
            retries: 3
        )
        bench.options.processingTime = .seconds(300)
        let result = await bench.uploader.upload(try bench.prepare())
        #expect(result.state == .unknownOutcome)
        #expect(result.error?.code == .unknownOutcome)
        #expect(bench.server.requests.map(\.method) == ["POST", "HEAD", "HEAD", "HEAD"])
    }

    @Test func aStopEndsTheQueryAndTheOutcomeStaysUnknown() async throws {
        let control = TransferControl()
        let over = Gate()
        var bench = try Workbench(
            try FakeGigHive { request, connection, _, _ in
                if request.path == "/api/uploads.php" {
                    connection.close()
                } else {
                    control.stop()
                    // No response until the upload has finished without it.
                    #expect(over.wait())
                }
                return true
            }
        )
        bench.options.processingTime = .seconds(300)
        let result = await bench.uploader.upload(try bench.prepare(), control: control)
        over.open()
        #expect(result.state == .unknownOutcome)
        #expect(result.error?.code == .unknownOutcome)
    }

    @Test func aStopDuringTheWaitBeforeATryCancels() async throws {
        let control = TransferControl()
        var bench = try Workbench(
            try FakeGigHive { _, connection, _, _ in
                try connection.respond(503, "", headers: ["Retry-After: 120"])
                return true
            },
            retries: 3
        )
        bench.options.retry.retryAfterCap = .seconds(120)
        let result = await bench.uploader.upload(try bench.prepare(), control: control) { event in
            if case .retrying = event {
                control.stop()
            }
        }
        #expect(result.state == .cancelled)
        #expect(try bench.row()?.state == .cancelled)
        #expect(bench.server.uploads.count == 1)
    }

    @Test func nothingListensIsAFailureThatMayBeRepeated() async throws {
        var server: FakeGigHive? = try FakeGigHive()
        let bench = try Workbench(try #require(server))
        server = nil
        let address = try ServerURL("http://127.0.0.1:1")
        let client = GigHiveClient(server: address, http: bench.client.http, authorization: nil)
        let uploader = Uploader(
            client: client,
            store: bench.store,
            directory: bench.directory,
            options: UploadOptions(retry: RetryPolicy(retries: 2, base: .milliseconds(1)))
        )
        let result = await uploader.upload(try bench.prepare())
        #expect(result.state == .failed)
        #expect(result.error?.code == .cannotConnect)
        #expect(result.error?.isRetryable == true)
        #expect(result.attempts == 3)
        #expect(try bench.row()?.state == .failed)
    }
}
