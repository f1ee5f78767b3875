import GRDB

extension StoreConnection {
    /// Copies the database into an empty file.
    ///
    /// - Parameters:
    ///   - file: The file.
    ///   - path: Its later name, for errors.
    /// - Throws: `StoreError`, with that name if the file cannot be written.
    func copy(to file: String, named path: String) throws(StoreError) {
        do {
            try queue.writeWithoutTransaction { db in
                // It would prevent the copy as well (`snapshot`).
                let isQueryOnly = try Bool.fetchOne(db, sql: "PRAGMA query_only") ?? false
                if isQueryOnly { try db.execute(sql: "PRAGMA query_only = OFF") }
                defer { if isQueryOnly { try? db.execute(sql: "PRAGMA query_only = ON") } }
                do {
                    try db.execute(sql: "VACUUM INTO ?", arguments: [file])
                } catch let error as DatabaseError where Self.isOfWriting(error) {
                    // Only the copy is written.
                    throw StoreError(error, path: path)
                }
            }
        } catch {
            throw failure(error)
        }
    }

    /// Whether an error can only come from a file that is written.
    private static func isOfWriting(_ error: DatabaseError) -> Bool {
        switch error.extendedResultCode {
        case .SQLITE_IOERR_WRITE, .SQLITE_IOERR_FSYNC, .SQLITE_IOERR_TRUNCATE: true
        default: [.SQLITE_FULL, .SQLITE_CANTOPEN, .SQLITE_READONLY, .SQLITE_PERM].contains(error.resultCode)
        }
    }
}
