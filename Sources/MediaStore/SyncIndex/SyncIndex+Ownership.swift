import GRDB

extension SyncIndex {
    /// Whether a server records who uploads a photo, as the latest upload from here has shown (photosync contract 3.5); nil
    /// when nothing was uploaded, and for a server that was never synchronised.
    public func ownsUploads(at server: String) throws(StoreError) -> Bool? {
        try read { db in
            let row = try Row.fetchOne(
                db,
                sql: "SELECT owns_uploads FROM servers WHERE address = ?",
                arguments: [server]
            )
            return row?["owns_uploads"]
        }
    }

    /// Keeps what an upload has shown. A server that was never synchronised is passed over.
    public func setOwnsUploads(_ isOwned: Bool, at server: String) throws(StoreError) {
        try write { db in
            try db.execute(
                sql: "UPDATE servers SET owns_uploads = ? WHERE address = ?",
                arguments: [isOwned, server]
            )
        }
    }
}
