import Foundation
import GRDB
import Glibc
import TestSupport
import Testing

@testable import MediaStore

@Suite("Damaged stores")
struct DamagedStoreTests {
    private static let plain = Result { try StoreFiles.make(withLog: false) }
    private static let logged = Result { try StoreFiles.make(withLog: true) }

    private static func files(for damage: StoreDamage) throws -> StoreFiles {
        try (damage.hasLog ? logged : plain).get()
    }

    private func tokens(_ store: TokenStore) throws -> Set<String> {
        Set(try store.tokens(host: nil, includeSuperseded: true).map(\.token.secret))
    }

    @Test("the table has the expected size")
    func size() { #expect(StoreDamage.all.count >= 240) }

    /// Reading and writing agree on which stores are usable, and an unusable one is repaired. Either way, every row
    /// that the files still contain is present in the end.
    @Test("no damage makes tokens inaccessible or loses a row that still exists", arguments: StoreDamage.all.indices)
    func damaged(_ index: Int) throws {
        let damage = StoreDamage.all[index]
        let original = try Self.files(for: damage)
        var files = original
        damage.apply(&files)
        let survivors = original.survivors(of: files)

        // Each opening uses separate files, since it may change them.
        let readFixture = try StoreFixture()
        try files.write(to: readFixture)
        let readKind = try storeErrorKind { _ = try TokenStore(reading: readFixture.directory) }
        let fixture = try StoreFixture()
        try files.write(to: fixture)
        let writeKind = try storeErrorKind { _ = try fixture.store() }
        #expect(readKind == writeKind, "\(damage)")

        if let writeKind {
            #expect([.corrupt, .newerVersion, .unsafe].contains(writeKind), "\(damage): \(writeKind)")
            let report = try #require(try StoreRepair(in: fixture.directory).run(isDryRun: false), "\(damage)")
            #expect(!report.damage.isEmpty)
            #expect(try fixture.bytes(try #require(report.kept.first)) == files.database, "\(damage): not kept")
            #expect(report.kept.count == (files.log?.isEmpty ?? true ? 1 : 2), "\(damage): \(report.kept)")
        }
        let found = try tokens(try fixture.store())
        #expect(found.isSuperset(of: survivors), "\(damage): lost \(survivors.subtracting(found).count)")
        #expect(try StoreCheck(reading: fixture.directory).findings.isEmpty, "\(damage)")
    }

    @Test("most rows survive most kinds of damage, so that the test is meaningful")
    func survivorsOfDamage() throws {
        let counts = try StoreDamage.all.map { damage in
            let original = try Self.files(for: damage)
            var files = original
            damage.apply(&files)
            return original.survivors(of: files).count
        }
        #expect(counts.count { $0 >= StoreFiles.tokenCount / 2 } > counts.count * 3 / 4)
        #expect(counts.allSatisfy { $0 <= StoreFiles.tokenCount })
    }

    @Test("a message from SQLite has one line")
    func message() {
        let message = "malformed database schema (t) - near \"x\ny\": syntax error\n"
        let error = StoreError(DatabaseError(resultCode: .SQLITE_CORRUPT, message: message), path: "p")
        #expect(error.detail == "malformed database schema (t) - near \"x; y\": syntax error")
    }

    // MARK: Other files

    @Test("other files in place of the database or its companions are moved aside by a repair")
    func otherThings() throws {
        for suffix in ["", "-wal", "-shm"] {
            let fixture = try StoreFixture()
            if !suffix.isEmpty { try Self.plain.get().write(to: fixture) }
            let path = fixture.databasePath + suffix
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
            #expect(try storeErrorKind { _ = try fixture.store() } == .unsafe)
            #expect(try storeErrorKind { _ = try TokenStore(reading: fixture.directory) } == .unsafe)
            let report = try #require(try StoreRepair(in: fixture.directory).run(isDryRun: false))
            #expect(report.kept.contains { $0.hasSuffix(suffix) })
            // The index of the log has no separate row.
            let unread = StoreRepair.Unread(path: path, kind: .directory, keptPath: report.kept.last)
            #expect(report.unread == (suffix == "-shm" ? [] : [unread]))
            #expect(report.isIncomplete == (suffix != "-shm") && report.isEmpty == suffix.isEmpty)
            #expect(try tokens(fixture.store()).count == (suffix.isEmpty ? 0 : StoreFiles.tokenCount))
        }
    }

    @Test("repairs in the same second keep every damaged file")
    func sameSecond() throws {
        let fixture = try StoreFixture()
        let now = Date(timeIntervalSince1970: 1_900_000_000)
        let texts = [Array("one".utf8), Array("two".utf8), Array("three".utf8)]
        var kept: [String] = []
        for text in texts {
            try fixture.write([UInt8](repeating: 0x5A, count: 4096) + text, to: fixture.databasePath)
            kept += try #require(try StoreRepair(in: fixture.directory).run(isDryRun: false, now: now)).kept
        }
        #expect(try kept.map { Array(try fixture.bytes($0).dropFirst(4096)) } == texts)
    }

    @Test("another program's database is moved aside as a whole")
    func otherProgram() throws {
        let fixture = try StoreFixture()
        try fixture.execute("CREATE TABLE notes (text); INSERT INTO notes VALUES ('mine')")
        let before = try fixture.bytes(fixture.databasePath)
        #expect(try storeErrorKind { _ = try fixture.store() } == .corrupt)
        let report = try #require(try StoreRepair(in: fixture.directory).run(isDryRun: false))
        #expect(report.tokens == 0 && report.isEmpty && report.isIncomplete)
        #expect(try fixture.bytes(try #require(report.kept.first)) == before)
    }

    @Test(
        "a symbolic link in place of the store is moved aside, and its target is neither read nor changed",
        arguments: ["tokens.sqlite", "tokens.sqlite-wal"],
        [true, false]
    )
    func symbolicLink(name: String, isDangling: Bool) throws {
        let other = try StoreFixture()
        _ = try other.store().add(sampleEntry())
        let before = try other.bytes(other.databasePath)
        let fixture = try StoreFixture()
        let target = isDangling ? fixture.temporary.file("nothing") : other.databasePath
        try makeLink(fixture.directory.file(name), to: target)
        #expect(try storeErrorKind { _ = try DataDirectory.open(fixture.directory.path) } == .unsafe)
        let directory = try DataDirectory.openForRepair(fixture.directory.path)
        let dry = try #require(try StoreRepair(in: directory).run(isDryRun: true))
        #expect(dry.damage.contains("symbolic link") && dry.tokens == 0 && dry.kept.isEmpty)
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: fixture.directory.file(name)) == target)
        let report = try #require(try StoreRepair(in: directory).run(isDryRun: false))
        #expect(report.tokens == 0 && report.lostCount == 0)
        let kept = try #require(report.kept.first)
        #expect(kept.contains("/tokens.sqlite.damaged-") && report.kept.count == 1)
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: kept) == target)
        // The directory is usable with the moved link, and deleting a token does not follow the link.
        let store = try TokenStore(in: DataDirectory.open(fixture.directory.path))
        _ = try store.add(sampleEntry())
        try store.remove(try #require(store.tokens(host: nil).first))
        #expect(try store.clear(host: nil) == 0)
        #expect(try other.bytes(other.databasePath) == before)
        #expect(!FileManager.default.fileExists(atPath: fixture.temporary.file("nothing")))
    }

    @Test("a repair refuses other links")
    func otherLinks() throws {
        let fixture = try StoreFixture()
        let target = fixture.temporary.file("elsewhere")
        #expect(symlink(target, fixture.directory.file("library.sqlite")) == 0)
        #expect(try storeErrorKind { _ = try DataDirectory.openForRepair(fixture.directory.path) } == .unsafe)
    }

    @Test("a store written by a newer version is not repaired")
    func newerVersion() throws {
        let fixture = try StoreFixture()
        _ = try fixture.store().add(sampleEntry())
        try fixture.execute("CREATE TABLE later (x); PRAGMA user_version = 99")
        let before = try fixture.bytes(fixture.databasePath)
        #expect(try storeErrorKind { _ = try StoreRepair(in: fixture.directory).run(isDryRun: false) } == .newerVersion)
        #expect(try fixture.bytes(fixture.databasePath) == before)
    }

    // MARK: Repair

    @Test("neither an intact nor a missing store is repaired")
    func nothingToRepair() throws {
        let fixture = try StoreFixture()
        #expect(try StoreRepair(in: fixture.directory).run(isDryRun: false) == nil)
        #expect(try fixture.names() == ["locks"])
        _ = try fixture.store().add(sampleEntry())
        let before = try fixture.bytes(fixture.databasePath)
        #expect(try StoreRepair(in: fixture.directory).run(isDryRun: false) == nil)
        #expect(try fixture.bytes(fixture.databasePath) == before)
    }

    @Test("a repair lists tokens that are only in an index, and a dry run changes nothing")
    func lostTokens() throws {
        let fixture = try StoreFixture()
        var files = try Self.plain.get()
        files.destroyTokens()
        try files.write(to: fixture)
        let names = try fixture.names()
        let dry = try #require(try StoreRepair(in: fixture.directory).run(isDryRun: true))
        #expect(try fixture.names() == names)
        #expect(try fixture.bytes(fixture.databasePath) == files.database)
        let report = try #require(try StoreRepair(in: fixture.directory).run(isDryRun: false))
        #expect(report.lostCount == StoreFiles.tokenCount && dry.lostCount == report.lostCount)
        #expect(Set(report.lost.map(\.fileID)) == Set((1...StoreFiles.tokenCount).map(Int64.init)))
        #expect(report.tokens == 0 && report.uploads == 40)
    }

    @Test("a lost token is counted once, even if several pages list it and too many tokens are lost to list them all")
    func repeatedLosses() throws {
        let count = 130
        var files = try StoreFiles.make(withLog: false, tokenCount: count)
        files.destroyTokens(count)
        // Like pages that were freed: SQLite does not read them, but a repair does.
        files.database += files.database
        let fixture = try StoreFixture()
        try files.write(to: fixture)
        let report = try #require(try StoreRepair(in: fixture.directory).run(isDryRun: true))
        #expect(report.tokens == 0 && report.lostCount == count)
        #expect(Set(report.lost.map(\.fileID)).count == 100 && report.lost.count == 100)
    }

    @Test("rows keep their order and their states, and removed rows stay removed")
    func content() throws {
        let fixture = try StoreFixture()
        var files = try Self.plain.get()
        for index in 0..<16 { files.database[index] = 0 }
        try files.write(to: fixture)
        _ = try StoreRepair(in: fixture.directory).run(isDryRun: false)
        let store = try fixture.store()
        let expected = try (1...StoreFiles.tokenCount).map { number in
            var entry = try #require(StoreFiles.entry(number))
            entry.rowID = Int64(number)
            return entry
        }
        #expect(try store.tokens(host: nil) == expected.reversed())
        #expect(try store.uploads(states: [.sent], host: nil).count == 8)
        #expect(try store.uploads(states: [], host: nil).count == 40)
        #expect(try !store.add(sampleEntry(fileID: 9999)), "it was removed")
        #expect(try store.storedFiles(host: nil).map(\.fileID) == [1])
    }

    @Test("a damaged store in use is not repaired")
    func storeInUse() throws {
        let fixture = try StoreFixture()
        let store = try fixture.store()
        try store.insert(sampleRecord())
        try store.connection.write { try $0.execute(sql: "UPDATE uploads SET state = 'dona'") }
        #expect(try storeErrorKind { _ = try StoreRepair(in: fixture.directory).run(isDryRun: false) } == .busy)
        #expect(try store.tokens(host: nil).isEmpty)
    }

    @Test("an unreadable value is detected by writers and readers, before anything is sent")
    func unreadableRow() throws {
        let fixture = try StoreFixture()
        try fixture.store().insert(sampleRecord())
        try fixture.execute("UPDATE uploads SET state = 'dona'")
        #expect(try storeErrorKind { _ = try fixture.store() } == .corrupt)
        #expect(try storeErrorKind { _ = try TokenStore(reading: fixture.directory) } == .corrupt)
        _ = try StoreRepair(in: fixture.directory).run(isDryRun: false)
        #expect(try fixture.store().uploads(states: [], host: nil).isEmpty)
    }

    @Test(
        "a row with an invalid time is detected by writers and readers, and not lost by a repair or a restore",
        arguments: ["tokens SET created_at", "uploads SET created_at", "uploads SET updated_at"],
        [Int64.max, .min, 253_402_300_800_000, -62_167_219_200_001]
    )
    func invalidTime(column: String, time: Int64) throws {
        let fixture = try StoreFixture()
        do {
            let store = try fixture.store()
            _ = try store.add(sampleEntry())
            try store.insert(sampleRecord())
            try fixture.execute("UPDATE \(column) = ?", [time])
        }
        #expect(try storeErrorKind { _ = try fixture.store() } == .corrupt)
        #expect(try storeErrorKind { _ = try TokenStore(reading: fixture.directory) } == .corrupt)
        let report = try #require(try StoreRepair(in: fixture.directory).run(isDryRun: false))
        #expect(report.tokens == 1 && report.uploads == 1)
        let store = try fixture.store()
        #expect(try store.tokens(host: nil).map(\.token) == [sampleEntry().token])
        let restored = try StoreFixture()
        let kept = try #require(report.kept.first)
        #expect(try StoreRestore.run(from: kept, to: restored.store(), isDryRun: false).tokens == 1)
    }

    @Test(
        "the first and the last valid time are accepted",
        arguments: [-62_167_219_200_000, 253_402_300_799_999] as [Int64]
    )
    func validTime(time: Int64) throws {
        let fixture = try StoreFixture()
        var entry = try sampleEntry()
        entry.createdAt = Date(milliseconds: time)
        _ = try fixture.store().add(entry)
        #expect(try fixture.store().tokens(host: nil).map(\.createdAt) == [entry.createdAt])
    }

    @Test(
        "no time causes a crash",
        arguments: [(.infinity, .max), (-Double.infinity, .min), (1e300, .max)] as [(Double, Int64)]
    )
    func milliseconds(seconds: Double, milliseconds: Int64) {
        #expect(Date(timeIntervalSince1970: seconds).milliseconds == milliseconds)
    }
}
