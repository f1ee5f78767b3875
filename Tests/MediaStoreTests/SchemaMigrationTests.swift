import Foundation
import GRDB
import MediaSystem
import Testing

@testable import MediaStore

@Suite("Schema migrations")
struct SchemaMigrationTests {
    let fixture = Result { try StoreFixture() }

    /// Every schema but the latest, as SQL in `fixtures/store`. A new migration requires the SQL of the schema before
    /// it.
    static let earlierVersions = Array(1..<StoreSchema.tokens.migrations.count)

    @Test("each earlier schema is migrated, and its rows are kept", arguments: earlierVersions)
    func migrates(version: Int) throws {
        let fixture = try fixture.get()
        try makeDatabase(version, fixture)
        let store = try fixture.store()

        let tokens = try store.tokens(host: "gighive.app", includeSuperseded: true)
        #expect(tokens.map(\.token) == [try sampleToken("b"), try sampleToken("a")])
        #expect(tokens.map(\.isSuperseded) == [false, true])
        #expect(tokens.map(\.label) == ["Encore", nil])
        #expect(tokens.first?.createdAt == Date(timeIntervalSince1970: 1_780_000_000.5))
        let upload = try #require(try store.uploads(states: [.sending], host: nil).first)
        #expect(upload.path == Array("a.mp4".utf8))
        #expect(upload.fields == [UploadField("label", "Encore")])
        #expect(upload.identity?.inode == 42)
        #expect(upload.transport == .multipart)
        #expect(!upload.isGuest)
        #expect(try store.tusRecord(upload.uploadID) == nil)
        #expect(try store.guestReceipt(upload.uploadID) == nil)
        try store.remove(tokens[0])
        #expect(try store.add(tokens[0]) == false)
    }

    @Test("a migrated database stores data that only the latest schema supports", arguments: earlierVersions)
    func usable(version: Int) async throws {
        let fixture = try fixture.get()
        try makeDatabase(version, fixture)
        let store = try fixture.store()
        let upload = try #require(try store.uploads(states: [.sending], host: nil).first)
        let record = TusRecord(uploadID: upload.uploadID, parts: [TusRecord.Part(start: 0, byteCount: 12)])
        try await store.save(record)
        #expect(try store.tusRecord(upload.uploadID) == record)
        try await store.commit(upload.uploadID, UploadChange(transport: .tus), token: nil, guest: sampleReceipt)
        #expect(try store.upload(upload.uploadID)?.transport == .tus)
        #expect(try store.guestReceipt(upload.uploadID) == sampleReceipt)
        let standing = GuestStanding(state: "approved", notedAt: Date(timeIntervalSince1970: 1_780_000_000))
        try store.note(standing, of: upload.uploadID)
        #expect(try store.guestStandings() == [upload.uploadID: standing])
        var facts = StoredFacts()
        facts.eventDate = "2026-05-01"
        let stored = StoredFile(host: "gighive.app", fileID: 18, checksumSHA256: "", facts: facts)
        try await store.commit(upload.uploadID, UploadChange(), token: nil, stored: stored)
        #expect(try store.storedFiles(host: nil) == [stored])
    }

    @Test("the receipts of 0.1.0 are kept, without a known state")
    func receipts() throws {
        let fixture = try fixture.get()
        try makeDatabase(3, fixture)
        let store = try fixture.store()
        #expect(try store.guestReceipt("u-guest") == GuestReceipt(nonce: "nonce-of-a-guest", jobID: 7))
        #expect(try store.guestStandings().isEmpty)
        #expect(try store.storedFiles(host: nil).isEmpty)
    }

    @Test("a migrated database has the schema of a new one", arguments: earlierVersions)
    func sameSchema(version: Int) throws {
        let migrated = try fixture.get()
        try makeDatabase(version, migrated)
        let new = try StoreFixture()
        let stores = (try migrated.store(), try new.store())
        #expect(try schema(migrated) == schema(new))
        #expect(try schema(new).contains { $0.contains("guest_receipts") })
        withExtendedLifetime(stores) {}
    }

    @Test("many processes may migrate at once")
    func concurrentMigration() throws {
        let fixture = try fixture.get()
        try makeDatabase(1, fixture)
        let workers = try (0..<16).map { _ in try WorkerProcess(["open", fixture.directory.path]) }
        #expect(try workers.map { try $0.line() } == Array(repeating: "opened", count: 16))
        #expect(try workers.map { try $0.wait() } == Array(repeating: 0, count: 16))
        #expect(try fixture.store().tokens(host: nil).count == 1)
    }

    private func makeDatabase(_ version: Int, _ fixture: StoreFixture) throws {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("fixtures/store/schema-\(version).sql")
        let sql = try String(contentsOf: file, encoding: .utf8)
        let database = try fixture.rawDatabase()
        try database.writeWithoutTransaction { try $0.execute(sql: sql) }
        try database.close()
        #expect(chmod(fixture.databasePath, 0o600) == 0)
    }

    private func schema(_ fixture: StoreFixture) throws -> [String] {
        try fixture.rawDatabase().read { db in
            try String.fetchAll(db, sql: "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name")
                + String.fetchAll(db, sql: "PRAGMA user_version")
        }
    }
}
