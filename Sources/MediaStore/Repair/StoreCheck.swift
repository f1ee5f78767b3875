import GRDB

/// The content of the token store, and whether all of it can be read.
package struct StoreCheck: Sendable {
    package var path: String
    /// Whether there is a store.
    package var exists: Bool
    /// Size of the database without its log, in bytes.
    package var byteCount: Int64
    /// Tokens, including those that were replaced by a newer one.
    package var tokens: Int
    package var hosts: Int
    package var uploads: Int
    /// Uploads whose outcome is not known yet.
    package var unfinishedUploads: Int
    /// Whether the store has no tokens, uploads or tombstones; also true if it was recreated after a loss.
    package var isEmpty: Bool
    package var backups: [StoreBackups.Backup]
    /// The newest backup with tokens that the store does not have; nil if there is no such backup.
    package var missing: StoreBackups.Missing?
    /// SQLite's messages; empty for an intact store.
    package var findings: [String]

    /// Reads the whole store; a missing one is empty. Changes nothing.
    package init(reading directory: DataDirectory) throws(StoreError) {
        let store = try TokenStore(reading: directory, creating: false)
        path = directory.file(StoreSchema.tokens.fileName)
        exists = try FileStatus(at: path) != nil
        byteCount = try FileStatus(at: path)?.size ?? 0
        backups = try StoreBackups(in: directory).all()
        missing = try StoreBackups(in: directory).withMissingTokens(in: store)
        (tokens, hosts, uploads, unfinishedUploads, isEmpty, findings) = try store.connection.read { db in
            let count = { (sql: String) in try Int.fetchOne(db, sql: sql) ?? 0 }
            let open = UploadRow.names(of: UploadState.allCases.filter { !$0.isFinal })
            let report = try String.fetchAll(db, sql: "PRAGMA integrity_check(20)").filter { $0 != "ok" }
                .map(StoreError.oneLine)
            let orphans = try Row.fetchAll(db, sql: "PRAGMA foreign_key_check").count
            return (
                try count("SELECT count(*) FROM tokens"), try TokenRow.hosts(db).count,
                try count("SELECT count(*) FROM uploads"),
                try count("SELECT count(*) FROM uploads WHERE state IN (\(open))"), try TokenStore.isEmpty(db),
                report + (orphans == 0 ? [] : ["rows of resumable uploads without their upload: \(orphans)"])
            )
        }
    }
}
