import Foundation
import MediaTransport
import TestSupport
import Testing

@testable import GigHive
@testable import MediaStore

/// Adoption of the responses of exited processes while other processes are running.
@Suite struct ResponseAdoptionTests {
    let bench: Workbench

    init() throws { bench = try Workbench(try FakeGigHive()) }

    /// An upload whose process has exited, and its response.
    private func leave(_ bench: Workbench, _ file: FakeFile = FakeFile(id: 7, content: "abc")) throws -> String {
        let record = bench.uploader.record(of: try bench.prepare())
        try bench.store.insert(record)
        try bench.store.update(record.uploadID, UploadChange(state: .sent))
        try respond(file, to: [record.uploadID], bench)
        return record.uploadID
    }

    private func respond(_ file: FakeFile, to uploadIDs: [String], _ bench: Workbench) throws {
        let log = RescueLog(in: bench.directory)
        for record in try uploadIDs.map({ try log.reserve(for: $0) }) {
            try record.begin(status: 201)
            try Array(file.response.utf8).withUnsafeBytes { try record.append($0) }
        }
    }

    private func adopt(_ bench: Workbench) async throws -> [UploadWarning] {
        try await RescueAdoption.run(store: bench.store, directory: bench.directory)
    }

    @Test func theResponseToAnOwnedUploadIsLeftToItsOwner() async throws {
        let uploadID = try leave(bench)
        let lock = try #require(try UploadLock.acquire(uploadID, in: bench.directory))
        #expect(try await adopt(bench).isEmpty)
        #expect(try bench.row()?.state == .sent)
        #expect(bench.rescueFiles.count == 1)
        // The owner itself may adopt the response.
        let warnings = try await RescueAdoption.run(
            store: bench.store,
            directory: bench.directory,
            owning: uploadID
        )
        #expect(warnings == [.rescued(uploadID: uploadID, fileID: 7)])
        lock.release()
        #expect(try bench.row()?.state == .done)
        #expect(bench.rescueFiles.isEmpty)
    }

    @Test func anUploadCannotBeOwnedWhileItsResponseIsAdopted() async throws {
        let uploadID = try leave(bench)
        bench.store.commits.writer.suspend()
        let adoption = Task { try await adopt(bench) }
        while bench.store.commits.waitingCount == 0 { try await Task.sleep(for: .milliseconds(5)) }
        #expect(try UploadLock.acquire(uploadID, in: bench.directory) == nil)
        bench.store.commits.writer.resume()
        #expect(try await adoption.value.count == 1)
        #expect(try UploadLock.acquire(uploadID, in: bench.directory) != nil)
    }

    /// Without this wait, the second process would read a journal without the token that the first one is about to
    /// store.
    @Test func aSecondAdoptionWaitsForTheFirst() async throws {
        _ = try leave(bench)
        let lock = try await AdoptionLock.acquire(in: bench.directory)
        let adoption = Task { try await adopt(bench) }
        // Nothing signals the wait. On a slow machine, this test cannot fail, but it may not detect a missing lock.
        try await Task.sleep(for: .milliseconds(200))
        #expect(try bench.row()?.state == .sent)
        lock.release()
        #expect(try await adoption.value.count == 1)
        #expect(try bench.row()?.state == .done)
    }

    @Test func aFileWithSeveralResponsesIsNotAdoptedByItsPath() async throws {
        try respond(FakeFile(id: 7, content: "abc"), to: ["u-gone", "u-gone-too"], bench)
        let kept = KeptResponses(store: bench.store, directory: bench.directory)
        let ids = try kept.list().map(\.id)
        #expect(Set(ids).count == 2)
        let path = try #require(try kept.list().first?.path)
        let error = await #expect(throws: AdoptionError.self) {
            _ = try await kept.adopt(.response(path), server: bench.uploader.client.server)
        }
        guard case .severalResponses(let named) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(Set(named) == Set(ids))
        let copy = try Array(Data(contentsOf: URL(fileURLWithPath: path)))
        await #expect(throws: AdoptionError.self) {
            _ = try await kept.adopt(.body(copy), server: bench.uploader.client.server)
        }
        #expect(try bench.store.tokens(host: nil).isEmpty)
        let adoption = try await kept.adopt(.response(ids[0]), server: bench.uploader.client.server)
        #expect(adoption.entry.fileID == 7)
        // The other one is kept.
        #expect(try kept.list().map(\.id) == [ids[1]])
    }

    @Test func aCopyOfAFileWithOneResponseIsAdopted() async throws {
        try respond(FakeFile(id: 7, content: "abc"), to: ["u-gone"], bench)
        let path = bench.directory.path + "/" + (bench.rescueFiles.first ?? "")
        let copy = try Array(Data(contentsOf: URL(fileURLWithPath: path)))
        let kept = KeptResponses(store: bench.store, directory: bench.directory)
        #expect(try await kept.adopt(.body(copy), server: bench.uploader.client.server).entry.fileID == 7)
    }

    @Test func aCopyWithoutAnUploadHasTheDetailsOfTheResponse() async throws {
        let file = FakeFile(id: 7, content: "abc")
        let kept = KeptResponses(store: bench.store, directory: bench.directory)
        let entry = try await kept.adopt(.body(Array(file.response.utf8)), server: bench.uploader.client.server).entry
        #expect(entry.sizeBytes == 3)
        #expect(entry.fileName == UploadResponse.parse(status: 201, body: Array(file.response.utf8)).fileName)
        #expect(!entry.fileName.isEmpty)
    }

    /// Otherwise, the token would remain in the rescue file after the uploaded file is deleted.
    @Test func aKeptResponseWhoseTokenIsStoredIsRemoved() async throws {
        let kept = KeptResponses(store: bench.store, directory: bench.directory)
        let copy = Array(FakeFile(id: 7, content: "abc").response.utf8)
        _ = try await kept.adopt(.body(copy), server: bench.uploader.client.server)
        try respond(FakeFile(id: 7, content: "abc"), to: ["u-gone"], bench)
        let id = try #require(try kept.list().first?.id)
        #expect(try await kept.adopt(.response(id), isDryRun: true).wasStored)
        #expect(try kept.list().map(\.id) == [id])
        #expect(try await kept.adopt(.response(id)).wasStored)
        #expect(try kept.list().isEmpty)
        #expect(try bench.store.tokens(host: nil).count == 1)
    }

    @Test func aCopyOfAnAdoptedResponseIsAlreadyStored() async throws {
        _ = try leave(bench)
        _ = try await adopt(bench)
        let kept = KeptResponses(store: bench.store, directory: bench.directory)
        let copy = Array(FakeFile(id: 7, content: "abc").response.utf8)
        // The server is known from the store.
        let adoption = try await kept.adopt(.body(copy))
        #expect(adoption.wasStored)
        #expect(try bench.store.tokens(host: nil) == [adoption.entry])
        // After the deletion, the token is not stored again.
        try bench.store.remove(adoption.entry)
        await #expect {
            _ = try await kept.adopt(.body(copy), server: bench.uploader.client.server)
        } throws: { error in
            if case .removed(7)? = error as? AdoptionError { true } else { false }
        }
        #expect(try bench.store.tokens(host: nil).isEmpty)
    }
}
