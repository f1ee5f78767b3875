import Foundation
import GRDB
import MediaSystem
import Testing

@testable import MediaStore

@Suite("Migrations of the library")
struct LibraryMigrationTests {
    let fixture = Result { try StoreFixture() }

    /// Every schema but the latest, as SQL in `fixtures/store`. A new migration requires the SQL of the schema before
    /// it.
    static let earlierVersions = Array(1..<StoreSchema.library.migrations.count)

    @Test("each earlier schema is migrated, and its rows are kept", arguments: earlierVersions)
    func migrates(version: Int) async throws {
        let fixture = try fixture.get()
        try makeLibrary(version, fixture)
        let store = try LibraryStore(in: fixture.directory)
        let server = "https://photos.example"
        #expect(try store.login(for: server)?.apiKey == "key-1")
        #expect(try store.deviceToken(for: server, isRenewed: false) == "mediactl-0000")
        let copy = try #require(try store.copies(ofPhotos: ["photo-1"], server: server).first)
        #expect(copy.path == Array("/photos/a.jpg".utf8))
        #expect(copy.identity?.inode == 42)
        let captures = try store.captures()
        #expect(captures.map(\.path) == (version < 2 ? [] : [[0x2f, 0xff]]))
        let device = try store.captureDevice(for: "https://capture.example")
        #expect(device?.deviceID == (version < 2 ? nil : "d-2"))
        #expect(try store.tapeSummaries().isEmpty)
        #expect(try store.albumTombstones().isEmpty)
    }

    @Test("a migrated library stores captures and tapes", arguments: earlierVersions)
    func usable(version: Int) throws {
        let fixture = try fixture.get()
        try makeLibrary(version, fixture)
        do {
            let store = try LibraryStore(in: fixture.directory)
            try store.keep(fullCapture())
            try store.keep(sampleDevice())
            try store.create(TapeRecord(id: sampleID(1), title: "Summer", createdAt: TapeFixture.start))
            _ = try store.addClips([fullClip(2)], to: sampleID(1), at: nil, now: TapeFixture.start)
            try store.keep(sampleLink(sampleID(1)))
        }
        let reopened = try LibraryStore(in: fixture.directory)
        #expect(try reopened.capture(fullCapture().id) == fullCapture())
        #expect(try reopened.captureDevice(for: sampleDevice().server) == sampleDevice())
        #expect(try reopened.clips(of: sampleID(1)).map(\.source) == [fullClip(2).source])
        #expect(try reopened.albumLinks(of: sampleID(1)) == [sampleLink(sampleID(1))])
    }

    @Test("a migrated library has the schema of a new one", arguments: earlierVersions)
    func sameSchema(version: Int) throws {
        let migrated = try fixture.get()
        try makeLibrary(version, migrated)
        let new = try StoreFixture()
        let stores = (try LibraryStore(in: migrated.directory), try LibraryStore(in: new.directory))
        #expect(try schema(migrated) == schema(new))
        #expect(try schema(new).contains { $0.contains("captures_by_media") })
        #expect(try schema(new).contains { $0.contains("album_tombstones") })
        withExtendedLifetime(stores) {}
    }

    @Test("many processes may migrate at once")
    func concurrentMigration() throws {
        let fixture = try fixture.get()
        try makeLibrary(1, fixture)
        let workers = try (0..<8).map { _ in try WorkerProcess(["library", fixture.directory.path]) }
        #expect(try workers.map { try $0.line() } == Array(repeating: "opened", count: 8))
        #expect(try workers.map { try $0.wait() } == Array(repeating: 0, count: 8))
    }

    private func makeLibrary(_ version: Int, _ fixture: StoreFixture) throws {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("fixtures/store/library-\(version).sql")
        let path = fixture.directory.file("library.sqlite")
        let database = try fixture.rawDatabase(path)
        let sql = try String(contentsOf: file, encoding: .utf8)
        try database.writeWithoutTransaction { try $0.execute(sql: sql) }
        try database.close()
        #expect(chmod(path, 0o600) == 0)
    }

    private func schema(_ fixture: StoreFixture) throws -> [String] {
        try fixture.rawDatabase(fixture.directory.file("library.sqlite")).read { db in
            try String.fetchAll(db, sql: "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name")
                + String.fetchAll(db, sql: "PRAGMA user_version")
        }
    }
}
