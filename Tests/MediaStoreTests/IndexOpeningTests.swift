import Foundation
import GRDB
import TestSupport
import Testing

@testable import MediaStore

@Suite("Opening the sync index")
struct IndexOpeningTests {
    let fixture: IndexFixture

    init() throws { fixture = try IndexFixture() }

    @Test("the settings are applied, and only the owner can read the files")
    func settings() throws {
        let index = try fixture.index()
        #expect(index.warnings == [])
        let expected = [
            "synchronous": 1, "busy_timeout": 30_000, "cache_size": -8192, "mmap_size": 0, "wal_autocheckpoint": 8192,
            "application_id": 0x4D44_4349, "user_version": 1,
        ]
        for (name, value) in expected {
            #expect(try index.connection.write { try Int.fetchOne($0, sql: "PRAGMA \(name)") } == value, "\(name)")
        }
        #expect(try index.connection.write { try String.fetchOne($0, sql: "PRAGMA journal_mode") } == "wal")
        for name in ["index.sqlite", "index.sqlite-wal", "index.sqlite-shm"] {
            #expect(try permissions(fixture.directory.file(name)) == 0o600, "\(name)")
        }
        try index.synchronize([[samplePhoto(1)]])
    }

    enum Damage: CaseIterable {
        case empty, text, foreign, unmarked, truncated, logWithoutDatabase
    }

    @Test("an unusable index is moved aside and replaced, with a warning", arguments: Damage.allCases)
    func replaced(damage: Damage) throws {
        try make(damage, fixture)
        let before = try? Data(contentsOf: URL(fileURLWithPath: fixture.path))
        let index = try fixture.index()
        #expect(index.warnings.count == 1)
        #expect(index.warnings.first?.contains(fixture.path) == true)
        try index.synchronize([[samplePhoto(1)]])
        #expect(try index.all() == [samplePhoto(1)])
        let aside = try? Data(contentsOf: URL(fileURLWithPath: fixture.path + ".corrupt"))
        #expect(aside == before)
        #expect(try fixture.index().warnings == [])
    }

    private func make(_ damage: Damage, _ fixture: IndexFixture) throws {
        let file = URL(fileURLWithPath: fixture.path)
        switch damage {
        case .empty: try Data().write(to: file)
        case .text: try Data(String(repeating: "not a database\n", count: 1000).utf8).write(to: file)
        case .logWithoutDatabase: try Data("log".utf8).write(to: URL(fileURLWithPath: fixture.path + "-wal"))
        case .foreign: try change(fixture, "CREATE TABLE t (x); PRAGMA application_id = 42")
        case .unmarked: try change(fixture, "CREATE TABLE t (x)")
        case .truncated:
            try fixture.index().synchronize([(1...500).map { samplePhoto($0) }])
            try Data(contentsOf: file).dropLast(5000).write(to: file)
        }
        // Written by Foundation with the permissions of the umask.
        chmod(fixture.path, 0o600)
        chmod(fixture.path + "-wal", 0o600)
    }

    private func change(_ fixture: IndexFixture, _ sql: String) throws {
        let database = try fixture.rawDatabase()
        try database.writeWithoutTransaction { try $0.execute(sql: sql) }
        try database.close()
    }

    @Test("damaged content is an error when it is read, and the next start replaces the index")
    func damageInside() throws {
        try fixture.index().synchronize([(1...500).map { samplePhoto($0) }])
        let file = URL(fileURLWithPath: fixture.path)
        var bytes = try Data(contentsOf: file)
        bytes.replaceSubrange(bytes.count / 2..<bytes.count, with: Data(repeating: 0x5a, count: bytes.count / 2))
        try bytes.write(to: file)
        chmod(fixture.path, 0o600)
        do {
            let index = try fixture.index()
            #expect(index.warnings == [])
            #expect(try storeErrorKind { _ = try index.all() } == .corrupt)
        }
        let index = try fixture.index()
        #expect(index.warnings.count == 1)
        try index.synchronize([[samplePhoto(1)]])
        #expect(try fixture.index().warnings == [])
    }

    @Test("suspected damage that is not confirmed does not cause data loss")
    func wrongSuspicion() throws {
        try fixture.index().synchronize([[samplePhoto(1)]])
        IndexRepair.noteDamage(fixture.path)
        #expect(try permissions(fixture.path + ".suspect") == 0o600)
        let index = try fixture.index()
        #expect(index.warnings == [])
        #expect(try index.all() == [samplePhoto(1)])
        #expect(!FileManager.default.fileExists(atPath: fixture.path + ".suspect"))
    }

    @Test("an index written by a later version is refused and left unchanged")
    func newer() throws {
        try fixture.index().synchronize([[samplePhoto(1)]])
        try change(fixture, "PRAGMA user_version = 2")
        let before = try Data(contentsOf: URL(fileURLWithPath: fixture.path))
        #expect(try storeErrorKind { _ = try fixture.index() } == .newerVersion)
        #expect(try Data(contentsOf: URL(fileURLWithPath: fixture.path)) == before)
    }

    @Test("a link in place of the index is refused")
    func symbolicLink() throws {
        let target = fixture.temporary.file("elsewhere")
        try Data().write(to: URL(fileURLWithPath: target))
        try makeLink(fixture.path, to: target)
        #expect(try storeErrorKind { _ = try fixture.index() } == .unsafe)
        #expect(try Data(contentsOf: URL(fileURLWithPath: target)).isEmpty)
    }

    @Test("a directory without write permission is detected at opening", arguments: ["index", "library"])
    func readOnly(command: String) throws {
        #expect(chmod(fixture.directory.path, 0o500) == 0)
        defer { chmod(fixture.directory.path, 0o700) }
        let worker = try WorkerProcess([command, fixture.directory.path], through: WorkerProcess.withoutPrivileges)
        #expect(try worker.line() == "error notWritable")
        #expect(try worker.wait() == 12)
    }

    @Test("on a network file system the rollback journal is used, without shared memory")
    func network() throws {
        let index = try SyncIndex(in: fixture.directory, fileSystem: .network, busyLimit: .seconds(30))
        try index.synchronize([[samplePhoto(1)], [samplePhoto(2)]])
        #expect(try index.connection.write { try String.fetchOne($0, sql: "PRAGMA journal_mode") } == "truncate")
        try index.forEachBlock(of: IndexFixture.server, where: PhotoFilter()) { block in
            try index.setOrigin(IndexFixture.tablet, ofPhotos: block.map(\.id), server: IndexFixture.server)
        }
        #expect(try index.all().map(\.originDevice) == [IndexFixture.tablet, IndexFixture.tablet])
        #expect(!FileManager.default.fileExists(atPath: fixture.path + "-shm"))
    }

    @Test("an index that another process locks longer than the timeout is reported as busy")
    func busy() throws {
        let index = try SyncIndex(in: fixture.directory, fileSystem: .local, busyLimit: .zero)
        try fixture.rawDatabase().writeWithoutTransaction { db in
            try db.execute(sql: "BEGIN IMMEDIATE")
            #expect(try storeErrorKind { try index.forget(IndexFixture.server) } == .busy)
            #expect(try index.state(of: IndexFixture.server) == nil)
            try db.execute(sql: "ROLLBACK")
        }
    }
}
