import Foundation
import GRDB
import MediaSystem
import Synchronization
import TestSupport
import Testing

@testable import MediaStore

@Suite("Hash cache")
struct HashCacheTests {
    let temporary: TemporaryDirectory
    private let digest = String(repeating: "0a", count: 32)
    private let moment = Date(timeIntervalSince1970: 1_780_000_000)

    init() throws { temporary = try TemporaryDirectory() }

    private var directory: String { temporary.file("cache/mediactl") }
    private var file: String { directory + "/hashes.sqlite" }

    private func identity(_ inode: UInt64 = 1) -> FileIdentity {
        FileIdentity(
            device: .max,
            inode: inode,
            size: 12,
            modificationNanoseconds: 1_700_000_000_123_456_789,
            changeNanoseconds: 1_700_000_000_123_456_790
        )
    }

    private func cache(busySeconds: Double = 5) -> HashCache {
        HashCache(directory: directory, busySeconds: busySeconds) { [moment] in moment }
    }

    private func keepOne() {
        let cache = cache()
        cache.keep(digest, for: identity())
        cache.flush()
    }

    // MARK: Stored entries

    /// Nanoseconds since 1970 overflow 64 bits in 2262, and clocks may be wrong.
    @Test("a clock set to any year is harmless", arguments: [253_402_300_799, -62_135_596_800, 9_223_372_036])
    func clocks(seconds: Int) throws {
        let cache = HashCache(directory: directory) { Date(timeIntervalSince1970: Double(seconds)) }
        cache.keep(digest, for: identity())
        #expect(cache.digest(of: identity()) == nil || cache.digest(of: identity()) == digest)
        cache.flush()
    }

    @Test("only the requested digests are returned, in order, whether written or still pending")
    func digestsOfMany() throws {
        let others = ["1b", "2c"].map { String(repeating: $0, count: 32) }
        keepOne()
        let cache = cache()
        cache.keep(others[0], for: identity(2))
        cache.flush()
        cache.keep(others[1], for: identity(3))
        var changed = identity(2)
        changed.size += 1
        let requested = [identity(3), identity(4), identity(1), changed, identity(2)]
        #expect(cache.digests(of: requested) == [others[1], nil, digest, nil, others[0]])
        #expect(cache.digests(of: []).isEmpty)
    }

    @Test("a digest is found immediately, after a flush, and by the next process")
    func roundTrip() throws {
        let first = cache()
        #expect(first.digest(of: identity()) == nil)
        first.keep(digest, for: identity())
        #expect(first.digest(of: identity()) == digest)
        first.flush()
        #expect(first.digest(of: identity()) == digest)
        #expect(cache().digest(of: identity()) == digest)
    }

    @Test("pending entries are written when the cache is closed")
    func writtenAtEnd() throws {
        do { cache().keep(digest, for: identity()) }
        #expect(cache().digest(of: identity()) == digest)
    }

    @Test(
        "the digest of a file whose size or time has changed is not used",
        arguments: [(1, 0, 0), (0, 1, 0), (0, 0, 1)] as [(Int64, Int64, Int64)]
    )
    func changedFile(size: Int64, modified: Int64, changed: Int64) throws {
        let cache = cache()
        cache.keep(digest, for: identity())
        var changedFile = identity()
        changedFile.size += size
        changedFile.modificationNanoseconds += modified
        changedFile.changeNanoseconds += changed
        #expect(cache.digest(of: changedFile) == nil)
        cache.flush()
        #expect(cache.digest(of: changedFile) == nil)
        #expect(cache.digest(of: identity(2)) == nil)
        // A file has only one digest at a time.
        let other = String(repeating: "b", count: 64)
        cache.keep(other, for: changedFile)
        cache.flush()
        #expect(cache.digest(of: changedFile) == other)
        #expect(cache.digest(of: identity()) == nil)
    }

    @Test("only valid digests are stored", arguments: ["", "abc", String(repeating: "A", count: 64)])
    func odd(text: String) throws {
        let cache = cache()
        cache.keep(text, for: identity())
        #expect(cache.digest(of: identity()) == nil)
    }

    @Test(
        "the digest of a recently changed file is not stored",
        arguments: [
            // Nanoseconds from now: mtime, ctime, stored?
            (-20_000_000, -20_000_000, false),
            (-20_000_001, -20_000_001, true),
            (-5_000_000_001, -10_000_001, false),
            (-10_000_001, -5_000_000_001, false),
            (1_000_000, -5_000_000_001, false),
            // Both in whole seconds, as on a coarse file system.
            (-2_000_000_000, -2_000_000_000, false),
            (-3_000_000_000, -3_000_000_000, true),
            (-2_000_000_001, -2_000_000_000, true),
            // A modification time in the future may be set by anyone; a status change in the future comes from
            // another clock.
            (9_000_000_000, -5_000_000_001, true),
            (-5_000_000_001, 9_000_000_000, false),
        ] as [(Int64, Int64, Bool)]
    )
    func racy(modified: Int64, changed: Int64, isKept: Bool) throws {
        let now: Int64 = 1_780_000_000_000_000_000
        var recent = identity()
        recent.modificationNanoseconds = now + modified
        recent.changeNanoseconds = now + changed
        let cache = cache()
        cache.keep(digest, for: recent)
        #expect((cache.digest(of: recent) != nil) == isKept)
    }

    @Test("if the caller specifies when reading started, that time counts")
    func readingBegan() throws {
        let cache = cache()
        let changedAt = Date(timeIntervalSince1970: 1_700_000_000.123_456_79)
        cache.keep(digest, for: identity(), readingBegan: changedAt.addingTimeInterval(0.015))
        #expect(cache.digest(of: identity()) == nil)
        cache.keep(digest, for: identity(), readingBegan: changedAt.addingTimeInterval(0.2))
        #expect(cache.digest(of: identity()) == digest)
    }

    @Test("entries unused for 180 days are removed, and a lookup counts as use")
    func pruned() throws {
        let day = Atomic(0)
        let cache = HashCache(directory: directory) { [moment] in
            moment.addingTimeInterval(Double(day.load(ordering: .relaxed)) * 86_400)
        }
        cache.keep(digest, for: identity(1))
        cache.keep(digest, for: identity(2))
        cache.flush()
        day.store(100, ordering: .relaxed)
        #expect(cache.digest(of: identity(1)) == digest)
        cache.flush()
        day.store(181, ordering: .relaxed)
        cache.keep(digest, for: identity(3))
        cache.flush()
        #expect(cache.digest(of: identity(1)) == digest)
        #expect(cache.digest(of: identity(2)) == nil)
    }

    // MARK: Location

    @Test("the directory has mode 0700, the file 0600; permissions of the file that are too wide are restricted")
    func rights() throws {
        keepOne()
        #expect(try permissions(directory) == 0o700)
        #expect(try permissions(file) == 0o600)
        #expect(chmod(file, 0o644) == 0)
        keepOne()
        #expect(try permissions(file) == 0o600)
        #expect(try names() == ["hashes.sqlite"])
    }

    @Test("a directory writable by others is not used")
    func unsafeDirectory() throws {
        keepOne()
        #expect(chmod(directory, 0o777) == 0)
        #expect(cache().digest(of: identity()) == nil)
    }

    @Test("a file in place of the directory, or a link in place of the file, behaves like an empty cache")
    func unusablePlaces() throws {
        let path = temporary.file("plain")
        #expect(FileManager.default.createFile(atPath: path, contents: nil))
        let nowhere = HashCache(directory: path)
        nowhere.keep(digest, for: identity())
        #expect(nowhere.digest(of: identity()) == nil)
        nowhere.flush()

        keepOne()
        let elsewhere = temporary.file("elsewhere")
        try FileManager.default.moveItem(atPath: file, toPath: elsewhere)
        #expect(symlink(elsewhere, file) == 0)
        #expect(cache().digest(of: identity()) == nil)
    }

    // MARK: Damage

    @Test(
        "a file that is not a database is replaced",
        arguments: [[], [1], Array(repeating: 0x20, count: 8192)] as [[UInt8]]
    )
    func garbage(bytes: [UInt8]) throws {
        keepOne()
        try Data(bytes).write(to: URL(fileURLWithPath: file))
        #expect(cache().digest(of: identity()) == nil)
        keepOne()
        #expect(cache().digest(of: identity()) == digest)
        #expect(try permissions(file) == 0o600)
    }

    @Test("a database with damaged content is replaced when the damage is detected")
    func damagedPages() throws {
        keepOne()
        let handle = try FileHandle(forUpdating: URL(fileURLWithPath: file))
        let size = try handle.seekToEnd()
        try handle.seek(toOffset: 4096)
        try handle.write(contentsOf: Data(repeating: 0xee, count: Int(size) - 4096))
        try handle.close()
        let cache = cache()
        #expect(cache.digest(of: identity()) == nil)
        cache.keep(digest, for: identity())
        cache.flush()
        #expect(cache.digest(of: identity()) == digest)
        #expect(self.cache().digest(of: identity()) == digest)
    }

    @Test(
        "a newer version's cache, and another program's database, are left unchanged",
        arguments: ["PRAGMA user_version = 2", "PRAGMA application_id = 7"]
    )
    func foreign(change: String) throws {
        keepOne()
        let database = try DatabaseQueue(path: file)
        try database.writeWithoutTransaction { try $0.execute(sql: change) }
        try database.close()
        let before = try Data(contentsOf: URL(fileURLWithPath: file))
        let cache = cache()
        #expect(cache.digest(of: identity()) == nil)
        cache.keep(digest, for: identity(2))
        cache.flush()
        #expect(cache.digest(of: identity(2)) == nil)
        #expect(try Data(contentsOf: URL(fileURLWithPath: file)) == before)
    }

    @Test("a cache that another process locks for too long behaves like an empty one")
    func locked() throws {
        keepOne()
        var configuration = Configuration()
        configuration.allowsUnsafeTransactions = true
        let other = try DatabaseQueue(path: file, configuration: configuration)
        let cache = cache(busySeconds: 0.05)
        try other.writeWithoutTransaction { try $0.execute(sql: "BEGIN IMMEDIATE") }
        // A writer does not block readers.
        #expect(cache.digest(of: identity()) == digest)
        cache.keep(digest, for: identity(2))
        cache.flush()
        #expect(cache.digest(of: identity(2)) == nil)
        try other.writeWithoutTransaction { try $0.execute(sql: "ROLLBACK") }
        #expect(self.cache().digest(of: identity()) == digest)
    }

    @Test("on a full disk only new entries are lost", .enabled(if: SmallDisk.isAvailable, SmallDisk.requirement))
    func fullDisk() throws {
        let disk = try SmallDisk(kibibytes: 512)
        let cache = HashCache(directory: disk.path + "/cache")
        try disk.fill()
        for inode in 0..<5_000 { cache.keep(digest, for: identity(UInt64(inode))) }
        cache.flush()
        #expect(cache.digest(of: identity(4_999)) == nil)
        try disk.empty()
        let next = HashCache(directory: disk.path + "/cache")
        next.keep(digest, for: identity())
        next.flush()
        #expect(HashCache(directory: disk.path + "/cache").digest(of: identity()) == digest)
    }

    @Test(
        "a directory without write permission behaves like an empty cache",
        .enabled(if: SmallDisk.isAvailable, SmallDisk.requirement)
    )
    func readOnly() throws {
        let disk = try SmallDisk(kibibytes: 512)
        let path = disk.path + "/cache"
        do { HashCache(directory: path).keep(digest, for: identity()) }
        #expect(mount("none", disk.path, nil, UInt(MS_REMOUNT | MS_RDONLY), nil) == 0)
        let cache = HashCache(directory: path)
        cache.keep(digest, for: identity(2))
        cache.flush()
        #expect(cache.digest(of: identity(2)) == nil)
    }

    // MARK: Concurrency

    @Test(
        "16 processes that start concurrently without a cache, or with an invalid one, all store their entries",
        arguments: [false, true]
    )
    func manyProcesses(isGarbage: Bool) throws {
        if isGarbage {
            keepOne()
            try Data(repeating: 0x41, count: 8192).write(to: URL(fileURLWithPath: file))
        }
        let data = temporary.file("data")
        let workers = try (0..<16).map { try WorkerProcess(["hashes", data, directory, "\($0)"]) }
        for worker in workers { #expect(try worker.line() == "kept 100") }
        for worker in workers { #expect(try worker.wait() == 0) }
        let cache = HashCache(directory: directory)
        let found = (0..<1600).count { cache.digest(of: identity($0 + 1)) != nil }
        #expect(found == 1600)
    }

    @Test("10,000 entries are stored and queried by many tasks")
    func manyTasks() async throws {
        let cache = cache()
        let digest = digest
        let identities = (0..<10_000).map { identity($0) }
        await withTaskGroup(of: Void.self) { group in
            for part in 0..<10 {
                group.addTask {
                    for identity in identities[(part * 1000)..<(part * 1000 + 1000)] {
                        cache.keep(digest, for: identity)
                    }
                }
            }
        }
        cache.flush()
        let found = await withTaskGroup(of: Int.self) { group in
            for part in 0..<10 {
                group.addTask {
                    identities[(part * 1000)..<(part * 1000 + 1000)].count { cache.digest(of: $0) == digest }
                }
            }
            return await group.reduce(0, +)
        }
        #expect(found == 10_000)
    }

    private func names() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: directory).sorted()
    }
}
