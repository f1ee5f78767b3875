import GRDB

extension TokenStore {
    /// Writes the intent row of an upload. Calls of several tasks share one commit (group commit).
    ///
    /// - Throws: `StoreError`; `.other` when the id is taken.
    public func plan(_ record: UploadRecord) async throws(StoreError) {
        try await commits.commit { try UploadRow.insert(record, $0) }
    }

    /// Changes a row. Fields of `change` that are nil stay as they are. Calls of several tasks share one commit.
    ///
    /// - Throws: `StoreError`; `.other` when there is no such row.
    public func note(_ uploadID: String, _ change: UploadChange) async throws(StoreError) {
        let path = connection.path
        try await commits.commit { db in
            guard try UploadRow.update(uploadID, change, db) else { throw UploadRow.missing(uploadID, path) }
        }
    }

    /// Keeps the tus side of an upload, replacing what was kept before; a record without any tus id says that the server
    /// holds nothing of it (any more). Calls of several tasks share one commit.
    ///
    /// - Throws: `StoreError`; `.other` when there is no such upload.
    public func save(_ tus: TusRecord) async throws(StoreError) {
        let path = connection.path
        try await commits.commit { db in
            guard try UploadRow.exists(tus.uploadID, db) else { throw UploadRow.missing(tus.uploadID, path) }
            try TusRow.upsert(tus, db)
        }
    }

    /// The tus side of an upload; nil when it has none.
    public func tusRecord(_ uploadID: String) throws(StoreError) -> TusRecord? {
        try connection.read { try TusRow.fetch(uploadID, $0) }
    }

    /// What a server gave a guest for an upload; nil when nothing.
    public func guestReceipt(_ uploadID: String) throws(StoreError) -> GuestReceipt? {
        try connection.read { try GuestRow.fetch(uploadID, $0) }
    }

    /// Rows of a host that sent these bytes, newest first.
    public func uploads(checksumSHA256: String, host: String) throws(StoreError) -> [UploadRecord] {
        try connection.read { try UploadRow.fetch($0, where: UploadRow.hasChecksum, [host, checksumSHA256]) }
    }
}
