import GRDB

/// One stored file.
struct Asset: Sendable {
    var id: Int
    var checksum: String
    var fileExtension: String
    var kind: MediaKind
    var mimeType: String
    var size: Int
    var duration: Int?
    var sourceName: String
    var tokenHash: String?
    var createdAt: String

    /// The name it is served by.
    var fileName: String { fileExtension.isEmpty ? checksum : "\(checksum).\(fileExtension)" }

    init(_ row: Row) {
        id = row["id"]
        checksum = row["checksum"]
        fileExtension = row["file_ext"]
        kind = MediaKind(rawValue: row["file_type"]) ?? .video
        mimeType = row["mime_type"]
        size = row["size_bytes"]
        duration = row["duration_seconds"]
        sourceName = row["source_relpath"]
        tokenHash = row["delete_token_hash"]
        createdAt = row["created_at"]
    }

    static func find(_ id: Int, _ db: Database) throws -> Asset? {
        try Row.fetchOne(db, sql: "SELECT * FROM asset WHERE id = ?", arguments: [id]).map(Asset.init)
    }

    static func find(checksum: String, _ db: Database) throws -> Asset? {
        try Row.fetchOne(db, sql: "SELECT * FROM asset WHERE checksum = ?", arguments: [checksum]).map(Asset.init)
    }

    /// Makes a row; the file must be put in place by the caller.
    static func insert(
        checksum: String,
        fileExtension: String,
        kind: MediaKind,
        mimeType: String,
        size: Int,
        duration: Int?,
        sourceName: String,
        tokenHash: String?,
        _ db: Database
    ) throws -> Asset {
        let row = try Row.fetchOne(
            db,
            sql: """
                INSERT INTO asset (checksum, file_ext, file_type, mime_type, size_bytes, duration_seconds,
                    source_relpath, delete_token_hash, created_at)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, datetime('now')) RETURNING *
                """,
            arguments: [
                checksum, fileExtension, kind.rawValue, mimeType, size, duration, sourceName, tokenHash,
            ]
        )
        guard let row else { throw DatabaseError(message: "asset was not inserted") }
        return Asset(row)
    }
}
