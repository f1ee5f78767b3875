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

    /// Rows that were sent with an event link and have this id on their server, newest first.
    package func guestUploads(host: String?, fileID: Int64) throws(StoreError) -> [UploadRecord] {
        try connection.read { db in
            let condition = "is_guest = 1 AND file_id = ?2 AND (?1 IS NULL OR host = ?1)"
            return try UploadRow.fetch(db, where: condition, [host, fileID])
        }
    }

    /// The last known states of guest uploads, by the ids of the journal.
    public func guestStandings() throws(StoreError) -> [String: GuestStanding] {
        try connection.read { try GuestRow.standings($0) }
    }

    /// Notes the state of a guest's upload. Does nothing for an upload without a receipt.
    public func note(_ standing: GuestStanding, of uploadID: String) throws(StoreError) {
        try connection.write { try GuestRow.note(standing, of: uploadID, $0) }
    }
}
