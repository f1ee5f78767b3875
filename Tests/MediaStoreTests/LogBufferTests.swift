import Foundation
import GRDB
import TestSupport
import Testing

@testable import MediaStore

/// Buffering of the frames that a transaction appends to the write-ahead log (docs/adr/0052).
@Suite("Log buffer")
struct LogBufferTests {
    let fixture: StoreFixture

    init() throws { fixture = try StoreFixture() }

    @Test(
        "a transaction is written with one call",
        .enabled(if: WorkerProcess.hasStrace, "requires strace: scripts/setup.sh test")
    )
    func oneCallPerTransaction() throws {
        let trace = fixture.directory.path + ".trace"
        let worker = try WorkerProcess(
            ["commit", fixture.directory.path],
            through: ["strace", "-f", "-y", "-e", "trace=pwrite64,fdatasync,write", "-o", trace]
        )
        #expect(try worker.wait() == 0)
        let lines = try String(contentsOfFile: trace, encoding: .utf8).split(separator: "\n").map(String.init)
        let begin = try #require(lines.firstIndex { $0.contains("committing") })
        let end = try #require(lines.firstIndex { $0.contains("uploaded") })
        let calls = lines[begin..<end].filter { $0.contains("tokens.sqlite-wal") }
        try #require(calls.count == 2, "\(calls)")
        #expect(calls[0].contains("pwrite64("))
        #expect(calls[1].contains("fdatasync("))
        let frame = 24 + 4096
        let byteCount = try #require(calls[0].split(separator: " ").last.flatMap { Int($0) })
        #expect(byteCount >= 2 * frame && byteCount % frame == 0)
    }

    /// Pages that a connection wrote to the log before it rolled back are at the offset where the next connection
    /// appends.
    @Test("a transaction that was rolled back does not overwrite one from another connection")
    func rollback() throws {
        let (first, second) = (try fixture.store(), try fixture.store())
        let raw = try fixture.rawDatabase()
        try raw.write { db in try db.execute(sql: "CREATE TABLE pages (content BLOB)") }
        // With an empty log, SQLite does not read any page from it when it rolls back.
        try first.connection.truncateLog()
        try first.connection.queue.writeWithoutTransaction { db in
            // With so small a cache, SQLite writes pages before the transaction ends.
            try db.execute(sql: "PRAGMA cache_size = 5")
            try db.inTransaction(.immediate) {
                for _ in 0..<12 { try db.execute(sql: "INSERT INTO pages VALUES (zeroblob(4000))") }
                return .rollback
            }
        }
        try second.connection.write { db in
            for _ in 0..<6 { try db.execute(sql: "INSERT INTO pages VALUES (zeroblob(4000))") }
        }
        try first.connection.write { db in try db.execute(sql: "INSERT INTO pages VALUES (zeroblob(4000))") }
        let (count, check) = try fixture.rawDatabase().read { db in
            (
                try Int.fetchOne(db, sql: "SELECT count(*) FROM pages"),
                try String.fetchOne(db, sql: "PRAGMA integrity_check")
            )
        }
        #expect(count == 7)
        #expect(check == "ok")
    }

    /// A reader on the same connection finds the pages that the transaction has written to the log.
    @Test("pages that were written early are read again within the transaction")
    func earlyPages() throws {
        let store = try fixture.store()
        let sum = try store.connection.queue.writeWithoutTransaction { db in
            try db.execute(sql: "CREATE TABLE pages (number INTEGER PRIMARY KEY, content BLOB)")
            try db.execute(sql: "PRAGMA cache_size = 5")
            var sum: Int?
            try db.inTransaction(.immediate) {
                for number in 0..<60 {
                    try db.execute(sql: "INSERT INTO pages VALUES (?, zeroblob(3900))", arguments: [number])
                    sum = try Int.fetchOne(db, sql: "SELECT sum(number) + sum(length(content)) FROM pages")
                }
                return .commit
            }
            return sum
        }
        #expect(sum == 59 * 60 / 2 + 60 * 3900)
        #expect(
            try fixture.rawDatabase().read { try String.fetchOne($0, sql: "PRAGMA integrity_check") } == "ok"
        )
    }

    @Test(
        "a full disk makes the transaction fail, and a later one succeeds",
        .enabled(if: SmallDisk.isAvailable, SmallDisk.requirement)
    )
    func fullDisk() throws {
        let disk = try SmallDisk(kibibytes: 1024)
        let directory = try DataDirectory.open(disk.path + "/data")
        let connection = try TokenStore(in: directory).connection
        try connection.write { db in try db.execute(sql: "CREATE TABLE pages (content BLOB)") }
        let insert = { (db: Database) in
            for _ in 0..<8 { try db.execute(sql: "INSERT INTO pages VALUES (randomblob(4000))") }
        }
        try disk.fill()
        #expect(throws: StoreError.self) { try connection.write(insert) }
        try disk.empty()
        try connection.write(insert)
        let count = try connection.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM pages") }
        #expect(count == 8)
    }
}
