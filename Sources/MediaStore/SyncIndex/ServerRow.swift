import Foundation
import GRDB

/// Rows of the table `servers`.
enum ServerRow {
    static func number(of address: String, _ db: Database) throws -> Int64? {
        let statement = try db.cachedStatement(sql: "SELECT number FROM servers WHERE address = ?")
        return try Int64.fetchOne(statement, arguments: [address])
    }

    /// The server's number, with what another account has left removed.
    static func prepare(_ address: String, account: String, _ db: Database) throws -> Int64 {
        if let number = try number(of: address, db) {
            let known = try String.fetchOne(
                db,
                sql: "SELECT account FROM servers WHERE number = ?",
                arguments: [number]
            )
            if known == account { return number }
            try remove(number, db)
        }
        try db.execute(sql: "INSERT INTO servers (address, account) VALUES (?, ?)", arguments: [address, account])
        return db.lastInsertedRowID
    }

    /// Removes a server with all that is known of it.
    static func remove(_ number: Int64, _ db: Database) throws {
        try RunRow.remove(ofServer: number, db)
        try db.execute(sql: "DELETE FROM origins WHERE server = ?", arguments: [number])
        try db.execute(sql: "DELETE FROM servers WHERE number = ?", arguments: [number])
        // SQLite empties a table at once only when no condition is given.
        let hasOthers = try Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM servers)") ?? true
        if hasOthers {
            try db.execute(sql: "DELETE FROM photos WHERE server = ?", arguments: [number])
        } else {
            try db.execute(sql: "DELETE FROM photos")
        }
    }

    /// Records a run that has ended. A full one has seen the latest photo there is.
    static func finish(_ run: RunRow, now: Date?, _ db: Database) throws {
        let isFull = run.since == nil
        try db.execute(
            sql: "UPDATE servers SET complete_at = ?1, full_at = iif(?2, ?3, full_at) WHERE number = ?4",
            arguments: [now?.milliseconds ?? run.begunAt, isFull, run.begunAt, run.server]
        )
        try db.execute(
            sql: """
                UPDATE servers SET watermark_us = ?1, watermark_text = ?2
                WHERE number = ?4 AND (?3 OR watermark_us IS NULL OR watermark_us < ?1)
                """,
            arguments: [run.latest?.microseconds, run.latest?.text, isFull, run.server]
        )
    }
}
