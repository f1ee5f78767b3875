import Foundation
import GRDB
import Synchronization

/// Entries that one command removes: each from the store immediately, and all of them from the backups at the end.
struct RemovalGroup: Sendable {
    /// Exists as long as the backups may contain a removed token. The next command finds it if this process is killed.
    var mark: LockedFile?
    var tombstones: [Tombstone] = []
}

extension TokenStore {
    private static let markPrefix = "removals-"

    /// Removes an entry and its superseded rows (same host, ID and checksum), leaving a tombstone without the token. A
    /// row that is newer than the entry, stored by another process in the meantime, is kept. The tokens are also
    /// removed from the damaged stores that a repair has set aside and from the backups in the data directory; between
    /// `beginRemovals` and `finishRemovals`, the backups are changed only at the end.
    ///
    /// - Throws: `StoreError`; the entry still exists if a store or backup could not be changed.
    public func remove(_ entry: TokenEntry) throws(StoreError) {
        let secrets = try tokens(host: entry.host, fileID: entry.fileID)
            .filter { $0.checksumSHA256 == entry.checksumSHA256 && $0.createdAt <= entry.createdAt }
            .map(\.token.secret)
        let stone = Tombstone(entry)
        let isGrouped = removals.withLock { $0 != nil }
        guard isGrouped else {
            let backups = StoreBackups(in: directory)
            let lock = try backups.lock()
            defer { lock.remove() }
            try backups.change { try TokenRow.bury(stone, $0) }
            try DamagedCopies(directory: directory).erase(secrets)
            try connection.write { try TokenRow.bury(stone, $0) }
            return
        }
        try markRemovals()
        // Damaged stores have no rows by which the tokens could be found later.
        try DamagedCopies(directory: directory).erase(secrets)
        try connection.write { try TokenRow.bury(stone, $0) }
        removals.withLock { $0?.tombstones.append(stone) }
    }

    /// Records that this machine has deleted a file on its server for which the store has no entry.
    package func noteDeletion(host: String, fileID: Int64, checksumSHA256: String) throws(StoreError) {
        let stone = Tombstone(host: host, fileID: fileID, checksumSHA256: checksumSHA256, createdAt: now().milliseconds)
        try connection.write { try TokenRow.bury(stone, $0) }
    }

    /// Begins removals that share one change to the backups, which is the slow step.
    package func beginRemovals() {
        removals.withLock { $0 = $0 ?? RemovalGroup() }
    }

    /// Removes the tokens that were removed since `beginRemovals` from the backups, and from the write-ahead log.
    ///
    /// - Throws: `StoreError`; the next command that changes the store retries.
    package func finishRemovals() throws(StoreError) {
        let group = removals.withLock { exchange(&$0, with: nil) }
        guard let group, let mark = group.mark else { return }
        try removeFromBackups(group.tombstones)
        try emptyLog([mark])
    }

    /// Empties the log and removes the marks. If another process does not stop using the log, the next command does
    /// both.
    private func emptyLog(_ marks: [LockedFile]) throws(StoreError) {
        do {
            try connection.truncateLog(limit: .seconds(2))
        } catch {
            guard error.kind == .busy else { throw error }
            return
        }
        for mark in marks { mark.remove() }
    }

    /// Finishes the removals of processes that exited before `finishRemovals`.
    package func finishInterruptedRemovals() throws(StoreError) {
        let names = try DataDirectory.entries(of: directory.lockFolder).filter { $0.hasPrefix(Self.markPrefix) }
        var marks: [LockedFile] = []
        for name in names {
            // A locked mark belongs to a process that is still running.
            if let mark = try LockedFile.existing(directory.lockFolder + "/" + name) { marks.append(mark) }
        }
        guard !marks.isEmpty else { return }
        try removeFromBackups(try connection.read { try Tombstone.fetchAll($0) })
        try emptyLog(marks)
    }

    /// Makes the mark of this group durable, before the first entry is removed.
    private func markRemovals() throws(StoreError) {
        guard removals.withLock({ $0?.mark == nil }) else { return }
        var mark: LockedFile?
        // Another process may take the lock after the file is created and before it is locked.
        while mark == nil {
            mark = try LockedFile.openOrCreate(directory.lockFile(Self.markPrefix + RandomName.make()))
        }
        try DataDirectory.synchronize(directory.lockFolder)
        removals.withLock { $0?.mark = mark }
    }

    private func removeFromBackups(_ tombstones: [Tombstone]) throws(StoreError) {
        let backups = StoreBackups(in: directory)
        let lock = try backups.lock()
        defer { lock.remove() }
        try backups.change { db in
            for stone in tombstones { try TokenRow.bury(stone, db) }
        }
    }
}

extension TokenStore {
    /// Purges all entries of a host, or of all hosts, tombstones and finished journal rows included, with the rows that
    /// depend on them (`secure_delete=ON`, and the write-ahead log is emptied).
    ///
    /// Backups in the data directory lose the same entries, and are removed if all hosts are purged; damaged stores
    /// that a repair has set aside are removed.
    ///
    /// Rows in flight are kept. So are failed and canceled uploads that still have unexpired bytes on a tus server:
    /// they can be resumed, and `discard` needs their row to remove those bytes. Receipts whose upload the journal has
    /// lost belong to no known host and are removed only with all hosts.
    ///
    /// - Returns: The number of token entries purged, superseded ones included.
    /// - Throws: `StoreError`; `.busy` even if the rows are removed but the log could not be emptied.
    public func clear(host: String?) throws(StoreError) -> Int {
        let now = now()
        let backups = StoreBackups(in: directory)
        let lock = try backups.lock()
        defer { lock.remove() }
        if host == nil {
            try backups.removeAll()
        } else {
            try backups.change { _ = try Self.clear($0, host: host, at: now) }
        }
        // It is unknown which host's tokens the damaged copies contain.
        try DamagedCopies(directory: directory).removeAll()
        let count = try connection.write { try Self.clear($0, host: host, at: now) }
        try connection.truncateLog()
        return count
    }

    /// Whether `clear` would remove anything that `tokenCount` does not count.
    package func hasRecords(host: String?) throws(StoreError) -> Bool {
        let now = now()
        return try connection.read { db in
            let sql = """
                SELECT EXISTS (SELECT 1 FROM tombstones WHERE ?1 IS NULL OR host = ?1)
                    OR EXISTS (SELECT 1 FROM stored_files WHERE ?1 IS NULL OR host = ?1)
                    OR EXISTS (SELECT 1 FROM uploads WHERE \(Self.isFinished))
                """
            return try Bool.fetchOne(db, sql: sql, arguments: [host, now.milliseconds]) ?? false
        }
    }

    private static func clear(_ db: Database, host: String?, at now: Date) throws -> Int {
        try db.execute(sql: "DELETE FROM tokens WHERE ?1 IS NULL OR host = ?1", arguments: [host])
        let count = db.changesCount
        try db.execute(sql: "DELETE FROM tombstones WHERE ?1 IS NULL OR host = ?1", arguments: [host])
        try db.execute(sql: "DELETE FROM stored_files WHERE ?1 IS NULL OR host = ?1", arguments: [host])
        try clearJournal(db, host: host, at: now)
        return count
    }

    /// Parameters: host (or null) and the current time in milliseconds.
    private static let isFinished = """
        \(UploadRow.isIn(Set(UploadState.allCases.filter(\.isFinal)))) AND NOT (\(TusRow.isResumable))
        """

    private static func clearJournal(_ db: Database, host: String?, at now: Date) throws {
        let arguments: StatementArguments = [host, now.milliseconds]
        try db.execute(
            sql: "DELETE FROM guest_receipts WHERE upload_id IN (SELECT upload_id FROM uploads WHERE \(isFinished))",
            arguments: arguments
        )
        // The uploads' rows in `tus_uploads` are removed with them.
        try db.execute(sql: "DELETE FROM uploads WHERE \(isFinished)", arguments: arguments)
        if host == nil {
            try db.execute(sql: "DELETE FROM guest_receipts WHERE upload_id NOT IN (SELECT upload_id FROM uploads)")
        }
    }
}
