public import Foundation
import GRDB

/// Clips of tapes. Every change is one transaction, on the disk when the method returns; positions are dense from 0 after
/// each.
///
/// A clip whose kind only a later version knows makes the methods that read clips of its tape throw `.corrupt`; it can be
/// neither shown nor exported, but nothing removes it. Other values are read as those of tapes are; an unknown state is
/// failed, `.internalError`: not tried again by this version.
extension LibraryStore {
    /// The clips of a tape in their order.
    ///
    /// - Throws: `StoreError`.
    public func clips(of tapeID: String) throws(StoreError) -> [ClipRecord] {
        try connection.readBeside { db in try ClipRow.fetch(db, where: "tape_id = ?", [tapeID]) }
    }

    /// Commits new clips with the state `pending`: the tape has received content, and is `pendingAssociation` unless
    /// associated already (rule R2.2).
    ///
    /// - Parameters:
    ///   - clips: Their `tapeID`, `position` and state are set here. None changes nothing.
    ///   - tapeID: The tape.
    ///   - position: Clamped to 0…count; nil is the end.
    ///   - now: Becomes `updatedAt`.
    /// - Returns: The clips as kept; nil when the tape is gone.
    /// - Throws: `StoreError`; `.other` for an id that is no UUID in lower case, or that there is already.
    public func addClips(
        _ clips: [ClipRecord],
        to tapeID: String,
        at position: Int?,
        now: Date
    ) throws(StoreError) -> [ClipRecord]? {
        for clip in clips { try checkID(clip.id, of: "clip") }
        return try connection.write { db in
            guard try TapeRow.exists(db, id: tapeID) else { return nil }
            guard !clips.isEmpty else { return [] }
            let count = try ClipRow.count(db, of: tapeID)
            let start = min(max(position ?? count, 0), count)
            if start < count { try ClipRow.open(db, clips.count, at: start, of: tapeID) }
            var kept: [ClipRecord] = []
            for (place, clip) in clips.enumerated() {
                var new = clip
                new.tapeID = tapeID
                new.position = start + place
                new.association = .pending
                new.reason = nil
                new.attempts = 0
                new.nextAttemptAt = nil
                try ClipRow.stored(new).insert(into: "clips", db)
                kept.append(new)
            }
            try db.execute(
                sql: """
                    UPDATE tapes SET updated_at = ?, received_first_content = 1,
                        association_reason = iif(association = 'none', 'never_tried', association_reason),
                        association = iif(association = 'none', 'pending_association', association)
                    WHERE id = ?
                    """,
                arguments: [now.milliseconds, tapeID]
            )
            return kept
        }
    }

    /// Removes clips of a tape and closes the gaps.
    ///
    /// - Parameters:
    ///   - ids: The clips.
    ///   - tapeID: Their tape; clips of others stay.
    ///   - now: Becomes `updatedAt` if there was any.
    /// - Returns: The clips that were removed, in their order; an id that is not there is left out.
    /// - Throws: `StoreError`.
    public func removeClips(_ ids: [String], of tapeID: String, now: Date) throws(StoreError) -> [ClipRecord] {
        try connection.write { db in
            var removed: [ClipRecord] = []
            for id in Set(ids) {
                removed += try ClipRow.fetch(db, where: "id = ? AND tape_id = ?", [id, tapeID])
                try db.cachedStatement(sql: "DELETE FROM clips WHERE id = ? AND tape_id = ?")
                    .execute(arguments: [id, tapeID])
            }
            guard !removed.isEmpty else { return [] }
            try ClipRow.close(db, of: tapeID)
            try TapeRow.touch(db, id: tapeID, now)
            return removed.sorted { $0.position < $1.position }
        }
    }

    /// Moves a clip; the position is clamped.
    ///
    /// - Parameters:
    ///   - id: The clip.
    ///   - tapeID: Its tape.
    ///   - position: Where it is to be afterwards, from 0.
    ///   - now: Becomes `updatedAt` if it was elsewhere.
    /// - Returns: Its position; nil when it is gone.
    /// - Throws: `StoreError`.
    public func moveClip(_ id: String, of tapeID: String, to position: Int, now: Date) throws(StoreError) -> Int? {
        try connection.write { db in
            guard let clip = try ClipRow.fetch(db, where: "id = ? AND tape_id = ?", [id, tapeID]).first else {
                return nil
            }
            let place = min(max(position, 0), try ClipRow.count(db, of: tapeID) - 1)
            guard place != clip.position else { return place }
            try ClipRow.move(db, clip, to: place)
            try TapeRow.touch(db, id: tapeID, now)
            return place
        }
    }

    /// Changes clips as they are by now, all in one transaction: everything but id, tape, position and association.
    /// `updatedAt` of the tapes of those that differ afterwards moves.
    ///
    /// A clip that is given another source is pending again and its assets are forgotten: libraries name originals by their
    /// path, too.
    ///
    /// - Parameters:
    ///   - ids: The clips.
    ///   - now: Becomes `updatedAt`.
    ///   - change: Called with each clip that is there.
    /// - Returns: The clips as they are now; one that is gone is left out.
    /// - Throws: `StoreError`.
    @discardableResult
    public func changeClips(
        _ ids: [String],
        at now: Date,
        _ change: (inout ClipRecord) -> Void
    ) throws(StoreError) -> [ClipRecord] {
        try connection.write { db in
            var clips: [ClipRecord] = []
            var changed: Set<String> = []
            for id in ids {
                guard let old = try ClipRow.fetch(db, id: id) else { continue }
                var new = old
                change(&new)
                try Self.complete(&new, from: old, db)
                if try ClipRow.stored(new).update("clips", id: id, from: ClipRow.stored(old), db) {
                    changed.insert(old.tapeID)
                }
                clips.append(new)
            }
            for tapeID in changed { try TapeRow.touch(db, id: tapeID, now) }
            return clips
        }
    }

    private static func complete(_ new: inout ClipRecord, from old: ClipRecord, _ db: Database) throws {
        new.id = old.id
        new.tapeID = old.tapeID
        new.position = old.position
        let isMoved = new.source != old.source || new.pairedSource != old.pairedSource
        if isMoved {
            try db.execute(sql: "DELETE FROM clip_assets WHERE clip_id = ?", arguments: [old.id])
        }
        new.association = isMoved ? .pending : old.association
        new.reason = isMoved ? nil : old.reason
        new.attempts = isMoved ? 0 : old.attempts
        new.nextAttemptAt = isMoved ? nil : old.nextAttemptAt
    }

    /// Keeps checksums, size and time that were found out; nothing else changes, `updatedAt` neither. A clip that is gone, or
    /// has another source by now, is left out.
    ///
    /// - Throws: `StoreError`.
    public func keepChecksums(of clips: [ClipRecord]) throws(StoreError) {
        guard !clips.isEmpty else { return }
        try connection.write { db in
            for clip in clips {
                try db.cachedStatement(
                    sql: "UPDATE clips SET size = ?, mtime_ns = ?, sha1 = ?, sha256 = ? WHERE id = ? AND source IS ?"
                ).execute(arguments: [
                    clip.size, clip.modifiedNanoseconds, clip.sha1, clip.sha256, clip.id, clip.source.map { Data($0) },
                ])
            }
        }
    }

    /// All clips of all tapes that have a source, for relinking; those of an unknown kind are left out.
    ///
    /// - Throws: `StoreError`.
    public func clipsWithSources() throws(StoreError) -> [ClipRecord] {
        let kinds = ClipRecord.Kind.allCases.map { "'\($0.rawValue)'" }.joined(separator: ", ")
        return try connection.readBeside { db in
            try ClipRow.fetch(db, where: "source IS NOT NULL AND kind IN (\(kinds))", [])
        }
    }
    /// Paths of all originals of all tapes, the videos of live pictures too, whatever the kind of their clips.
    ///
    /// - Throws: `StoreError`.
    public func originalPaths() throws(StoreError) -> [[UInt8]] {
        try connection.readBeside { db in
            try Data.fetchAll(
                db,
                sql: """
                    SELECT source FROM clips WHERE source IS NOT NULL
                    UNION SELECT paired_source FROM clips WHERE paired_source IS NOT NULL
                    """
            ).map { Array($0) }
        }
    }
}
