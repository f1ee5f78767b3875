import Foundation
import GRDB

extension LibraryStore {
    /// Whether the user has agreed to synchronize a directory (absolute path, as bytes) with a server in both
    /// directions. Copies in it are not evidence of that: a push records them as well.
    public func isSynced(_ directory: [UInt8], server: String) throws(StoreError) -> Bool {
        try connection.readBeside { db in
            try Bool.fetchOne(
                db,
                sql: "SELECT EXISTS (SELECT 1 FROM synced_directories WHERE path = ? AND server = ?)",
                arguments: [Data(directory), server]
            ) ?? false
        }
    }

    /// Records that the user has agreed.
    public func setSynced(_ directory: [UInt8], server: String) throws(StoreError) {
        try connection.write { db in
            try db.execute(
                sql: "INSERT OR IGNORE INTO synced_directories (path, server) VALUES (?, ?)",
                arguments: [Data(directory), server]
            )
        }
    }
}
