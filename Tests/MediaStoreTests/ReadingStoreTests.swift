import Foundation
import GRDB
import Glibc
import TestSupport
import Testing

@testable import MediaStore

@Suite("Reading from read-only and full disks")
struct ReadingStoreTests {
    let fixture: StoreFixture

    init() throws { fixture = try StoreFixture() }

    /// Writes the files of a store, with or without a log, to `data` on a disk.
    private func makeStore(on disk: SmallDisk, hasLog: Bool) throws -> DataDirectory {
        let files = try StoreFiles.make(withLog: hasLog)
        let directory = try DataDirectory.open(disk.path + "/data")
        for (suffix, bytes) in [("", files.database), ("-wal", files.log)] {
            guard let bytes else { continue }
            try Data(bytes).write(to: URL(fileURLWithPath: directory.file("tokens.sqlite") + suffix))
        }
        return directory
    }

    @Test(
        "a store in a read-only directory is read and copied, including rows in the log",
        .enabled(if: SmallDisk.isAvailable, SmallDisk.requirement),
        arguments: [false, true]
    )
    func readOnlyDirectory(hasLog: Bool) throws {
        let disk = try SmallDisk(kibibytes: 2048)
        let directory = try makeStore(on: disk, hasLog: hasLog)
        let path = directory.path
        try disk.makeReadOnly()
        #expect(try storeErrorKind { _ = try TokenStore(in: directory) } == .notWritable)
        let store = try TokenStore(reading: DataDirectory.unchanged(path))
        #expect(store.isReadOnly)
        #expect(try store.tokens(host: nil).count == StoreFiles.tokenCount)
        try StoreBackups.copy(store, to: fixture.databasePath)
        #expect(try fixture.store().tokens(host: nil).count == StoreFiles.tokenCount)
        // The store is still read-only.
        #expect(throws: StoreError.self) { try store.add(sampleEntry()) }
        #expect(try StoreCheck(reading: DataDirectory.unchanged(path)).tokens == StoreFiles.tokenCount)
        #expect(
            try DataDirectory.entries(of: path).sorted()
                == (hasLog ? ["locks", "tokens.sqlite", "tokens.sqlite-wal"] : ["locks", "tokens.sqlite"])
        )
    }

    @Test(
        "captures and tapes are read on a read-only and on a full disk",
        .enabled(if: SmallDisk.isAvailable, SmallDisk.requirement),
        arguments: [false, true]
    )
    func library(isFull: Bool) throws {
        let disk = try SmallDisk(kibibytes: 2048)
        let path = disk.path + "/data"
        do {
            let store = try LibraryStore(in: DataDirectory.open(path))
            #expect(try !store.hasCaptures())
            try store.keep(sampleDevice())
        }
        if isFull { try disk.fill() } else { try disk.makeReadOnly() }
        let expected: StoreError.Kind = isFull ? .full : .notWritable
        #expect(try storeErrorKind { _ = try LibraryStore(in: DataDirectory.unchanged(path)) } == expected)
        let store = try LibraryStore(reading: DataDirectory.unchanged(path))
        #expect(try store.captureDevice(for: sampleDevice().server) == sampleDevice())
        #expect(throws: StoreError.self) { try store.keep(sampleDevice()) }
        #expect(isFull || store.isReadOnly)
    }

    @Test(
        "a store on a full disk is read, including rows in the log",
        .enabled(if: SmallDisk.isAvailable, SmallDisk.requirement),
        arguments: [false, true]
    )
    func fullDisk(hasLog: Bool) throws {
        let disk = try SmallDisk(kibibytes: 2048)
        let directory = try makeStore(on: disk, hasLog: hasLog)
        try disk.fill()
        #expect(try storeErrorKind { _ = try TokenStore(in: directory) } == .full)
        let store = try TokenStore(reading: directory)
        #expect(try store.tokens(host: nil).count == StoreFiles.tokenCount)
    }

    @Test(
        "a store that does not exist and cannot be created is empty",
        .enabled(if: SmallDisk.isAvailable, SmallDisk.requirement),
        arguments: ["/data", "/missing/data"]
    )
    func missingStore(name: String) throws {
        let disk = try SmallDisk(kibibytes: 64)
        if name == "/data" { _ = try DataDirectory.open(disk.path + name) }
        try disk.makeReadOnly()
        let directory = try DataDirectory.unchanged(disk.path + name)
        let store = try TokenStore(reading: directory)
        #expect(try store.isReadOnly && store.isEmpty() && store.tokens(host: nil).isEmpty)
        #expect(throws: StoreError.self) { try store.add(sampleEntry()) }
        let check = try StoreCheck(reading: directory)
        #expect(check.isEmpty && check.findings.isEmpty && check.backups.isEmpty)
        #expect(try StoredResponse.count(in: directory) == 0)
        // A copy of the empty store is a store.
        try StoreBackups.copy(store, to: fixture.databasePath)
        #expect(try fixture.store().isEmpty())
        #expect(try storeErrorKind { _ = try TokenStore(in: directory) } == .notWritable)
    }

    @Test("the copy that is read is removed", .enabled(if: SmallDisk.isAvailable, SmallDisk.requirement))
    func noCopyIsLeft() throws {
        try StoreFiles.make(withLog: true).write(to: fixture)
        let before = try fixture.bytes(fixture.databasePath + "-wal")
        let connection = try StoreConnection.snapshot(.tokens, in: fixture.directory)
        #expect(
            try connection.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM tokens") } == StoreFiles.tokenCount
        )
        let left = try FileManager.default.contentsOfDirectory(atPath: StoreConnection.temporaryDirectory)
        let copies = left.filter { $0.hasPrefix("mediactl-") && $0.utf8.count == 15 }
        for name in copies {
            let path = StoreConnection.temporaryDirectory + "/" + name
            #expect((try? FileManager.default.contentsOfDirectory(atPath: path))?.contains("tokens.sqlite") != true)
        }
        #expect(try fixture.bytes(fixture.databasePath + "-wal") == before)
    }

    @Test("reading commits nothing")
    func readingCommitsNothing() throws {
        _ = try fixture.store().add(sampleEntry())
        let before = try fixture.bytes(fixture.databasePath)
        do {
            let store = try TokenStore(reading: fixture.directory)
            #expect(try store.tokens(host: nil).count == 1)
            #expect(try fixture.bytes(fixture.databasePath + "-wal").isEmpty)
        }
        #expect(try fixture.bytes(fixture.databasePath) == before)
    }

    // MARK: Recorded checks

    /// A store above the size from which checks are recorded.
    private func largeStore(_ fixture: StoreFixture) throws {
        let store = try fixture.store()
        var entries: [TokenEntry] = []
        for number in 1...2500 {
            var entry = try #require(StoreFiles.entry(number))
            entry.fileID = Int64(number)
            entries.append(entry)
        }
        _ = try store.add(entries)
    }

    @Test("a large store is recorded as intact until the file changes")
    func wholeMark() throws {
        try largeStore(fixture)
        let note = fixture.databasePath + ".checked"
        #expect(try permissions(note) == 0o600)
        #expect(WholeMark(of: fixture.databasePath, isUsed: true).matches)
        // Damage that no index shows, in a page that the next opening reads only in a full check.
        var bytes = try fixture.bytes(fixture.databasePath)
        let page = bytes.count / 4096 / 2 * 4096
        for index in page..<page + 8 { bytes[index] = 0xA5 }
        try fixture.write(bytes, to: fixture.databasePath)
        #expect(!WholeMark(of: fixture.databasePath, isUsed: true).matches)
        #expect(try storeErrorKind { _ = try fixture.store() } == .corrupt)
        #expect(try storeErrorKind { _ = try TokenStore(reading: fixture.directory) } == .corrupt)
    }

    @Test("damage detected in use is detected by every later opening")
    func damageInUse() throws {
        try largeStore(fixture)
        var bytes = try fixture.bytes(fixture.databasePath)
        let page = bytes.count / 4096 / 2 * 4096
        for index in page..<page + 4096 { bytes[index] = 0xA5 }
        try fixture.write(bytes, to: fixture.databasePath)
        // Simulates a disk that changed the content without changing the file's time.
        WholeMark(of: fixture.databasePath, isUsed: true).write()
        let store = try fixture.store()
        #expect(
            try storeErrorKind { _ = try store.connection.read { try StoreSchema.checkContent($0, path: "") } }
                == .corrupt
        )
        #expect(try storeErrorKind { _ = try fixture.store() } == .corrupt)
    }

    @Test("the check of a small store is not recorded")
    func smallStore() throws {
        _ = try fixture.store().add(sampleEntry())
        #expect(try fixture.names() == ["locks", "tokens.sqlite"])
    }
}
