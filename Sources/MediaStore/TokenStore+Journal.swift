import GRDB
public import MediaSystem

extension TokenStore {
    /// A new id: `u-` and 16 random characters.
    public static func newUploadID() -> String { "u-" + RandomName.make() }

    /// Writes the intent row of an upload.
    ///
    /// - Throws: `StoreError`; `.other` when the id is taken.
    public func insert(_ record: UploadRecord) throws(StoreError) {
        try connection.write { try UploadRow.insert(record, $0) }
    }

    /// Changes a row. Fields of `change` that are nil stay as they are.
    ///
    /// - Throws: `StoreError`; `.other` when there is no such row.
    public func update(_ uploadID: String, _ change: UploadChange) throws(StoreError) {
        try connection.write { [path = connection.path] db in
            guard try UploadRow.update(uploadID, change, db) else { throw UploadRow.missing(uploadID, path) }
        }
    }

    /// Waits until all readable data is on the disk, including what a killed process has written.
    ///
    /// - Throws: `StoreError`.
    package func synchronize() throws(StoreError) { try connection.synchronizeLogs() }

    /// One row.
    public func upload(_ uploadID: String) throws(StoreError) -> UploadRecord? {
        try connection.read { db in
            try UploadRow.fetch(db, where: "upload_id = ?", [uploadID]).first
        }
    }

    /// Rows in any of these states, newest first; all states when `states` is empty.
    public func uploads(states: Set<UploadState>, host: String?) throws(StoreError) -> [UploadRecord] {
        let wanted = states.isEmpty ? Set(UploadState.allCases) : states
        return try connection.read { db in
            try UploadRow.fetch(db, where: UploadRow.isIn(wanted), [host])
        }
    }

    /// Rows with this id on their server, newest first.
    package func uploads(fileID: Int64, host: String?) throws(StoreError) -> [UploadRecord] {
        try connection.read {
            try UploadRow.fetch($0, where: "file_id = ?2 AND (?1 IS NULL OR host = ?1)", [host, fileID])
        }
    }

    /// Rows for exactly this file, unchanged in content and status, on a host; newest first. Tells what was already
    /// sent or is being sent from here.
    public func uploads(identity: FileIdentity, host: String) throws(StoreError) -> [UploadRecord] {
        try connection.readBeside { db in
            try UploadRow.fetch(
                db,
                where: UploadRow.isFile,
                [
                    Int64(bitPattern: identity.inode), Int64(bitPattern: identity.device), host, identity.size,
                    identity.modificationNanoseconds, identity.changeNanoseconds,
                ]
            )
        }
    }
}
