public import Foundation
import GRDB

extension SyncIndex {
    /// Begins a run, or goes on with the one that did not end when it is of the same kind and account, has stored a page and
    /// was begun not more than a day ago. Either way it gets a new number, and a process that still appends under the old one is refused.
    ///
    /// - Parameters:
    ///   - server: Address of the server, the key of everything here.
    ///   - account: What tells one user of the server from another (the device id); rows of another account are removed.
    ///   - kind: What the run asks for.
    ///   - restarts: Whether an unfinished run is thrown away.
    ///   - now: The time of this machine.
    /// - Returns: The run, with the cursor to go on from.
    /// - Throws: `StoreError`.
    public func begin(
        _ server: String,
        account: String,
        kind: SyncRun.Kind,
        restarts: Bool,
        now: Date
    ) throws(StoreError) -> SyncRun {
        try write { db in
            let number = try ServerRow.prepare(server, account: account, db)
            let unfinished = try RunRow.fetch(ofServer: number, db)
            if !restarts, let unfinished, unfinished.goesOn(as: kind, now: now) {
                return try unfinished.renumber(db).run(server: server, isResumed: true)
            }
            try RunRow.remove(ofServer: number, db)
            return try RunRow.insert(kind, server: number, now: now, after: unfinished, db)
                .run(server: server, isResumed: false)
        }
    }

    /// Stores a page and the cursor behind it, in one transaction.
    ///
    /// - Parameters:
    ///   - photos: The page. A photo that the run has stored already is updated and counts once.
    ///   - cursor: Where the next page begins; nil after the last one.
    ///   - totalCount: What the server says it has in all.
    ///   - run: The run, as `begin` or the page before has returned it.
    /// - Returns: The run as it stands then.
    /// - Throws: `StoreError`: `.busy` when another process has begun a run for this server since (its run goes on).
    package func append(
        _ photos: EncodedPhotos,
        cursor: String?,
        totalCount: Int64,
        to run: SyncRun
    ) throws(StoreError) -> SyncRun {
        try write { db in
            var row = try RunRow.current(run, db)
            row.totalCount = totalCount
            let indexes = PhotoIndexes(db)
            let hasIDs = try indexes.prepareIDs(for: row)
            let writer = try PhotoWriter(db, server: row.server, horizon: row.horizon, hasIDs: hasIDs)
            try writer.store(photos)
            row.add(writer.outcome)
            row.cursor = cursor
            row.isAtEnd = cursor == nil
            try row.update(db)
            if row.isAtEnd, try indexes.finishIDs() { row = try RunRow.current(run, db) }
            return row.run(server: run.server, isResumed: run.isResumed)
        }
    }

    /// The same for photos that are not encoded yet.
    package func append(
        _ photos: [PhotoRecord],
        cursor: String?,
        totalCount: Int64,
        to run: SyncRun
    ) throws(StoreError) -> SyncRun {
        try append(EncodedPhotos(photos), cursor: cursor, totalCount: totalCount, to: run)
    }

    /// Records that a run has seen everything. A full run marks the rows that it did not see as gone.
    ///
    /// - Parameters:
    ///   - run: The run. Its last page has been stored.
    ///   - now: The time of this machine; nil when the last page came at some time since the run began.
    /// - Returns: What changed.
    /// - Throws: `StoreError`: `.busy` as `append`; `.other` when the last page has not been stored.
    public func finish(_ run: SyncRun, now: Date?) throws(StoreError) -> SyncChanges {
        try write { db in
            let row = try RunRow.current(run, db)
            guard row.isAtEnd else {
                throw StoreError(.other, path: StoreSchema.index.fileName, detail: "the run has not seen its last page")
            }
            var changes = SyncChanges()
            changes.added = row.added
            changes.changed = row.changed
            if row.since == nil { changes.gone = try GonePhotos(db, server: row.server).mark(seen: row.photosSeen) }
            try ServerRow.finish(row, now: now, db)
            try RunRow.remove(ofServer: row.server, db)
            return changes
        }
    }
}
