import GRDB

extension TokenStore {
    /// Whether the entry of a stored file was removed here and no token for it has come since.
    ///
    /// - Throws: `StoreError`.
    public func isRemoved(host: String, fileID: Int64, checksumSHA256: String) throws(StoreError) -> Bool {
        try connection.read { db in
            let statement = try db.cachedStatement(
                sql: "SELECT 1 FROM tombstones WHERE host = ? AND file_id = ? AND checksum_sha256 = ?"
            )
            return try Row.fetchOne(statement, arguments: [host, fileID, checksumSHA256]) != nil
        }
    }

    /// Where the entry of a file was removed here.
    ///
    /// - Parameters:
    ///   - fileID: The server's ID.
    ///   - host: Only this host; nil for all.
    /// - Returns: The hosts, in order.
    /// - Throws: `StoreError`.
    package func removedHosts(fileID: Int64, host: String?) throws(StoreError) -> [String] {
        try connection.read { db in
            try String.fetchAll(
                db,
                sql: "SELECT DISTINCT host FROM tombstones WHERE file_id = ? AND host = ifnull(?, host) ORDER BY host",
                arguments: [fileID, host]
            )
        }
    }
}
