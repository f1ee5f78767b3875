public import Foundation
import GRDB

/// The album of a tape in one library (tapes contract 1.3): the stored identifier, and nothing else finds an album.
public struct AlbumLink: Sendable, Equatable {
    /// The tape.
    public var tapeID: String
    /// One library instance.
    public var libraryID: String
    /// The library's name for the album.
    public var albumID: String
    /// The album's title; it does not follow the tape's.
    public var titleAtCreation: String
    /// The account that owns it, when the library has accounts.
    public var ownerID: String?
    /// Where the library last had it (a folder's path, as bytes); a hint.
    public var hint: [UInt8]?
    /// When it was made.
    public var createdAt: Date
    /// When the library last said that it is there.
    public var verifiedAt: Date?

    /// Makes a link.
    public init(
        tapeID: String,
        libraryID: String,
        albumID: String,
        titleAtCreation: String,
        ownerID: String? = nil,
        hint: [UInt8]? = nil,
        createdAt: Date,
        verifiedAt: Date? = nil
    ) {
        self.tapeID = tapeID
        self.libraryID = libraryID
        self.albumID = albumID
        self.titleAtCreation = titleAtCreation
        self.ownerID = ownerID
        self.hint = hint
        self.createdAt = createdAt
        self.verifiedAt = verifiedAt
    }
}

/// The creation of an album in flight (rule R4).
public struct AlbumIntent: Sendable, Equatable {
    /// The tape.
    public var tapeID: String
    /// One library instance.
    public var libraryID: String
    /// The title asked for.
    public var title: String
    /// When it began.
    public var startedAt: Date

    /// Makes an intent.
    public init(tapeID: String, libraryID: String, title: String, startedAt: Date) {
        self.tapeID = tapeID
        self.libraryID = libraryID
        self.title = title
        self.startedAt = startedAt
    }
}

/// A deletion owed (rule R11).
public struct AlbumTombstone: Sendable, Equatable {
    /// One library instance.
    public var libraryID: String
    /// The album.
    public var albumID: String
    /// Title of the tape that is gone.
    public var tapeTitle: String
    /// Tries that failed.
    public var attempts: Int
    /// What the last one said.
    public var lastError: String?

    /// Makes a tombstone.
    public init(libraryID: String, albumID: String, tapeTitle: String, attempts: Int = 0, lastError: String? = nil) {
        self.libraryID = libraryID
        self.albumID = albumID
        self.tapeTitle = tapeTitle
        self.attempts = attempts
        self.lastError = lastError
    }
}

/// What was found at the address of a library: needed to tell whether the one there is still the same, and whether the
/// rights have changed since access was refused (rule R10).
public struct AlbumLibraryRecord: Sendable, Equatable {
    /// `folder`, `immich`.
    public var kind: String
    /// Path of a root, percent-encoded where it is not plain text, or base address of a server.
    public var address: String
    /// The library instance that was there at the last success; nil when there was none yet.
    public var libraryID: String?
    /// Account at the last success.
    public var accountID: String?
    /// Id of the API key at the last success; never the key.
    public var keyID: String?
    /// The grant that access was refused with; nil since it was granted.
    public var refusedFingerprint: String?
    /// When this was last written.
    public var updatedAt: Date

    /// Makes a record of an address.
    public init(
        kind: String,
        address: String,
        libraryID: String? = nil,
        accountID: String? = nil,
        keyID: String? = nil,
        refusedFingerprint: String? = nil,
        updatedAt: Date
    ) {
        self.kind = kind
        self.address = address
        self.libraryID = libraryID
        self.accountID = accountID
        self.keyID = keyID
        self.refusedFingerprint = refusedFingerprint
        self.updatedAt = updatedAt
    }
}

/// What became of one clip in one attempt.
public struct ClipSettlement: Sendable, Equatable {
    /// The clip.
    public var clipID: String
    /// Its state now.
    public var association: ClipRecord.Association
    /// Why, unless linked.
    public var reason: AssociationReason?
    /// The library's name for its original; nil leaves what is stored.
    public var assetID: [UInt8]?
    /// Tries that failed in a row.
    public var attempts: Int
    /// Not tried again of itself before.
    public var nextAttemptAt: Date?

    /// Makes a settlement.
    public init(
        clipID: String,
        association: ClipRecord.Association,
        reason: AssociationReason? = nil,
        assetID: [UInt8]? = nil,
        attempts: Int = 0,
        nextAttemptAt: Date? = nil
    ) {
        self.clipID = clipID
        self.association = association
        self.reason = reason
        self.assetID = assetID
        self.attempts = attempts
        self.nextAttemptAt = nextAttemptAt
    }
}

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
