import Foundation
import GRDB

/// Rows of the tables of albums.
enum AlbumRow {
    static func links(_ db: Database, where condition: String, _ arguments: StatementArguments) throws -> [AlbumLink] {
        let sql = """
            SELECT tape_id, library_id, album_id, title_at_creation, owner_id, hint, created_at, verified_at
            FROM album_links WHERE \(condition) ORDER BY created_at, tape_id, library_id
            """
        return try Row.fetchAll(db.cachedStatement(sql: sql), arguments: arguments).map { row in
            AlbumLink(
                tapeID: row[0],
                libraryID: row[1],
                albumID: row[2],
                titleAtCreation: row[3],
                ownerID: row[4],
                hint: (row[5] as Data?).map { [UInt8]($0) },
                createdAt: Date(milliseconds: row[6]),
                verifiedAt: (row[7] as Int64?).map(Date.init(milliseconds:))
            )
        }
    }

    static func links(_ db: Database, to albumID: String, in libraryID: String) throws -> [AlbumLink] {
        try links(db, where: "library_id = ? AND album_id = ?", [libraryID, albumID])
    }

    /// In place of an earlier one of the same tape and library; unknown columns of that stay.
    static func keep(_ link: AlbumLink, _ db: Database) throws {
        try db.cachedStatement(
            sql: """
                INSERT INTO album_links
                    (tape_id, library_id, album_id, title_at_creation, owner_id, hint, created_at, verified_at)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?)
                ON CONFLICT DO UPDATE SET album_id = excluded.album_id, title_at_creation = excluded.title_at_creation,
                    owner_id = excluded.owner_id, hint = excluded.hint, created_at = excluded.created_at,
                    verified_at = excluded.verified_at
                """
        ).execute(arguments: [
            link.tapeID, link.libraryID, link.albumID, link.titleAtCreation, link.ownerID, link.hint.map { Data($0) },
            link.createdAt.milliseconds, link.verifiedAt?.milliseconds,
        ])
    }

    static func keep(_ intent: AlbumIntent, _ db: Database) throws {
        try db.cachedStatement(
            sql: """
                INSERT INTO album_intents (tape_id, library_id, title, started_at) VALUES (?, ?, ?, ?)
                ON CONFLICT DO UPDATE SET title = excluded.title, started_at = excluded.started_at
                """
        ).execute(arguments: [intent.tapeID, intent.libraryID, intent.title, intent.startedAt.milliseconds])
    }

    static func keep(_ tombstone: AlbumTombstone, _ db: Database) throws {
        try db.cachedStatement(
            sql: """
                INSERT INTO album_tombstones (library_id, album_id, tape_title, attempts, last_error)
                VALUES (?, ?, ?, ?, ?)
                ON CONFLICT DO UPDATE SET tape_title = excluded.tape_title, attempts = excluded.attempts,
                    last_error = excluded.last_error
                """
        ).execute(arguments: [
            tombstone.libraryID, tombstone.albumID, tombstone.tapeTitle, tombstone.attempts, tombstone.lastError,
        ])
    }

    static func removeTombstone(_ db: Database, of albumID: String, in libraryID: String) throws {
        try db.cachedStatement(sql: "DELETE FROM album_tombstones WHERE library_id = ? AND album_id = ?")
            .execute(arguments: [libraryID, albumID])
    }

    static func keep(_ library: AlbumLibraryRecord, _ db: Database) throws {
        try db.cachedStatement(
            sql: """
                INSERT INTO album_libraries
                    (kind, address, library_id, account_id, key_id, refused_fingerprint, updated_at)
                VALUES (?, ?, ?, ?, ?, ?, ?)
                ON CONFLICT DO UPDATE SET library_id = excluded.library_id, account_id = excluded.account_id,
                    key_id = excluded.key_id, refused_fingerprint = excluded.refused_fingerprint,
                    updated_at = excluded.updated_at
                """
        ).execute(arguments: [
            library.kind, library.address, library.libraryID, library.accountID, library.keyID,
            library.refusedFingerprint, library.updatedAt.milliseconds,
        ])
    }
}
