internal import Foundation

extension TokenStore {
    /// Writes the intent row of an upload. Calls of several tasks share one commit (group commit).
    ///
    /// - Throws: `StoreError`; `.other` when the id is taken.
    public func plan(_ record: UploadRecord) async throws(StoreError) {
        try insert(record)
    }

    /// Changes a row. Fields of `change` that are nil stay as they are. Calls of several tasks share one commit.
    ///
    /// - Throws: `StoreError`; `.other` when there is no such row.
    public func note(_ uploadID: String, _ change: UploadChange) async throws(StoreError) {
        try update(uploadID, change)
    }

    /// Keeps the tus side of an upload, replacing what was kept before. Calls of several tasks share one commit.
    ///
    /// - Throws: `StoreError`; `.other` when there is no such upload.
    public func save(_ tus: TusRecord) async throws(StoreError) {
        throw StoreError(.other, path: "", detail: "not built yet")
    }

    /// The tus side of an upload; nil when it has none.
    public func tusRecord(_ uploadID: String) throws(StoreError) -> TusRecord? { nil }

    /// What a server gave a guest for an upload; nil when nothing.
    public func guestReceipt(_ uploadID: String) throws(StoreError) -> GuestReceipt? { nil }

    /// Rows of a host that sent these bytes, newest first.
    public func uploads(checksumSHA256: String, host: String) throws(StoreError) -> [UploadRecord] { [] }
}
