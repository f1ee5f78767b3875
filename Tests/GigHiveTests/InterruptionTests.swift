import Foundation
import MediaStore
import MediaTransport
import Synchronization
import TestSupport
import Testing

@testable import GigHive

@Suite(.prompt) struct InterruptionTests {
    // MARK: Stops

    /// A server that reads one mebibyte of the upload, performs an action, and closes the connection.
    private func stallingServer(then act: @escaping @Sendable (ScriptedServer.Connection) -> Void) throws
        -> ScriptedServer
    {
        try ScriptedServer(receiveBuffer: 65_536) { connection, _ in
            try connection.readHead()
            try connection.write("HTTP/1.1 100 Continue\r\n\r\n")
            try connection.readBody(1 << 20)
            act(connection)
        }
    }

    private func uploader(_ bench: Workbench, _ server: ScriptedServer) throws -> Uploader {
        let client = GigHiveClient(server: try ServerURL(server.address), http: bench.client.http, authorization: nil)
        return Uploader(client: client, store: bench.store, directory: bench.directory, options: bench.options)
    }

    private func bigFile(_ bench: Workbench, megabytes: Int = 32) throws -> PreparedUpload {
        let path = try bench.file(String(repeating: "0123456789abcdef", count: megabytes << 16))
        return try bench.uploader.prepare(path, details: try bench.details())
    }

    @Test(arguments: [true, false]) func aStopDuringTheTransferCancels(_ byTask: Bool) async throws {
        let reached = Gate()
        let full = Gate()
        let server = try stallingServer { _ in
            reached.open()
            full.wait()
        }
        let bench = try Workbench(try FakeGigHive(), retries: 3)
        let uploader = try uploader(bench, server)
        let upload = try bigFile(bench)
        let control = TransferControl()
        let task = Task { await uploader.upload(upload, control: control) }
        #expect(await reached.opened())
        if byTask {
            task.cancel()
        } else {
            control.stop()
        }
        let result = await task.value
        full.open()
        #expect(result.state == .cancelled)
        #expect(result.error?.code == .cancelled)
        #expect(result.bytesSent < upload.sizeBytes)
        #expect(try bench.row()?.state == .cancelled)
        #expect(bench.rescueFiles.isEmpty)
        #expect(server.connectionCount == 1)
    }

    @Test func aStopWhileTheServerWorksWaitsForTheToken() async throws {
        let reached = Gate()
        let waiting = Gate()
        let bench = try Workbench.overriding { request, _, _, _ in
            if request.path == "/api/uploads.php" {
                reached.open()
                waiting.wait()
            }
            return false
        }
        let control = TransferControl()
        let upload = try bench.prepare()
        let uploader = bench.uploader
        async let result = uploader.upload(upload, control: control) { event in
            if case .waitingForToken = event {
                waiting.open()
            }
        }
        #expect(await reached.opened())
        control.stop()
        #expect(await result.state == .done)
        #expect(try bench.store.tokens(host: nil).count == 1)
    }

    @Test func abandoningTheTokenLeavesTheOutcomeUnknownWithoutAQuery() async throws {
        let reached = Gate()
        let over = Gate()
        let bench = try Workbench.overriding { request, connection, server, _ in
            server.store(request.fileContent)
            reached.open()
            over.wait()
            connection.close()
            return true
        }
        let control = TransferControl()
        let upload = try bench.prepare()
        let uploader = bench.uploader
        async let pending = uploader.upload(upload, control: control)
        #expect(await reached.opened())
        control.abandon()
        let result = await pending
        over.open()
        #expect(result.state == .unknownOutcome)
        #expect(result.error?.code == .unknownOutcome)
        #expect(bench.server.requests.count == 1)
        let row = try #require(try bench.row())
        #expect(row.state == .unknownOutcome)
        #expect(row.checksumSHA256 == abcChecksum)
    }

    // MARK: Changing sources

    @Test func aFileThatShrinksAbortsTheTransfer() async throws {
        let bench = try Workbench(try FakeGigHive(), retries: 3)
        let path = bench.temporary.file("clip.mp4")
        let server = try stallingServer { connection in
            truncate(path, 1 << 20)
            connection.waitForClose()
        }
        let upload = try bigFile(bench)
        let result = await (try uploader(bench, server)).upload(upload)
        #expect(result.state == .failed)
        #expect(result.error?.code == .sourceChanged)
        #expect(result.bytesSent < upload.sizeBytes)
        #expect(try bench.row()?.state == .failed)
        #expect(server.connectionCount == 1)
    }

    @Test(arguments: ["grown", "replaced"]) func aFileThatChangesIsReportedAndItsTokenKept(_ change: String)
        async throws
    {
        let path = Mutex("")
        let bench = try Workbench.overriding { request, _, _, _ in
            guard request.path == "/api/uploads.php" else { return false }
            let path = path.withLock { $0 }
            if change == "replaced" {
                unlink(path)
            }
            let file = open(path, O_CREAT | O_WRONLY | O_APPEND, 0o600)
            write(file, "more", 4)
            close(file)
            return false
        }
        path.withLock { $0 = bench.temporary.file("clip.mp4") }
        let result = await bench.uploader.upload(try bench.prepare())
        #expect(result.state == .failed)
        #expect(result.error?.code == .sourceChanged)
        #expect(result.isVerified == true)
        #expect(result.hasDeleteToken)
        #expect(try bench.store.tokens(host: nil).count == 1)
    }

    @Test func aFileChangedSinceItWasCheckedIsNotSent() async throws {
        let bench = try Workbench(try FakeGigHive())
        let upload = try bench.prepare()
        _ = try bench.file("other")
        let result = await bench.uploader.upload(upload)
        #expect(result.state == .failed)
        #expect(result.error?.code == .sourceChanged)
        #expect(bench.server.requests.isEmpty)
        #expect(try bench.row() == nil)
    }

    // MARK: Resets

    @Test func aConnectionLostDuringTheTransferIsKnownNotToHaveStored() async throws {
        let bench = try Workbench(try FakeGigHive())
        let server = try stallingServer { $0.reset() }
        let result = await (try uploader(bench, server)).upload(try bigFile(bench))
        #expect(result.state == .failed)
        #expect(result.error?.code == .connectionLost)
        #expect(result.error?.isRetryable == true)
        #expect(server.connectionCount == 1)
    }

    // MARK: A store that fails at the last moment

    @Test func aTokenThatCannotBeStoredStaysInItsRescueFileAndIsAdopted() async throws {
        let bench = try Workbench(try FakeGigHive())
        let trigger = "CREATE TRIGGER full BEFORE INSERT ON tokens BEGIN SELECT RAISE(ABORT, 'disk full'); END"
        try bench.execute(trigger)
        let result = await bench.uploader.upload(try bench.prepare())
        #expect(result.state == .finalized)
        #expect(result.error?.code == .tokenNotStored)
        #expect(result.unstoredToken?.secret == bench.server.files[0].token)
        let rescuePath = try #require(result.error?.rescuePath)
        #expect(FileManager.default.fileExists(atPath: rescuePath))
        await #expect(throws: GigHiveError.self) {
            try await RescueAdoption.run(store: bench.store, directory: bench.directory)
        }
        #expect(FileManager.default.fileExists(atPath: rescuePath))
        try bench.execute("DROP TRIGGER full")
        #expect(try await RescueAdoption.run(store: bench.store, directory: bench.directory).count == 1)
        #expect(try bench.store.tokens(host: nil).first?.token == result.unstoredToken)
        #expect(try bench.row()?.state == .done)
        #expect(bench.rescueFiles.isEmpty)
    }
}
