public import Foundation
import GRDB

/// Links, intents, tombstones and libraries of albums (tapes contract 1.3). Every change is one transaction, on disk
/// when the method returns.
extension LibraryStore {
    // MARK: Links

    /// The albums of a tape, in all libraries, oldest first.
    public func albumLinks(of tapeID: String) throws(StoreError) -> [AlbumLink] {
        try connection.readBeside { db in try Self.links(db, where: "tape_id = ?", [tapeID]) }
    }

    /// All links to albums in a library, oldest first.
    public func albumLinks(in libraryID: String) throws(StoreError) -> [AlbumLink] {
        try connection.readBeside { db in try Self.links(db, where: "library_id = ?", [libraryID]) }
    }

    static func links(_ db: Database, where condition: String, _ arguments: StatementArguments) throws -> [AlbumLink] {
        try Stored.values(db, where: "\(condition) ORDER BY created_at, tape_id, library_id", arguments)
    }

    /// Stores the identifier of an album, replacing an earlier one in the same library, ends the intent, and makes the
    /// tape `associated`.
    ///
    /// The clips of the tape all become pending again if the identifier differs from the earlier one, or if they were
    /// last processed with a different library (rule R5): assets in that library may be missing from this one. A
    /// pending deletion of this album is dropped.
    ///
    /// - Returns: false if the tape no longer exists; in that case, nothing was stored.
    /// - Throws: `StoreError`; `.other` for an identifier that is empty.
    @discardableResult
    public func keep(_ link: AlbumLink) throws(StoreError) -> Bool {
        try connection.write { db in
            guard try TapeRecord.exists(db, id: link.tapeID) else { return false }
            let known = try Stored<AlbumLink>.fetchOne(db, key: Self.key(link.tapeID, link.libraryID))?.value
            let clipsLibrary = try Self.clipsLibrary(db, link.tapeID)
            if known?.albumID != link.albumID || clipsLibrary != link.libraryID {
                try ClipRow.makePending(db, of: link.tapeID)
            }
            // Columns unknown to this version are kept.
            try Stored(link).save(db)
            try Stored<AlbumIntent>.deleteOne(db, key: Self.key(link.tapeID, link.libraryID))
            try Stored<AlbumTombstone>.deleteOne(db, key: ["library_id": link.libraryID, "album_id": link.albumID])
            try db.execute(
                sql: """
                    UPDATE tapes SET association = 'associated', association_reason = NULL, clips_library_id = ?
                    WHERE id = ?
                    """,
                arguments: [link.libraryID, link.tapeID]
            )
            return true
        }
    }

    /// Removes the link to the album of a tape in a library. If its clips were last processed with that library, they
    /// become pending again, and so does the tape (never tried); a tape without clips has no association.
    public func removeAlbumLink(of tapeID: String, in libraryID: String) throws(StoreError) {
        try connection.write { db in
            let isRemoved = try Stored<AlbumLink>.deleteOne(db, key: Self.key(tapeID, libraryID))
            guard isRemoved, try Self.clipsLibrary(db, tapeID) == libraryID else { return }
            try ClipRow.makePending(db, of: tapeID)
            let hasClips = try ClipRow.count(db, of: tapeID) > 0
            try db.execute(
                sql: """
                    UPDATE tapes SET association = ?, association_reason = ?, clips_library_id = NULL WHERE id = ?
                    """,
                arguments: [
                    (hasClips ? TapeRecord.Association.pending : .none).rawValue,
                    hasClips ? AssociationReason.neverTried.rawValue : nil, tapeID,
                ]
            )
        }
    }

    /// Commits the results of clips in a library; a clip that no longer exists is skipped.
    public func recordOutcomes(_ clips: [ClipOutcome], in libraryID: String, at now: Date = Date()) throws(StoreError) {
        guard !clips.isEmpty else { return }
        try connection.write { db in
            for clip in clips {
                try db.cachedStatement(
                    sql: """
                        UPDATE clips SET association = ?, association_reason = ?, attempts = ?, next_attempt_at = ?
                        WHERE id = ?
                        """
                ).execute(arguments: [
                    clip.association.rawValue, clip.reason?.rawValue, clip.attempts, clip.nextAttemptAt?.milliseconds,
                    clip.clipID,
                ])
                guard db.changesCount == 1, let asset = clip.assetID else { continue }
                try db.cachedStatement(
                    sql: """
                        INSERT INTO clip_assets (clip_id, library_id, asset_id, linked_at) VALUES (?, ?, ?, ?)
                        ON CONFLICT DO UPDATE SET asset_id = excluded.asset_id, linked_at = excluded.linked_at
                        """
                ).execute(arguments: [clip.clipID, libraryID, Data(asset), now.milliseconds])
            }
        }
    }

    /// The assets of the clips of a tape, by clip.
    public func clipAssets(of tapeID: String, in libraryID: String) throws(StoreError) -> [String: [UInt8]] {
        try connection.readBeside { db in
            let rows = try Row.fetchAll(
                db,
                sql: """
                    SELECT clip_id, asset_id FROM clips JOIN clip_assets ON clip_id = clips.id
                    WHERE tape_id = ? AND library_id = ?
                    """,
                arguments: [tapeID, libraryID]
            )
            return Dictionary(uniqueKeysWithValues: rows.map { ($0["clip_id"], [UInt8]($0["asset_id"] as Data)) })
        }
    }

    private static func clipsLibrary(_ db: Database, _ tapeID: String) throws -> String? {
        try String.fetchOne(db, sql: "SELECT clips_library_id FROM tapes WHERE id = ?", arguments: [tapeID])
    }

    // MARK: Intents

    /// The creation in flight; nil if there is none.
    public func albumIntent(of tapeID: String, in libraryID: String) throws(StoreError) -> AlbumIntent? {
        try connection.readBeside { db in
            try Stored<AlbumIntent>.fetchOne(db, key: Self.key(tapeID, libraryID))?.value
        }
    }

    /// The creations in flight in a library.
    public func albumIntents(in libraryID: String) throws(StoreError) -> [AlbumIntent] {
        try connection.readBeside { db in try Stored.values(db, where: "library_id = ?", [libraryID]) }
    }

    /// Stores an intent, replacing an earlier one.
    ///
    /// - Throws: `StoreError`; `.other` if the tape no longer exists.
    public func keep(_ intent: AlbumIntent) throws(StoreError) {
        try connection.write { db in try Stored(intent).save(db) }
    }

    /// Ends an intent without an album: the library has confirmed that it created none.
    public func removeAlbumIntent(of tapeID: String, in libraryID: String) throws(StoreError) {
        _ = try connection.write { db in try Stored<AlbumIntent>.deleteOne(db, key: Self.key(tapeID, libraryID)) }
    }

    private static func key(_ tapeID: String, _ libraryID: String) -> [String: (any DatabaseValueConvertible)?] {
        ["tape_id": tapeID, "library_id": libraryID]
    }

    // MARK: Tombstones

    /// All pending deletions, oldest first.
    public func albumTombstones() throws(StoreError) -> [AlbumTombstone] {
        try connection.readBeside { db in try Stored.values(db, where: "true ORDER BY rowid") }
    }

    /// Stores a tombstone, replacing an earlier state.
    ///
    /// - Throws: `StoreError`; `.other` for an identifier that is empty.
    public func keep(_ tombstone: AlbumTombstone) throws(StoreError) {
        try connection.write { db in try Stored(tombstone).save(db) }
    }

    /// Removes a tombstone: the album no longer exists.
    public func removeAlbumTombstone(_ albumID: String, in libraryID: String) throws(StoreError) {
        _ = try connection.write { db in
            try Stored<AlbumTombstone>.deleteOne(db, key: ["library_id": libraryID, "album_id": albumID])
        }
    }

    // MARK: Libraries

    /// The library last found at an address; nil if it was never used.
    public func albumLibrary(kind: String, address: String) throws(StoreError) -> AlbumLibraryRecord? {
        try connection.readBeside { db in
            try Stored<AlbumLibraryRecord>.fetchOne(db, key: ["kind": kind, "address": address])?.value
        }
    }

    /// Stores the library found at an address.
    public func keep(_ library: AlbumLibraryRecord) throws(StoreError) {
        try connection.write { db in try Stored(library).save(db) }
    }
}

/// Queries about pending album work that cover many tapes or clips.
extension LibraryStore {
    /// Tapes that have clips and are not completely in an album of a library; nil counts every tape that has clips.
    /// Clips that were refused permanently do not count. Tapes are sorted by the number of attempts, fewest first, then
    /// by the time of the last change, oldest first: tapes that never succeed must not block the others.
    public func tapesToAssociate(in libraryID: String?) throws(StoreError) -> [TapeRecord] {
        try connection.readBeside { db in
            try Stored.values(
                db,
                where: """
                    EXISTS (SELECT 1 FROM clips WHERE tape_id = tapes.id) AND (
                        association <> 'associated'
                        OR EXISTS (SELECT 1 FROM clips WHERE tape_id = tapes.id AND association = 'pending')
                        OR NOT EXISTS (SELECT 1 FROM album_links WHERE tape_id = tapes.id AND library_id IS ?)
                    ) ORDER BY (
                        SELECT coalesce(min(attempts), 0) FROM clips WHERE tape_id = tapes.id AND association = 'pending'
                    ), updated_at, rowid
                    """,
                [libraryID]
            )
        }
    }

    /// The IDs of the clips of a tape, in the order in which they were added.
    public func clipIDsByAge(of tapeID: String) throws(StoreError) -> [String] {
        try connection.readBeside { db in
            try String.fetchAll(db, sql: "SELECT id FROM clips WHERE tape_id = ? ORDER BY rowid", arguments: [tapeID])
        }
    }
}

/// A lock for work on the albums of one tape, or on one folder library, by one task of one process at a time.
///
/// A tape's lock may be held while waiting for a library's lock, never the other way around; each kind has its own
/// file, so their names cannot collide.
package typealias AlbumLock = LockedByte

extension LockedByte {
    package enum AlbumSubject: Sendable {
        /// Identified by the ID of the tape.
        case tape(String)
        /// Identified by the ID in its marker.
        case folderLibrary(String)

        fileprivate var place: (file: String, name: String) {
            switch self {
            case .tape(let id): ("tapes", id)
            case .folderLibrary(let id): ("album-folders", id)
            }
        }
    }

    /// Waits on a dedicated thread, without polling; canceling interrupts the wait. The system call cannot be canceled:
    /// a canceled wait continues in the background, and releases the lock as soon as it gets it.
    package static func acquire(_ subject: AlbumSubject, in directory: DataDirectory) async throws -> AlbumLock {
        try Task.checkCancellation()
        let byte = try LockedByte(subject.place.name, of: directory.lockFile(subject.place.file))
        if try byte.tryLock() { return byte }
        let (results, continuation) = AsyncStream<Result<Void, any Error>>.makeStream()
        Thread.detachNewThread {
            if case .terminated = continuation.yield(Result { try byte.lock() }) { byte.release() }
            continuation.finish()
        }
        for await result in results {
            try result.get()
            return byte
        }
        throw CancellationError()
    }
}
