extension TokenStore {
    /// Rows that were sent with an event link and are on the server, newest first; those of all hosts when `host` is nil.
    public func guestUploads(host: String?) throws(StoreError) -> [UploadRecord] {
        try connection.read { db in
            try UploadRow.fetch(
                db,
                where: "is_guest = 1 AND file_id IS NOT NULL AND (?1 IS NULL OR host = ?1)",
                [host]
            )
        }
    }
}
