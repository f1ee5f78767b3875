import Foundation
import GRDB

extension TokenStore {
    /// Purges all entries of a host, or of all hosts, tombstones and finished journal rows included, with what belongs to
    /// these (`secure_delete=ON`, and the write-ahead log is emptied).
    ///
    /// Backups in the data directory lose the same entries, and go with all hosts; damaged stores that a repair has set aside
    /// are removed.
    ///
    /// Rows in flight stay. So do failed and cancelled uploads of which a tus server holds bytes that have not expired:
    /// they can be resumed, and only their row lets `discard` remove those bytes. Receipts whose upload the journal has
    /// lost belong to no known host and go with all hosts.
    ///
    /// - Returns: The number of token entries purged, superseded ones included.
    /// - Throws: `StoreError`; `.busy` also when the rows are gone but the log could not be emptied.
    public func clear(host: String?) throws(StoreError) -> Int {
        let backups = StoreBackups(in: directory)
        let lock = try backups.lock()
        defer { lock.remove() }
        if host == nil {
            try backups.removeAll()
        } else {
            try backups.change { _ = try Self.clear($0, host: host) }
        }
        // Nobody can tell whose tokens they have.
        try DamagedCopies(directory: directory).removeAll()
        let count = try connection.write { try Self.clear($0, host: host) }
        try connection.truncateLog()
        return count
    }

    private static func clear(_ db: Database, host: String?) throws -> Int {
        try db.execute(sql: "DELETE FROM tokens WHERE ?1 IS NULL OR host = ?1", arguments: [host])
        let count = db.changesCount
        try db.execute(sql: "DELETE FROM tombstones WHERE ?1 IS NULL OR host = ?1", arguments: [host])
        try db.execute(sql: "DELETE FROM stored_files WHERE ?1 IS NULL OR host = ?1", arguments: [host])
        try clearJournal(db, host: host)
        return count
    }

    private static func clearJournal(_ db: Database, host: String?) throws {
        let finished = UploadRow.isIn(Set(UploadState.allCases.filter(\.isFinal)))
        let purged = "\(finished) AND NOT (\(TusRow.isResumable))"
        let arguments: StatementArguments = [host, Date().milliseconds]
        try db.execute(
            sql: "DELETE FROM guest_receipts WHERE upload_id IN (SELECT upload_id FROM uploads WHERE \(purged))",
            arguments: arguments
        )
        // Their rows in tus_uploads go with them.
        try db.execute(sql: "DELETE FROM uploads WHERE \(purged)", arguments: arguments)
        if host == nil {
            try db.execute(sql: "DELETE FROM guest_receipts WHERE upload_id NOT IN (SELECT upload_id FROM uploads)")
        }
    }
}
