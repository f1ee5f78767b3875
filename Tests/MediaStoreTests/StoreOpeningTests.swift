import Foundation
import GRDB
import TestSupport
import Testing

@testable import MediaStore

@Suite("Opening the store")
struct StoreOpeningTests {
    let fixture: StoreFixture

    init() throws { fixture = try StoreFixture() }

    @Test("settings for durability are enabled, read back from the connection")
    func settings() throws {
        let store = try fixture.store()
        for (name, value) in [
            ("synchronous", "2"), ("journal_mode", "wal"), ("busy_timeout", "30000"), ("secure_delete", "1"),
            ("foreign_keys", "1"), ("temp_store", "2"), ("application_id", "1296319316"),
        ] {
            #expect(try store.connection.setting(name) == value, "\(name)")
        }
    }

    @Test("files have mode 0600, including -wal and -shm, and the creation leaves no other files")
    func createdFiles() throws {
        let store = try fixture.store()
        let names = try fixture.names()
        #expect(names == ["locks", "tokens.sqlite", "tokens.sqlite-shm", "tokens.sqlite-wal"])
        for name in names.dropFirst() { #expect(try permissions(fixture.directory.file(name)) == 0o600, "\(name)") }
        withExtendedLifetime(store) {}
    }

    @Test("files have mode 0600 with any umask", arguments: ["000", "077", "777"])
    func umask(mask: String) throws {
        let path = fixture.temporary.file("below/data")
        let shell = ["sh", "-c", "umask \(mask); exec \"$@\"", "sh"]
        let worker = try WorkerProcess(["fill", path, "1"], through: WorkerProcess.withoutPrivileges + shell)
        #expect(try worker.wait() == 0)
        #expect(try permissions(path) == 0o700)
        #expect(try permissions(path + "/tokens.sqlite") == 0o600)
    }

    @Test("16 processes that create the store concurrently all get the same one")
    func concurrentCreation() throws {
        let path = fixture.directory.path
        let workers = try (1...16).map { try WorkerProcess(["fill", path, "\($0)"]) }
        #expect(try workers.map { try $0.wait() } == Array(repeating: 0, count: 16))
        #expect(try fixture.store().tokens(host: nil).count == 16)
        #expect(try fixture.names().allSatisfy { !$0.contains(".new") })
        #expect(try FileManager.default.contentsOfDirectory(atPath: path + "/locks") == [])
    }

    @Test("a partial file left by a process killed during its creation has no effect")
    func leftoverOfCreation() throws {
        for name in ["tokens.sqlite.new", "tokens.sqlite.new-wal", "locks/tokens.sqlite.lock"] {
            try fixture.write(Array("half".utf8), to: fixture.directory.file(name))
        }
        let store = try fixture.store()
        #expect(try store.add(sampleEntry()))
        #expect(try fixture.names() == ["locks", "tokens.sqlite", "tokens.sqlite-shm", "tokens.sqlite-wal"])
    }

    // MARK: Refusals

    enum Damage: String, CaseIterable {
        case empty, text, truncated, overwrittenPage, foreign, unmarked, newer, logWithoutDatabase
    }

    @Test("a foreign or damaged store is refused and left unchanged", arguments: Damage.allCases)
    func refused(damage: Damage) throws {
        let path = damage == .logWithoutDatabase ? fixture.databasePath + "-wal" : fixture.databasePath
        try make(damage, fixture)
        let before = try fixture.bytes(path)
        let kind = try storeErrorKind { _ = try fixture.store() }
        #expect(kind == (damage == .newer ? .newerVersion : .corrupt))
        #expect(try fixture.bytes(path) == before)
    }

    private func make(_ damage: Damage, _ fixture: StoreFixture) throws {
        let path = fixture.databasePath
        switch damage {
        case .empty: try fixture.write([], to: path)
        case .text: try fixture.write(Array(String(repeating: "not a database\n", count: 1000).utf8), to: path)
        case .logWithoutDatabase: try fixture.write([1, 2, 3], to: path + "-wal")
        case .foreign: try fixture.execute("CREATE TABLE t (x); PRAGMA application_id = 42")
        case .unmarked: try fixture.execute("CREATE TABLE t (x)")
        case .newer:
            try fillAndClose(fixture)
            try fixture.execute("PRAGMA user_version = \(StoreSchema.tokens.migrations.count + 1)")
        case .truncated:
            try fillAndClose(fixture)
            try fixture.write(Array(try fixture.bytes(path).dropLast(5000)), to: path)
        case .overwrittenPage:
            try fillAndClose(fixture)
            var bytes = try fixture.bytes(path)
            bytes.replaceSubrange(4096..<8192, with: Array(repeating: 0x5a, count: 4096))
            try fixture.write(bytes, to: path)
        }
    }

    private func fillAndClose(_ fixture: StoreFixture) throws {
        let store = try fixture.store()
        for fileID in 1...100 { _ = try store.add(sampleEntry(fileID: Int64(fileID))) }
    }

    @Test("a link in place of the database is refused", arguments: ["tokens.sqlite", "tokens.sqlite-wal"])
    func symbolicLink(name: String) throws {
        let target = fixture.temporary.file("elsewhere")
        try fixture.write([], to: target)
        try makeLink(fixture.directory.file(name), to: target)
        #expect(try storeErrorKind { _ = try fixture.store() } == .unsafe)
        #expect(try fixture.bytes(target) == [])
    }

    @Test("another user's database is refused", .enabled(if: geteuid() == 0, "requires root"))
    func foreignOwner() throws {
        _ = try fixture.store()
        #expect(chown(fixture.databasePath, 65534, 65534) == 0)
        #expect(try storeErrorKind { _ = try fixture.store() } == .unsafe)
    }

    @Test("a database that is locked longer than the timeout is reported as busy")
    func busy() throws {
        let store = try TokenStore(in: fixture.directory, fileSystem: .local, busyLimit: .zero)
        let other = try fixture.rawDatabase()
        try other.writeWithoutTransaction { db in
            try db.execute(sql: "BEGIN IMMEDIATE")
            #expect(try storeErrorKind { _ = try store.add(sampleEntry()) } == .busy)
            try db.execute(sql: "ROLLBACK")
        }
    }

    // MARK: Detection before sending

    @Test("a directory or database without write permission is detected at opening", arguments: [true, false])
    func readOnly(existing: Bool) throws {
        if existing { _ = try fixture.store() }
        for name in try fixture.names() where !name.hasPrefix("locks") {
            #expect(chmod(fixture.directory.file(name), 0o400) == 0)
        }
        #expect(chmod(fixture.directory.path, 0o500) == 0)
        defer { chmod(fixture.directory.path, 0o700) }
        let worker = try WorkerProcess(["open", fixture.directory.path], through: WorkerProcess.withoutPrivileges)
        #expect(try worker.line() == "error notWritable")
        #expect(try worker.wait() == 12)
    }

    @Test(
        "a full disk is detected at opening, whether the store exists or not",
        .enabled(if: SmallDisk.isAvailable, SmallDisk.requirement)
    )
    func fullDisk() throws {
        let disk = try SmallDisk(kibibytes: 512)
        let directory = try DataDirectory.open(disk.path + "/data")
        try disk.fill()
        #expect(try openInWorker(directory) == "error full")
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == ["locks"])
        try disk.empty()
        #expect(try openInWorker(directory) == "opened")
        try disk.fill()
        #expect(try openInWorker(directory) == "error full")
        try disk.empty()
        #expect(try openInWorker(directory) == "opened")
    }

    @Test(
        "a full disk is detected even if another process has the files open",
        .enabled(if: SmallDisk.isAvailable, SmallDisk.requirement)
    )
    func fullDiskInUse() throws {
        let disk = try SmallDisk(kibibytes: 512)
        let directory = try DataDirectory.open(disk.path + "/data")
        let store = try TokenStore(in: directory)
        try disk.fill()
        #expect(try openInWorker(directory) == "error full")
        withExtendedLifetime(store) {}
    }

    @Test(
        "if the disk fills up at any point of the creation, there is a complete store or no store",
        .enabled(if: SmallDisk.isAvailable, SmallDisk.requirement)
    )
    func fullDiskDuringCreation() throws {
        for pages in 0..<60 {
            let disk = try SmallDisk(kibibytes: 512)
            let directory = try DataDirectory.open(disk.path + "/data")
            try disk.fill(leavingPages: pages)
            let kind = try storeErrorKind { _ = try TokenStore(in: directory) }
            #expect(kind == nil || kind == .full, "\(pages) pages")
            try disk.empty()
            #expect(try TokenStore(in: directory).add(sampleEntry()), "\(pages) pages")
        }
    }

    /// Opens the store in a separate process: a child that another test forks at this moment would keep removed files
    /// open, and their space in use, until its exec.
    private func openInWorker(_ directory: DataDirectory) throws -> String? {
        let worker = try WorkerProcess(["open", directory.path])
        defer { _ = try? worker.wait() }
        return try worker.line()
    }

    // MARK: Network file systems

    @Test("on a network file system the rollback journal is used, fully synchronized, without shared memory")
    func rollbackJournal() async throws {
        for _ in 1...2 {
            let store = try TokenStore(in: fixture.directory, fileSystem: .network, busyLimit: .seconds(30))
            #expect(try store.connection.setting("journal_mode") == "truncate")
            #expect(try store.connection.setting("synchronous") == "2")
            try await store.commit("u-none", UploadChange(), token: sampleEntry())
            #expect(try !fixture.names().contains("tokens.sqlite-shm"))
            #expect(try store.clear(host: nil) == 1)
        }
    }

    @Test("a store created on a local disk is converted to the rollback journal, and back")
    func movedStore() throws {
        for fileSystem in [FileSystemKind.local, .network, .local] {
            let store = try TokenStore(in: fixture.directory, fileSystem: fileSystem, busyLimit: .seconds(30))
            _ = try store.add(sampleEntry())
            #expect(try store.tokens(host: nil).count == 1)
        }
    }

    @Test("a network file system without locks is refused, with a hint")
    func networkWithoutLocks() throws {
        #expect {
            try TokenStore(in: fixture.directory, fileSystem: .networkWithoutLocks, busyLimit: .seconds(1))
        } throws: { error in
            guard let error = error as? StoreError else { return false }
            return error.kind == .networkFileSystem && error.detail.contains("--data-dir")
        }
        #expect(try fixture.names() == ["locks"])
    }

    @Test("local directories are distinguished from network ones")
    func detection() throws {
        #expect(try FileSystemKind.detect(fixture.directory) == .local)
    }
}
