import Foundation
import GRDB
import TestSupport
import Testing

@testable import MediaStore

@Suite("Durability and sharing")
struct DurabilityTests {
    let fixture = Result { try StoreFixture() }

    @Test(
        "a token is synced before commit returns",
        .enabled(if: WorkerProcess.hasStrace, "requires strace: scripts/setup.sh test")
    )
    func syncBeforeReturn() throws {
        let fixture = try fixture.get()
        let trace = fixture.directory.path + ".trace"
        let worker = try WorkerProcess(
            ["commit", fixture.directory.path],
            through: ["strace", "-f", "-y", "-e", "trace=fdatasync,fsync,write", "-o", trace]
        )
        #expect(try worker.wait() == 0)
        let lines = try String(contentsOfFile: trace, encoding: .utf8).split(separator: "\n").map(String.init)
        let begin = try #require(lines.firstIndex { $0.contains("committing") })
        let end = try #require(lines.firstIndex { $0.contains("uploaded") })
        let syncs = lines[begin..<end].filter { $0.contains("sync(") && $0.contains("tokens.sqlite-wal") }
        #expect(!syncs.isEmpty)
    }

    @Test("callers that wait at the same time share one commit")
    func groupCommit() async throws {
        let fixture = try fixture.get()
        let store = try fixture.store()
        let before = try fixture.commitCount()
        store.commits.writer.suspend()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for fileID in 1...50 {
                group.addTask {
                    try await store.commit("u-none", UploadChange(), token: sampleEntry(fileID: Int64(fileID)))
                }
            }
            while store.commits.waitingCount < 50 { await Task.yield() }
            store.commits.writer.resume()
            try await group.waitForAll()
        }
        #expect(try store.tokens(host: nil).count == 50)
        #expect(try fixture.commitCount() - before == 1)
    }

    @Test("an error is reported to exactly those callers whose rows failed")
    func errorsOfAGroup() async throws {
        let store = try fixture.get().store()
        let failed = await withTaskGroup(of: Int?.self) { group in
            for number in 0..<60 {
                group.addTask {
                    do {
                        let token = number % 3 == 0 ? nil : try sampleEntry(fileID: Int64(number))
                        try await store.commit("u-unknown", UploadChange(state: .done), token: token)
                        return nil
                    } catch {
                        return number
                    }
                }
            }
            return await group.reduce(into: Set<Int>()) { failed, number in
                if let number { failed.insert(number) }
            }
        }
        #expect(failed == Set((0..<60).filter { $0 % 3 == 0 }))
        #expect(Set(try store.tokens(host: nil).map(\.fileID)) == Set((0..<60).filter { $0 % 3 != 0 }.map(Int64.init)))
    }

    @Test("state and token of a commit are stored together or not at all")
    func oneTransaction() async throws {
        let fixture = try fixture.get()
        let store = try fixture.store()
        let record = sampleRecord()
        try store.insert(record)
        try await fixture.rawDatabase().write {
            try $0.execute(sql: "CREATE TRIGGER no_tokens BEFORE INSERT ON tokens BEGIN SELECT raise(ABORT, 'no'); END")
        }
        await #expect(throws: StoreError.self) {
            try await store.commit(record.uploadID, UploadChange(state: .done), token: sampleEntry())
        }
        #expect(try store.upload(record.uploadID)?.state == .planned)
    }

    @Test(
        "a disk full at commit is an error, and the token is stored once there is space",
        .enabled(if: SmallDisk.isAvailable, SmallDisk.requirement)
    )
    func fullDiskAtCommit() async throws {
        let disk = try SmallDisk(kibibytes: 512)
        let store = try TokenStore(in: DataDirectory.open(disk.path + "/data"))
        try disk.fill()
        var kind: StoreError.Kind?
        for fileID in 1...500 where kind == nil {
            do {
                try await store.commit("u-none", UploadChange(), token: sampleEntry(fileID: Int64(fileID)))
            } catch let error as StoreError {
                kind = error.kind
            }
        }
        #expect(kind == .full)
        try disk.empty()
        try await store.commit("u-none", UploadChange(), token: sampleEntry(fileID: 1000))
        #expect(try store.tokens(host: nil).first { $0.fileID == 1000 } != nil)
    }
}
