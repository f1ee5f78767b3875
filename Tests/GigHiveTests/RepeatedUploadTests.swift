import Foundation
import MediaStore
import MediaSystem
import MediaTransport
import Synchronization
import TestSupport
import Testing

@testable import GigHive

@Suite(.prompt) struct RepeatedUploadTests {
    @Test func theSameFileToTheSameEventSendsNothing() async throws {
        let bench = try Workbench(try FakeGigHive())
        let upload = try bench.prepare()
        let first = await bench.uploader.upload(upload)
        let second = await bench.uploader.upload(upload)
        #expect(second.state == .duplicate)
        #expect(second.uploadID == first.uploadID)
        #expect(second.fileID == 18)
        #expect(second.isDeletableDuplicate)
        #expect(second.error == nil)
        #expect(bench.server.uploads.count == 1)
    }

    @Test(arguments: ["force", "otherEvent", "gone", "reused"])
    func theSameFileIsSentAgain(_ reason: String) async throws {
        var bench = try Workbench(try FakeGigHive())
        let path = try bench.file()
        let prepare = { (date: String) in
            try bench.uploader.prepare(.file(path: path), details: try bench.details(date: date))
        }
        _ = await bench.uploader.upload(try prepare("2026-03-01"))
        var date = "2026-03-01"
        switch reason {
        case "force": bench.options.again = true
        case "otherEvent": date = "2026-03-02"
        case "reused":
            bench.server.remove(18)
            bench.server.store("a stranger's", id: 18)
        default: bench.server.remove(18)
        }
        let upload = try bench.uploader.prepare(.file(path: path), details: try bench.details(date: date))
        #expect(await bench.uploader.upload(upload).state == .done)
        #expect(bench.server.uploads.count == 2)
    }

    @Test func twoUploadsOfOneFileAtOnceAreOne() async throws {
        let reached = Gate()
        let go = Gate()
        let bench = try Workbench(
            try FakeGigHive { request, _, _, _ in
                if request.path == "/api/uploads.php" {
                    reached.open()
                    go.wait()
                }
                return false
            }
        )
        let upload = try bench.prepare()
        async let first = bench.uploader.upload(upload)
        #expect(await reached.opened())
        let second = await bench.uploader.upload(upload)
        go.open()
        #expect(second.state == .failed)
        #expect(second.error?.code == .uploadInProgress)
        #expect(second.uploadID == nil)
        #expect(await first.state == .done)
        #expect(bench.server.uploads.count == 1)
    }

    @Test func aFileThatAnotherProcessIsAboutToSendIsLeftToIt() async throws {
        let bench = try Workbench(try FakeGigHive())
        let upload = try bench.prepare()
        let name = SourceLock.name(of: try #require(upload.identity), host: bench.host)
        let lock = try #require(try UploadLock.acquire(name, in: bench.directory))
        let result = await bench.uploader.upload(upload)
        #expect(result.error?.code == .uploadInProgress)
        #expect(try bench.row() == nil)
        #expect(bench.server.requests.isEmpty)
        lock.release()
        #expect(await bench.uploader.upload(upload).state == .done)
    }

    @Test func theNameOfASourceLockFitsTheLargestNumbers() {
        let identity = FileIdentity(
            device: .max,
            inode: .max,
            size: 1,
            modificationNanoseconds: 0,
            changeNanoseconds: 0
        )
        #expect(SourceLock.name(of: identity, host: "[::1]:8080").utf8.count <= 40)
        #expect(
            SourceLock.name(of: identity, host: "a.test") != SourceLock.name(of: identity, host: "b.test")
        )
    }

    // MARK: Files of exited processes

    private func abandoned(
        _ bench: Workbench,
        _ upload: PreparedUpload,
        state: UploadState = .sending,
        checksum: String? = nil,
        age: TimeInterval = 1000
    ) throws -> UploadRecord {
        let then = Date().addingTimeInterval(-age)
        let record = UploadRecord(
            uploadID: TokenStore.newUploadID(),
            path: upload.path,
            state: state,
            host: bench.host,
            baseURL: bench.client.server.description,
            fields: upload.details.fields,
            identity: upload.identity,
            sizeBytes: upload.sizeBytes,
            checksumSHA256: checksum,
            createdAt: then,
            updatedAt: then
        )
        try bench.store.insert(record)
        return record
    }

    @Test(arguments: [UploadState.sending, .sent, .unknownOutcome], [true, false])
    func anAbandonedRowIsResolvedByAQuery(_ state: UploadState, _ isStored: Bool) async throws {
        let bench = try Workbench(try FakeGigHive())
        let record = try abandoned(bench, try bench.prepare(), state: state)
        if isStored {
            bench.server.store("abc")
        }
        let result = await bench.uploader.resolve(record)
        #expect(result.state == (isStored ? .tokenLost : .failed))
        #expect(result.fileID == (isStored ? 18 : nil))
        #expect(result.uploadID == record.uploadID)
        #expect(try bench.row()?.state == result.state)
        #expect(bench.server.uploads.isEmpty)
    }

    @Test func anAbandonedRowIsResolvedBeforeItsFileIsSentAgain() async throws {
        let bench = try Workbench(try FakeGigHive())
        let upload = try bench.prepare()
        let record = try abandoned(bench, upload)
        #expect(await bench.uploader.upload(upload).state == .done)
        let paths = bench.server.requests.map(\.path)
        #expect(paths.first == "/video/\(abcChecksum).mp4")
        #expect(try bench.store.upload(record.uploadID)?.state == .failed)
    }

    @Test func anAbandonedFileThatIsOnTheServerIsNotSentAgain() async throws {
        let bench = try Workbench(try FakeGigHive())
        let upload = try bench.prepare()
        let record = try abandoned(bench, upload)
        bench.server.store("abc")
        let result = await bench.uploader.upload(upload)
        #expect(result.state == .tokenLost)
        #expect(result.error?.code == .tokenLost)
        #expect(result.uploadID == record.uploadID)
        #expect(bench.server.uploads.isEmpty)
    }

    @Test func aFileThatChangedSinceLeavesTheOutcomeUnknown() async throws {
        let bench = try Workbench(try FakeGigHive())
        let record = try abandoned(bench, try bench.prepare())
        _ = try bench.file("other bytes")
        let result = await bench.uploader.resolve(record)
        #expect(result.state == .unknownOutcome)
        #expect(result.error?.code == .unknownOutcome)
        #expect(bench.server.requests.isEmpty)
    }

    @Test func aRowWithALivingOwnerIsLeftAlone() async throws {
        let bench = try Workbench(try FakeGigHive())
        let record = try abandoned(bench, try bench.prepare())
        let lock = try #require(try UploadLock.acquire(record.uploadID, in: bench.directory))
        let result = await bench.uploader.resolve(record)
        lock.release()
        #expect(result.error?.code == .uploadInProgress)
        #expect(result.state == .sending)
        #expect(try bench.row()?.state == .sending)
        #expect(bench.server.requests.isEmpty)
    }

    // MARK: Rescue files

    /// Leaves a rescue file, as a killed process does.
    private func rescue(_ bench: Workbench, _ uploadID: String, status: Int?, _ response: String) throws {
        let file = try RescueLog(in: bench.directory).reserve(for: uploadID)
        if let status {
            try file.begin(status: status)
            try Array(response.utf8).withUnsafeBytes { try file.append($0) }
        }
    }

    @Test(arguments: [1, 2]) func aRescuedResponseStoresItsTokenOnce(_ runs: Int) async throws {
        let bench = try Workbench(try FakeGigHive())
        let record = try abandoned(bench, try bench.prepare(), checksum: abcChecksum)
        let file = FakeFile(id: 7, content: "abc")
        var warnings: [UploadWarning] = []
        for _ in 1...runs {
            try rescue(bench, record.uploadID, status: 201, file.response)
            warnings += try await RescueAdoption.run(store: bench.store, directory: bench.directory)
        }
        #expect(warnings == [.rescued(uploadID: record.uploadID, fileID: 7)])
        let entries = try bench.store.tokens(host: bench.host, fileID: 7)
        #expect(entries.map(\.token.secret) == [file.token])
        #expect(entries.first?.label == "one")
        #expect(entries.first?.fileName == "clip.mp4")
        #expect(try bench.row()?.state == .done)
        #expect(bench.rescueFiles.isEmpty)
        #expect(bench.server.requests.isEmpty)
    }

    @Test(arguments: [
        // The row has no checksum to compare, so the refusal is confirmed later.
        (409, #"{"existing_asset_id":7,"checksum_sha256":"\#(abcChecksum)"}"#, UploadState.unknownOutcome),
        (409, #"{"existing_file_id":7,"checksum_sha256":"\#(abcChecksum)"}"#, .unknownOutcome),
        (400, "{}", .failed), (401, "<html>", .failed), (413, "<html>", .failed),
        (500, "{}", .unknownOutcome), (502, "<html>", .unknownOutcome), (201, #"{"id":7,"delete_tok"#, .unknownOutcome),
        (201, #"{"id":7}"#, .done), (500, #"{"message":"1062 Duplicate entry"}"#, .unknownOutcome),
    ]) func everyRescuedResponseFinishesItsRow(_ status: Int, _ response: String, _ state: UploadState) async throws {
        let bench = try Workbench(try FakeGigHive())
        let record = try abandoned(bench, try bench.prepare())
        try rescue(bench, record.uploadID, status: status, response)
        #expect(try await RescueAdoption.run(store: bench.store, directory: bench.directory).isEmpty)
        #expect(try bench.row()?.state == state)
        #expect(try bench.store.tokens(host: nil).isEmpty)
        #expect(bench.rescueFiles.isEmpty)
    }

    @Test func aRescueFileWithoutAResponseLeavesTheRowForAQuery() async throws {
        let bench = try Workbench(try FakeGigHive())
        let record = try abandoned(bench, try bench.prepare())
        try rescue(bench, record.uploadID, status: nil, "")
        #expect(try await RescueAdoption.run(store: bench.store, directory: bench.directory).isEmpty)
        #expect(try bench.row()?.state == .sending)
        #expect(bench.rescueFiles.isEmpty)
    }

    @Test func aTokenSalvagedFromABrokenResponseIsStored() async throws {
        let bench = try Workbench(try FakeGigHive())
        let record = try abandoned(bench, try bench.prepare())
        let file = FakeFile(id: 7, content: "abc")
        try rescue(bench, record.uploadID, status: 201, String(file.response.dropLast(2)))
        #expect(try await RescueAdoption.run(store: bench.store, directory: bench.directory).count == 1)
        #expect(try bench.store.tokens(host: bench.host, fileID: 7).count == 1)
    }

    @Test func aTokenWithoutItsIDWaitsForTheID() async throws {
        let bench = try Workbench(try FakeGigHive())
        let record = try abandoned(bench, try bench.prepare())
        let file = bench.server.store("abc")
        try rescue(bench, record.uploadID, status: 201, #""delete_token":"\#(file.token)"}"#)
        let kept = try await RescueAdoption.run(store: bench.store, directory: bench.directory)
        #expect(kept == [.tokenKept(rescuePath: bench.directory.path + "/" + (bench.rescueFiles.first ?? ""))])
        #expect(bench.rescueFiles.count == 1)
        #expect(try bench.row()?.state == .finalized)
        let result = await bench.uploader.resolve(record)
        #expect(result.state == .done)
        #expect(result.error == nil)
        #expect(result.hasDeleteToken)
        #expect(try bench.store.tokens(host: nil).map(\.token.secret) == [file.token])
        #expect(bench.rescueFiles.isEmpty)
    }

    @Test(arguments: [UploadState.failed, nil])
    func aTokenThatCannotBePlacedStaysInItsFile(_ state: UploadState?) async throws {
        let bench = try Workbench(try FakeGigHive())
        let record = try state.map { try abandoned(bench, try bench.prepare(), state: $0) }
        try rescue(bench, record?.uploadID ?? "u-gone", status: 201, FakeFile(id: 7, content: "abc").response)
        let kept = try await RescueAdoption.run(store: bench.store, directory: bench.directory)
        #expect(bench.rescueFiles.count == 1)
        #expect(kept == [.tokenKept(rescuePath: bench.directory.path + "/" + (bench.rescueFiles.first ?? ""))])
    }

    @Test func aFileOfAnotherShapeThatMayHoldATokenIsNamed() async throws {
        let bench = try Workbench(try FakeGigHive())
        let path = bench.directory.path + "/rescue-u-gone-x"
        try Data(FakeFile(id: 7, content: "abc").response.utf8).write(to: URL(fileURLWithPath: path))
        let kept = try await RescueAdoption.run(store: bench.store, directory: bench.directory)
        #expect(kept == [.tokenKept(rescuePath: path)])
        #expect(bench.rescueFiles.count == 1)
    }

    // MARK: Time

    @Test func aQueryDoesNotRestartTheServersTime() async throws {
        let bench = try Workbench(
            try FakeGigHive { _, connection, _, _ in
                try connection.respond(503, "")
                return true
            }
        )
        let record = try abandoned(bench, try bench.prepare())
        let began = try bench.row()?.updatedAt
        for _ in 1...2 {
            #expect(await bench.uploader.resolve(record).state == .unknownOutcome)
            #expect(try bench.row()?.updatedAt == began)
        }
    }

    @Test func aServerThatRefusesConnectionsIsNotQueriedForLong() async throws {
        var bench = try Workbench(try FakeGigHive())
        bench.options.processingTime = .seconds(300)
        let record = try abandoned(bench, try bench.prepare(), age: 0)
        // Nothing listens on port 1.
        let nowhere = GigHiveClient(
            server: try ServerURL("http://127.0.0.1:1"),
            http: bench.client.http,
            authorization: nil
        )
        let uploader = Uploader(
            client: nowhere,
            store: bench.store,
            directory: bench.directory,
            options: bench.options,
            schedule: OutcomeInquiry.Schedule(pauses: [.milliseconds(5)])
        )
        let result = await uploader.resolve(record)
        #expect(result.state == .unknownOutcome)
        #expect(result.error?.code == .unknownOutcome)
    }

    // MARK: Lost tokens

    @Test(arguments: [true, false]) func aDuplicateReportsThatItsTokenWasLostHere(_ isSameFile: Bool) async throws {
        let bench = try Workbench(
            try FakeGigHive { request, connection, server, number in
                guard request.path == "/api/uploads.php" else { return false }
                if number == 1 {
                    server.store(request.fileContent)
                    connection.close()
                } else {
                    try connection.respond(409, #"{"existing_asset_id":18}"#)
                }
                return true
            }
        )
        let upload = try bench.prepare()
        #expect(await bench.uploader.upload(upload).state == .tokenLost)
        let again = isSameFile ? upload : try bench.prepare(name: "copy.mp4")
        let result = await bench.uploader.upload(again)
        #expect(result.state == .duplicate)
        #expect(result.warnings == [.tokenLostEarlier])
        #expect(bench.server.uploads.count == (isSameFile ? 1 : 2))
    }

    @Test func resolvingAdoptsARescueFileFirst() async throws {
        let bench = try Workbench(try FakeGigHive())
        let record = try abandoned(bench, try bench.prepare())
        let file = FakeFile(id: 7, content: "abc")
        try rescue(bench, record.uploadID, status: 201, file.response)
        let result = await bench.uploader.resolve(record)
        #expect(result.state == .done)
        #expect(result.hasDeleteToken)
        #expect(result.fileID == 7)
        #expect(bench.server.requests.isEmpty)
    }
}
