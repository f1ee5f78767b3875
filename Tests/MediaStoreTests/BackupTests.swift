import Foundation
import GRDB
import Glibc
import MediaSystem
import Synchronization
import TestSupport
import Testing

@testable import MediaStore

@Suite("Backups of the token store")
struct BackupTests {
    let fixture: StoreFixture

    init() throws { fixture = try StoreFixture() }

    /// Every file below the data directory that contains a text.
    private func files(with text: String, in fixture: StoreFixture) throws -> [String] {
        let bytes = Array(text.utf8)
        return try FileManager.default.subpathsOfDirectory(atPath: fixture.directory.path).filter { name in
            let path = fixture.directory.file(name)
            var isDirectory: ObjCBool = false
            let isThere = FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory)
            guard isThere, !isDirectory.boolValue else { return false }
            return try bytes.isEmpty || fixture.bytes(path).firstRange(of: bytes) != nil
        }
    }

    /// A store with a token, and its backups.
    private func filled() throws -> (store: TokenStore, backups: StoreBackups) {
        let store = try fixture.store()
        _ = try store.add(sampleEntry())
        return (store, StoreBackups(in: fixture.directory))
    }

    private func date(_ day: Int) -> Date { Date(timeIntervalSince1970: 1_900_000_000 + Double(day) * 86_400) }

    @Test("a backup is complete, has mode 0600, and opens as a store")
    func content() throws {
        let (store, backups) = try filled()
        try store.insert(sampleRecord())
        let backup = try backups.create(from: store)
        #expect(try permissions(backup.path) == 0o600)
        #expect(try permissions(fixture.directory.file("backups")) == 0o700)
        let other = try StoreFixture()
        try FileManager.default.copyItem(atPath: backup.path, toPath: other.databasePath)
        let copy = try other.store()
        #expect(try copy.tokens(host: nil) == store.tokens(host: nil))
        #expect(try copy.uploads(states: [], host: nil) == store.uploads(states: [], host: nil))
        #expect(copy.warnings.isEmpty)
    }

    @Test("a backup to a user's file has mode 0600, and never replaces one")
    func chosenFile() throws {
        let (store, _) = try filled()
        let path = fixture.temporary.file("copy.sqlite")
        try StoreBackups.copy(store, to: path)
        #expect(try permissions(path) == 0o600)
        let before = try fixture.bytes(path)
        #expect(throws: StoreError.self) { try StoreBackups.copy(store, to: path) }
        #expect(try fixture.bytes(path) == before)
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: fixture.temporary.path).sorted() == [
                "copy.sqlite", "data",
            ]
        )
    }

    @Test("the last three backups are kept, one per day")
    func rotation() throws {
        let (store, backups) = try filled()
        for day in 1...5 {
            #expect(try backups.createIfDue(from: store, now: date(day)) != nil)
            #expect(try backups.createIfDue(from: store, now: date(day)) == nil, "one per day")
        }
        #expect(try backups.all().map(\.createdAt) == [date(5), date(4), date(3)])
        #expect(try backups.createIfDue(from: store, now: date(4)) == nil, "the clock was set back")
    }

    @Test("copies dated in the future are the first to be removed, and do not stop the daily copies")
    func wrongClock() throws {
        let (store, backups) = try filled()
        for day in 101...103 { _ = try backups.create(from: store, now: date(day)) }
        #expect(try backups.createIfDue(from: store, now: date(1)) != nil)
        #expect(try backups.all(now: date(1)).map(\.createdAt) == [date(1), date(103), date(102)])
        #expect(try backups.createIfDue(from: store, now: date(1)) == nil, "one per day")
        for day in 2...3 { #expect(try backups.createIfDue(from: store, now: date(day)) != nil) }
        #expect(try backups.all(now: date(3)).map(\.createdAt) == [date(3), date(2), date(1)])
    }

    @Test("a copy that was just made is kept, although the others are dated later")
    func clockSetBack() throws {
        let (store, backups) = try filled()
        for hour in 1...3 { _ = try backups.create(from: store, now: date(1) + Double(hour) * 3600) }
        let backup = try backups.create(from: store, now: date(1))
        #expect(FileManager.default.fileExists(atPath: backup.path))
        #expect(try backups.all(now: date(1)).count == 3)
    }

    @Test("a store created today is not backed up automatically")
    func newStore() throws {
        let store = try fixture.store()
        #expect(try StoreBackups(in: fixture.directory).createIfDue(from: store) == nil)
        #expect(try !fixture.names().contains("backups"))
    }

    @Test("a store of 64 MiB or more is not backed up automatically")
    func largeStore() throws {
        let (store, backups) = try filled()
        #expect(truncate(fixture.databasePath, off_t(StoreBackups.largestAutomatic) + 4096) == 0)
        #expect(try backups.createIfDue(from: store, now: date(1)) == nil)
    }

    @Test("an empty store does not replace the backups of one that was lost")
    func emptyStore() throws {
        let backups = StoreBackups(in: fixture.directory)
        do {
            let store = try fixture.store()
            _ = try store.add(sampleEntry())
            _ = try backups.create(from: store, now: date(1))
        }
        for suffix in [""] + StoreConnection.companions { unlink(fixture.databasePath + suffix) }
        let store = try fixture.store()
        #expect(try store.isEmpty())
        #expect(try backups.createIfDue(from: store, now: date(2)) == nil)
        // A backup that the user requests is created, but is not the one to restore.
        _ = try backups.create(from: store, now: date(3))
        #expect(try backups.all().map(\.createdAt) == [date(3), date(1)])
        #expect(backups.newestWithRows().backup?.createdAt == date(1))
        // With a stored or deleted token, the store is like any other.
        _ = try store.add(sampleEntry())
        try store.remove(try #require(store.tokens(host: nil).first))
        #expect(try !store.isEmpty())
        #expect(try backups.createIfDue(from: store, now: date(4)) != nil)
    }

    @Test("copies with tokens of a store that was lost are kept until the tokens are restored")
    func lostStore() throws {
        let backups = StoreBackups(in: fixture.directory)
        do {
            let store = try fixture.store()
            for (day, digit) in [(1, "a"), (2, "b")] as [(Int, Character)] {
                _ = try store.add(sampleEntry(fileID: Int64(day), digit: digit))
                _ = try backups.create(from: store, now: date(day))
            }
            #expect(try backups.withMissingTokens(in: store) == nil)
        }
        for suffix in [""] + StoreConnection.companions { unlink(fixture.databasePath + suffix) }
        let store = try fixture.store()
        _ = try store.add(sampleEntry(fileID: 3, digit: "c"))
        // The first one is made in the same second as a copy of the lost store.
        for day in 2...6 { _ = try backups.create(from: store, now: date(day)) }
        #expect(try backups.all().map(\.createdAt) == [date(6), date(5), date(4), date(2), date(1)])
        let missing = try #require(try backups.withMissingTokens(in: store))
        #expect(missing.tokens == 2 && missing.backup.createdAt == date(2))
        // A token that was removed since is not missing.
        _ = try store.add(sampleEntry(fileID: 1, digit: "a"))
        try store.remove(try #require(store.tokens(host: nil).first { $0.fileID == 1 }))
        #expect(try backups.withMissingTokens(in: store)?.tokens == 1)
        _ = try StoreRestore.run(from: missing.backup.path, to: store, isDryRun: false)
        #expect(try backups.withMissingTokens(in: store) == nil)
        _ = try backups.create(from: store, now: date(7))
        #expect(try backups.all().map(\.createdAt) == [date(7), date(6), date(5)])
    }

    // MARK: Deleted tokens

    @Test("a deleted token is not in any file, including backups and damaged copies; other tokens are kept")
    func deletedToken() throws {
        let store = try fixture.store()
        _ = try store.add(sampleEntry(fileID: 1, digit: "a"))
        _ = try store.add(sampleEntry(fileID: 2, digit: "b"))
        let backups = StoreBackups(in: fixture.directory)
        for day in 1...3 { _ = try backups.create(from: store, now: date(day)) }
        let damaged = fixture.databasePath + ".damaged-20260101T000000Z"
        try fixture.write(
            Array("xx".utf8) + Array(repeating: UInt8(ascii: "a"), count: 64)
                + Array(repeating: UInt8(ascii: "b"), count: 64),
            to: damaged
        )
        #expect(try files(with: sampleToken("a").secret, in: fixture).count >= 5)
        try store.remove(try #require(store.tokens(host: nil).last { $0.fileID == 1 }))
        try store.connection.truncateLog()
        #expect(try files(with: sampleToken("a").secret, in: fixture) == [])
        #expect(try files(with: sampleToken("b").secret, in: fixture).count >= 5)
        #expect(
            try fixture.bytes(damaged) == Array("xx".utf8) + Array(repeating: 0, count: 64)
                + Array(repeating: UInt8(ascii: "b"), count: 64)
        )
        // A restore does not add the token again.
        let backup = try #require(try backups.all().first)
        let report = try StoreRestore.run(from: backup.path, to: store, isDryRun: false)
        #expect(report.tokens == 0 && report.tokensInBackup == 1)
    }

    @Test("the removals of one command change each backup once, and leave no token in any file")
    func groupedRemovals() throws {
        let store = try fixture.store()
        let count = 1000
        let entries = try (1...count).map { number in
            var entry = try sampleEntry(fileID: Int64(number))
            let digits = String(number, radix: 16)
            entry.token = try #require(
                DeleteToken(
                    String(repeating: "7", count: 58) + String(repeating: "0", count: 6 - digits.count) + digits
                )
            )
            return entry
        }
        _ = try store.add(entries)
        _ = try store.add(sampleEntry(fileID: 5000, digit: "b"))
        let backups = StoreBackups(in: fixture.directory)
        for day in 1...3 { _ = try backups.create(from: store, now: date(day)) }
        let damaged = fixture.databasePath + ".damaged-20260101T000000Z"
        try fixture.write(Array(entries.map(\.token.secret).joined().utf8), to: damaged)
        let secret = String(repeating: "7", count: 58)
        #expect(try files(with: secret, in: fixture).count >= 5)
        let before = try backups.all().map { try fixture.bytes($0.path) }
        store.beginRemovals()
        for entry in entries { try store.remove(entry) }
        #expect(try backups.all().map { try fixture.bytes($0.path) } == before, "a backup was changed for each token")
        #expect(try store.tokens(host: nil).map(\.fileID) == [5000])
        try store.finishRemovals()
        #expect(try files(with: secret, in: fixture) == [])
        #expect(try files(with: sampleToken("b").secret, in: fixture).count >= 4)
        #expect(try !files(with: "", in: fixture).contains { $0.contains("removals-") })
        let backup = try #require(try backups.all().first)
        let report = try StoreRestore.run(from: backup.path, to: store, isDryRun: false)
        #expect(report.tokens == 0 && report.tokensInBackup == 1)
        // After the end of the group each removal is complete on its own.
        try store.remove(try #require(store.tokens(host: nil).first))
        try store.connection.truncateLog()
        #expect(try files(with: sampleToken("b").secret, in: fixture) == [])
    }

    @Test("the next command finishes the removals of a process that exited")
    func interruptedRemovals() throws {
        do {
            let store = try fixture.store()
            _ = try store.add(sampleEntry(fileID: 1, digit: "a"))
            _ = try store.add(sampleEntry(fileID: 2, digit: "b"))
            _ = try StoreBackups(in: fixture.directory).create(from: store)
            store.beginRemovals()
            try store.remove(try #require(store.tokens(host: nil).first { $0.fileID == 1 }))
            // While the process is running, its removals are left to it.
            try fixture.store().finishInterruptedRemovals()
            #expect(try files(with: sampleToken("a").secret, in: fixture).contains { $0.hasPrefix("backups/") })
            // The kernel does the same when the process ends.
            store.removals.withLock { $0 = nil }
        }
        let store = try fixture.store()
        #expect(try files(with: "", in: fixture).contains { $0.hasPrefix("locks/removals-") })
        try store.finishInterruptedRemovals()
        #expect(try files(with: sampleToken("a").secret, in: fixture) == [])
        #expect(try files(with: sampleToken("b").secret, in: fixture).contains { $0.hasPrefix("backups/") })
        #expect(try !files(with: "", in: fixture).contains { $0.hasPrefix("locks/removals-") })
        #expect(try store.tokens(host: nil).map(\.fileID) == [2])
    }

    @Test("a group without removals leaves no files behind")
    func emptyGroup() throws {
        let store = try fixture.store()
        let names = try files(with: "", in: fixture)
        store.beginRemovals()
        try store.finishRemovals()
        try store.finishInterruptedRemovals()
        #expect(try files(with: "", in: fixture) == names)
    }

    @Test("clearing all leaves no token in any file; clearing one host leaves only those of other hosts")
    func clearedTokens() throws {
        let store = try fixture.store()
        _ = try store.add(sampleEntry(host: "one", digit: "a"))
        _ = try store.add(sampleEntry(host: "two", digit: "b"))
        let backups = StoreBackups(in: fixture.directory)
        for day in 1...3 { _ = try backups.create(from: store, now: date(day)) }
        try fixture.write(Array("a token".utf8), to: fixture.databasePath + ".damaged-20260101T000000Z")
        #expect(try store.clear(host: "one") == 1)
        #expect(try files(with: sampleToken("a").secret, in: fixture) == [])
        #expect(try files(with: sampleToken("b").secret, in: fixture).count >= 4)
        #expect(try !fixture.names().contains { $0.contains(".damaged-") })
        #expect(try store.clear(host: nil) == 1)
        #expect(try files(with: sampleToken("b").secret, in: fixture) == [])
        #expect(try backups.all().isEmpty)
    }

    @Test("a backup that cannot be changed is removed, since it may contain the token")
    func unusableBackup() throws {
        let (store, backups) = try filled()
        let backup = try backups.create(from: store)
        var bytes = try fixture.bytes(backup.path)
        for index in 0..<100 { bytes[index] = 0xA5 }
        try fixture.write(bytes, to: backup.path)
        try store.remove(try #require(store.tokens(host: nil).first))
        #expect(try backups.all().isEmpty)
    }

    @Test("a token is not deleted while a backup is being made")
    func mutualExclusion() throws {
        let (store, backups) = try filled()
        let lock = try backups.lock()
        let done = DispatchSemaphore(value: 0)
        DispatchQueue.global().async {
            _ = try? store.clear(host: nil)
            done.signal()
        }
        #expect(done.wait(timeout: .now() + .milliseconds(200)) == .timedOut)
        lock.remove()
        #expect(done.wait(timeout: .now() + .seconds(20)) == .success)
        #expect(try store.tokens(host: nil).isEmpty)
    }

    // MARK: Restoring

    @Test("a restore adds what is missing and keeps existing entries")
    func restore() throws {
        let store = try fixture.store()
        for number in 1...4 { _ = try store.add(sampleEntry(fileID: Int64(number), digit: "a")) }
        try store.insert(sampleRecord("u-aaaaaaaaaaaaaaaa", state: .sent))
        let path = fixture.temporary.file("copy.sqlite")
        try StoreBackups.copy(store, to: path)
        try store.remove(try #require(store.tokens(host: nil).first { $0.fileID == 1 }))
        try store.connection.write { try $0.execute(sql: "DELETE FROM tokens WHERE file_id = 2") }
        _ = try store.add(sampleEntry(fileID: 5, digit: "b"))
        try store.update("u-aaaaaaaaaaaaaaaa", UploadChange(state: .done))
        let dry = try StoreRestore.run(from: path, to: store, isDryRun: true)
        #expect(try store.tokens(host: nil).count == 3)
        let report = try StoreRestore.run(from: path, to: store, isDryRun: false)
        #expect(report.tokens == 1 && report.removedSince == 1 && report.tokensInBackup == 4 && dry.tokens == 1)
        #expect(try Set(store.tokens(host: nil).map(\.fileID)) == [2, 3, 4, 5])
        #expect(try store.upload("u-aaaaaaaaaaaaaaaa")?.state == .done, "the newer state is kept")
        #expect(try StoreRestore.run(from: path, to: store, isDryRun: false).tokens == 0)
    }

    @Test("a restore adds finished uploads, even those without a token, and guests' receipts")
    func restoreOfFinishedUploads() throws {
        let store = try fixture.store()
        let entry = try sampleEntry()
        _ = try store.add(entry)
        let receipt = GuestReceipt(nonce: String(repeating: "n", count: 32), jobID: 3)
        var records = ["a", "b", "c"].map { sampleRecord("u-" + String(repeating: $0, count: 16), state: .done) }
        records[0].fileID = entry.fileID
        (records[1].isGuest, records[1].fileID) = (true, 77)
        records[2].fileID = 78
        for record in records { try store.insert(record) }
        let guestID = records[1].uploadID
        try store.connection.write { try GuestRow.upsert(receipt, of: guestID, $0) }
        let path = fixture.temporary.file("copy.sqlite")
        try StoreBackups.copy(store, to: path)

        let lost = try StoreFixture()
        let new = try lost.store()
        let dry = try StoreRestore.run(from: path, to: new, isDryRun: true)
        #expect(try new.uploads(states: [], host: nil).isEmpty)
        let report = try StoreRestore.run(from: path, to: new, isDryRun: false)
        #expect(report.tokens == 1 && report.uploads == 3 && dry.uploads == 3)
        for record in records { #expect(try new.upload(record.uploadID) == store.upload(record.uploadID)) }
        #expect(try new.guestUploads(host: nil).map(\.uploadID) == [guestID])
        #expect(try new.guestReceipt(guestID) == receipt)
        #expect(try StoreRestore.run(from: path, to: new, isDryRun: false).uploads == 0)
    }

    /// Releases up to 0.1.0 stored relative paths without a directory.
    @Test("a restore does not add a directory to a path without one")
    func restoreOfRelativePath() throws {
        let store = try fixture.store()
        let identity = FileIdentity(
            device: 1,
            inode: 2,
            size: 12,
            modificationNanoseconds: 3,
            changeNanoseconds: 4
        )
        var record = sampleRecord(identity: identity)
        record.isDirectoryUnknown = true
        try store.insert(record)
        let path = fixture.temporary.file("copy.sqlite")
        try StoreBackups.copy(store, to: path)

        let lost = try StoreFixture()
        let new = try lost.store()
        #expect(try StoreRestore.run(from: path, to: new, isDryRun: false).uploads == 1)
        #expect(try new.upload(record.uploadID) == record)
    }

    @Test("a file that is not a token store is not restored")
    func restoreOfOther() throws {
        let store = try fixture.store()
        let path = fixture.temporary.file("text")
        try fixture.write(Array("nothing".utf8), to: path)
        #expect(try storeErrorKind { _ = try StoreRestore.run(from: path, to: store, isDryRun: false) } == .corrupt)
        #expect(
            try storeErrorKind { _ = try StoreRestore.run(from: path + "x", to: store, isDryRun: false) }
                == .missing
        )
        let directory = fixture.directory.path
        #expect(try storeErrorKind { _ = try StoreRestore.run(from: directory, to: store, isDryRun: false) } == .unsafe)
    }
}
