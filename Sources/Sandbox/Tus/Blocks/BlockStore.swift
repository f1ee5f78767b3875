import Foundation
import GRDB

/// The uploads of the tus endpoint in PHP: state and block counter in the database, bytes in a file each.
///
/// Unlike in ``TusStore``, the offset does not depend on the size of the file.
struct BlockStore: Sendable {
    /// `UPLOAD_MAX_PENDING_PER_TOKEN` (gighive-d4 contract 4.5).
    static let pendingLimit = 5
    /// Seconds for which a pending upload counts.
    static let pendingLifetime = 86_400.0

    let catalog: Catalog
    var folder: DataFolder { catalog.folder }
    private var queue: DatabaseQueue { catalog.queue }

    /// Inserts a new upload and its empty file. If `isCounted`, the pending uploads are counted in the same transaction;
    /// the real server counts them without a lock.
    func insert(_ upload: BlockUpload, isCounted: Bool) throws {
        try queue.write { db in
            if isCounted { try requirePlace(forGuest: upload.guestToken, db) }
            let metadata = upload.metadata
            try db.execute(
                sql: """
                    INSERT INTO block_upload (id, guest_token, state, length, kind, mime_type, event_date, org_name,
                        event_type, label, created_at)
                    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                    """,
                arguments: [
                    upload.id, upload.guestToken, upload.state.rawValue, upload.length, metadata.kind.rawValue,
                    metadata.mimeType, metadata.eventDate, metadata.orgName, metadata.eventType, metadata.label,
                    Date().timeIntervalSince1970,
                ]
            )
        }
        let descriptor = open(folder.uploadPath(upload.id), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw SystemError(call: "open", code: errno) }
        close(descriptor)
    }

    /// Throws ``BlockTusError/tooManyPending`` when the guest, or all users with a password (nil), have no place left.
    func requirePlace(forGuest token: String?) throws {
        try queue.read { db in try requirePlace(forGuest: token, db) }
    }

    private func requirePlace(forGuest token: String?, _ db: Database) throws {
        let count = try Int.fetchOne(
            db,
            sql: "SELECT count(*) FROM block_upload WHERE guest_token IS ? AND state = 'pending' AND created_at > ?",
            arguments: [token, Date().timeIntervalSince1970 - Self.pendingLifetime]
        )
        guard count ?? 0 < Self.pendingLimit else { throw BlockTusError.tooManyPending }
    }

    func find(_ id: String) throws -> BlockUpload? {
        try queue.read { db in
            try Row.fetchOne(db, sql: "SELECT * FROM block_upload WHERE id = ?", arguments: [id])
        }
        .map(BlockUpload.init)
    }

    /// All uploads, oldest first.
    func all() throws -> [BlockUpload] {
        try queue.read { db in try Row.fetchAll(db, sql: "SELECT * FROM block_upload ORDER BY rowid") }
            .map(BlockUpload.init)
    }

    /// Counts an accepted PATCH; the first one sets the block size.
    func countBlock(ofSize size: Int, in id: String) throws {
        try change("block_size = iif(block_count = 0, ?, block_size), block_count = block_count + 1", [size], id)
    }

    func complete(_ id: String, asset: Int) throws {
        try change("state = 'complete', asset_id = ?", [asset], id)
    }

    func fail(_ id: String) throws {
        try change("state = 'failed'", [], id)
    }

    /// Makes the upload 24 h older.
    func age(_ id: String) throws {
        try change("created_at = created_at - ?", [Self.pendingLifetime], id)
    }

    /// Removes row and bytes, as the nightly clean-up does.
    func forget(_ id: String) throws {
        unlink(folder.uploadPath(id))
        try queue.write { db in try db.execute(sql: "DELETE FROM block_upload WHERE id = ?", arguments: [id]) }
    }

    private func change(_ assignment: String, _ values: StatementArguments, _ id: String) throws {
        try queue.write { db in
            try db.execute(sql: "UPDATE block_upload SET \(assignment) WHERE id = ?", arguments: values + [id])
        }
    }
}
