import Foundation
import GRDB
import MediaSystem
import Testing

@testable import MediaStore

@Suite("Upload journal")
struct JournalTests {
    let fixture: StoreFixture
    let store: TokenStore
    private let identity = FileIdentity(
        device: .max,
        inode: 1 << 63,
        size: 12,
        modificationNanoseconds: 1_780_000_000_123_456_789,
        changeNanoseconds: -1
    )

    init() throws {
        fixture = try StoreFixture()
        store = try fixture.store()
    }

    @Test("a row is read back unchanged, with a path that is not UTF-8 and an inode above 2⁶³")
    func roundTrip() throws {
        var record = sampleRecord(identity: identity)
        record.path = [0xff, 0x2f, 0x0a]
        record.sizeBytes = 13
        record.updatedAt += 1
        record.checksumSHA256 = String(repeating: "d", count: 64)
        record.fileID = 7
        record.attempts = 2
        record.httpStatus = 201
        record.failureCode = "none"
        record.transport = .tus
        record.isGuest = true
        try store.insert(record)
        #expect(try store.upload(record.uploadID) == record)
        let bare = sampleRecord()
        try store.insert(bare)
        #expect(try store.upload(bare.uploadID) == bare)
    }

    @Test("a renamed code of 0.1.0 is read under its new name")
    func oldCode() throws {
        var record = sampleRecord(identity: identity)
        record.failureCode = "outcome_unknown"
        try store.insert(record)
        #expect(try store.upload(record.uploadID)?.failureCode == "unknown_outcome")
    }

    @Test("a change with a specified time has that time")
    func timeOfChange() throws {
        let record = sampleRecord(identity: identity)
        try store.insert(record)
        try store.update(record.uploadID, UploadChange(attempts: 2, updatedAt: record.updatedAt))
        #expect(try store.upload(record.uploadID)?.updatedAt == record.updatedAt)
        try store.update(record.uploadID, UploadChange(attempts: 3))
        #expect(try store.upload(record.uploadID)?.updatedAt != record.updatedAt)
    }

    @Test("a change without a specified time has the time of the store's clock")
    func clock() async throws {
        let now = Date(timeIntervalSince1970: 1_800_000_000)
        let store = try TokenStore(in: fixture.directory, now: { now })
        let record = sampleRecord(identity: identity)
        try store.insert(record)
        try store.update(record.uploadID, UploadChange(attempts: 2))
        #expect(try store.upload(record.uploadID)?.updatedAt == now)
        try await store.note(record.uploadID, UploadChange(attempts: 3, updatedAt: record.updatedAt))
        try await store.commit(record.uploadID, UploadChange(state: .done), token: nil)
        #expect(try store.upload(record.uploadID)?.updatedAt == now)
    }

    @Test("a change modifies only its own columns")
    func update() throws {
        var record = sampleRecord(identity: identity)
        try store.insert(record)
        try store.update(record.uploadID, UploadChange(state: .sending, attempts: 1))
        try store.update(record.uploadID, UploadChange(httpStatus: 500))
        let found = try #require(try store.upload(record.uploadID))
        #expect(found.updatedAt > record.updatedAt)
        record.state = .sending
        record.attempts = 1
        record.httpStatus = 500
        record.updatedAt = found.updatedAt
        #expect(found == record)
    }

    @Test("a failure is removed only by an explicit change, and a new one replaces it")
    func clearedFailure() throws {
        var record = sampleRecord()
        record.httpStatus = 500
        record.failureCode = "server_error"
        try store.insert(record)
        try store.update(record.uploadID, UploadChange(state: .sending))
        #expect(try store.upload(record.uploadID)?.failureCode == "server_error")
        #expect(try store.upload(record.uploadID)?.httpStatus == 500)
        try store.update(record.uploadID, UploadChange(clearsFailure: true))
        let cleared = try #require(try store.upload(record.uploadID))
        #expect(cleared.failureCode == nil)
        #expect(cleared.httpStatus == nil)
        #expect(cleared.state == .sending)
        try store.update(
            record.uploadID,
            UploadChange(httpStatus: 400, failureCode: "refused", clearsFailure: true)
        )
        #expect(try store.upload(record.uploadID)?.failureCode == "refused")
        #expect(try store.upload(record.uploadID)?.httpStatus == 400)
    }

    @Test("fields and transport can be corrected")
    func corrected() throws {
        let record = sampleRecord()
        try store.insert(record)
        try store.update(record.uploadID, UploadChange(fields: [UploadField("label", "é")], transport: .tus))
        let found = try #require(try store.upload(record.uploadID))
        #expect(found.fields == [UploadField("label", "é")])
        #expect(found.transport == .tus)
        #expect(found.path == record.path)
        try store.update(record.uploadID, UploadChange(fields: []))
        #expect(try store.upload(record.uploadID)?.fields == [])
    }

    @Test("a change to an unknown row, and a second row with the same ID, are errors")
    func wrongRows() throws {
        #expect(throws: StoreError.self) { try store.update("u-unknown", UploadChange(state: .done)) }
        let record = sampleRecord()
        try store.insert(record)
        #expect(throws: StoreError.self) { try store.insert(record) }
    }

    @Test("rows are found by state and host, newest first")
    func byState() throws {
        for (id, state, host, seconds) in [
            ("u-1", UploadState.sending, "a", 1.0), ("u-2", .done, "a", 2), ("u-3", .sending, "b", 3),
            ("u-4", .sending, "a", 4), ("u-5", .unknownOutcome, "a", 5),
        ] {
            try store.insert(sampleRecord(id, state: state, host: host, at: seconds))
        }
        #expect(try store.uploads(states: [.sending], host: "a").map(\.uploadID) == ["u-4", "u-1"])
        #expect(
            try store.uploads(states: [.sending, .unknownOutcome], host: nil).map(\.uploadID) == [
                "u-5", "u-4", "u-3", "u-1",
            ]
        )
        #expect(try store.uploads(states: [], host: nil).count == 5)
    }

    @Test("rows are found by the identity of the file, newest first")
    func byIdentity() throws {
        var changed = identity
        changed.changeNanoseconds += 1
        try store.insert(sampleRecord("u-1", identity: identity, at: 1))
        try store.insert(sampleRecord("u-2", identity: identity, at: 2))
        try store.insert(sampleRecord("u-3", identity: changed))
        try store.insert(sampleRecord("u-4", host: "other", identity: identity))
        try store.insert(sampleRecord("u-5", identity: nil))
        #expect(try store.uploads(identity: identity, host: "gighive.app").map(\.uploadID) == ["u-2", "u-1"])
    }

    @Test("rows are found by the checksum of the upload, newest first")
    func byChecksum() throws {
        let checksum = String(repeating: "d", count: 64)
        for (id, host, sum, seconds) in [
            ("u-1", "a", checksum, 1.0), ("u-2", "a", checksum, 2), ("u-3", "b", checksum, 3),
            ("u-4", "a", String(repeating: "e", count: 64), 4), ("u-5", "a", nil, 5),
        ] {
            var record = sampleRecord(id, host: host, at: seconds)
            record.checksumSHA256 = sum
            try store.insert(record)
        }
        #expect(try store.uploads(checksumSHA256: checksum, host: "a").map(\.uploadID) == ["u-2", "u-1"])
    }

    @Test(
        "a journal of 100,000 rows is searched, never scanned",
        arguments: [
            (UploadRow.isFile, "uploads_by_file"),
            (UploadRow.hasChecksum, "uploads_by_checksum"),
            (UploadRow.isIn([.sending, .unknownOutcome]), "uploads_by_state"),
            ("upload_id = ?", "sqlite_autoindex_uploads_1"),
        ]
    )
    func indexed(condition: String, index: String) throws {
        let plan = try store.connection.read { db in
            let sql = Stored<UploadRecord>.select(where: UploadRow.newest(condition))
            let statement = try db.makeStatement(sql: "EXPLAIN QUERY PLAN " + sql)
            // The plan does not depend on the values.
            statement.setUncheckedArguments(StatementArguments())
            return try Row.fetchAll(statement).map { $0["detail"] as String }
        }
        #expect(plan.contains { $0.hasPrefix("SEARCH uploads USING INDEX \(index) (") })
        #expect(!plan.contains { $0.hasPrefix("SCAN") })
    }

    @Test("IDs are unique, and consist of u- and 16 base-32 characters")
    func newIDs() {
        let ids = (0..<1000).map { _ in TokenStore.newUploadID() }
        #expect(Set(ids).count == ids.count)
        #expect(ids.allSatisfy { $0.wholeMatch(of: /u-[a-z2-7]{16}/) != nil })
    }
}
