package import Foundation
import GRDB
import Glibc

/// Salvages the rows of a damaged token store into a new one.
package struct StoreRepair {
    /// The result of a repair, or of a dry run.
    package struct Report: Sendable {
        package var damage: String
        /// Tokens in the new store.
        package var tokens = 0
        /// Uploads in the journal of the new store.
        package var uploads = 0
        /// Tokens listed by an index that could not be salvaged, in the order in which they were found; at most 100.
        package var lost: [LostToken] = []
        package var lostCount = 0
        /// Whether no row of a token store was found, not even a row of a deleted token.
        package var isEmpty = false
        /// Entries in place of the database or its log that were not read.
        package var unread: [Unread] = []
        /// The current paths of the damaged files; empty in a dry run.
        package var kept: [String] = []

        /// Whether tokens are missing, or may be.
        package var isIncomplete: Bool { lostCount > 0 || isEmpty || !unread.isEmpty }
    }

    /// An entry that is in place of one of the store's files, and is not a regular file.
    package struct Unread: Sendable, Equatable {
        package enum Kind: Sendable, Equatable {
            /// A symbolic link, and the file it points to; nil if the target does not exist.
            case symbolicLink(target: String?)
            case directory
            /// A device, a socket or a pipe.
            case special
        }

        /// The original path of the entry.
        package var path: String
        package var kind: Kind
        /// The current path of the entry; nil in a dry run.
        package var keptPath: String?
    }

    /// A token whose row is destroyed, with the data that an index still has.
    package struct LostToken: Sendable, Hashable {
        package var host: String
        package var fileID: Int64
        /// Empty if unknown.
        package var checksumSHA256: String
    }

    private static let busyLimit = Duration.seconds(30)

    private let directory: DataDirectory
    private let schema = StoreSchema.tokens
    private var path: String { directory.file(schema.fileName) }

    package init(in directory: DataDirectory) {
        self.directory = directory
    }

    /// Repairs the store; nil for a store that is not damaged. Throws `.busy` while another process uses it,
    /// `.newerVersion` for a store that only a newer version can read. In these cases the damaged files are not
    /// changed.
    package func run(isDryRun: Bool, now: Date = Date()) throws(StoreError) -> Report? {
        let lock = try StoreConnection.lock(schema, in: directory, limit: Self.busyLimit)
        defer { lock.remove() }
        let companions = try companions()
        guard let damage = try damage() else { return nil }
        let use = try exclusiveUse()
        defer { use?.release() }
        let draft = path + ".new"
        let remove = { for suffix in [""] + StoreConnection.companions { unlink(draft + suffix) } }
        do throws(StoreError) {
            var report = try salvage(to: draft)
            report.damage = damage
            report.unread = try unread()
            if isDryRun {
                remove()
                // Opening has created these files; they cannot contain anything.
                for suffix in try self.companions() where !companions.contains(suffix) { unlink(path + suffix) }
            } else {
                try replace(by: draft, now: now, &report)
            }
            return report
        } catch {
            remove()
            throw error
        }
    }

    /// The suffixes of the files next to the database.
    private func companions() throws(StoreError) -> [String] {
        var found: [String] = []
        for suffix in StoreConnection.companions where try FileStatus(at: path + suffix) != nil { found.append(suffix) }
        return found
    }

    // MARK: Damage

    /// A description of the damage; nil if there is no damage or no store.
    private func damage() throws(StoreError) -> String? {
        do throws(StoreError) {
            guard try StoreConnection.exists(path) else { return nil }
            let findings = try StoreCheck(reading: directory).findings
            return findings.isEmpty ? nil : findings.joined(separator: "; ")
        } catch {
            switch error.kind {
            case .corrupt: return error.detail
            case .unsafe:
                // Anything owned by this user can be set aside. A link is not followed: its target is not part of the
                // store.
                guard let status = try FileStatus(at: error.path), status.isOwnedByUser, !status.isRegularFile else {
                    throw error
                }
                if status.isSymbolicLink { return "a symbolic link in place of \(error.path)" }
                return status.isDirectory ? "a directory in place of \(error.path)" : error.detail
            case .newerVersion where try isNumberDamaged(): return error.detail
            default: throw error
            }
        }
    }

    /// Whether a store that claims a newer version has exactly the tables of this one, which means that the number is
    /// wrong.
    private func isNumberDamaged() throws(StoreError) -> Bool {
        let expected = try StoreConnection(temporary: schema).read(Self.tables)
        let queue = try StoreConnection.open(path, schema, busyLimit: .seconds(1), keepsLog: true)
        defer { try? queue.close() }
        return (try? queue.unsafeRead(Self.tables)) == expected
    }

    private static func tables(_ db: Database) throws -> [String] {
        try String.fetchAll(db, sql: "SELECT sql FROM sqlite_master WHERE type = 'table' ORDER BY name")
    }

    /// Every process that has the store open in WAL mode holds a shared lock on its file; a new one waits for this
    /// lock. nil for anything but a regular file.
    private func exclusiveUse() throws(StoreError) -> LockedByte? {
        guard let status = try FileStatus(at: path), status.isRegularFile else { return nil }
        // The first shared byte of SQLite (os.h: SHARED_FIRST).
        let lock = try LockedByte(at: 0x4000_0002, of: path)
        guard try lock.tryLock() else {
            throw StoreError(.busy, path: path, detail: "another process is using it")
        }
        return lock
    }

    /// Entries that are not read although they may lead to tokens.
    private func unread() throws(StoreError) -> [Unread] {
        var unread: [Unread] = []
        for path in [path, path + "-wal"] {
            guard let status = try FileStatus(at: path), !status.isRegularFile else { continue }
            let kind: Unread.Kind =
                if status.isSymbolicLink {
                    .symbolicLink(target: DataDirectory.resolved(path))
                } else if status.isDirectory { .directory } else { .special }
            unread.append(Unread(path: path, kind: kind))
        }
        return unread
    }

    // MARK: Salvage

    private func salvage(to draft: String) throws(StoreError) -> Report {
        let source = try DatabaseBytes(path)
        let journal = try JournalMode(on: FileSystemKind.detect(directory), directory: directory)
        let queue = try StoreConnection.createDraft(draft, schema, journal: journal, busyLimit: .zero)
        var report = Report(damage: "")
        try StoreError.of(path) {
            try queue.write { db in
                var sink = SalvageSink(isFresh: true)
                report.isEmpty = try sink.store(all: source, db).rows == 0
                try sink.finish(db)
                report.tokens = try Int.fetchOne(db, sql: "SELECT count(*) FROM tokens") ?? 0
                report.uploads = sink.uploads
                // Freed pages and the log have earlier versions of the same entries.
                var lost: Set<LostToken> = []
                try source.forEachRow { row in
                    guard let token = try Self.lostToken(row, db), lost.insert(token).inserted else { return }
                    if report.lost.count < 100 { report.lost.append(token) }
                }
                report.lostCount = lost.count
            }
            try queue.writeWithoutTransaction { db in
                for index in schema.indexes { try db.execute(sql: index) }
                try db.execute(sql: "PRAGMA wal_checkpoint(TRUNCATE)")
            }
            try queue.close()
        }
        return report
    }

    /// A token that is listed by an index but was not found; nil for any other row.
    private static func lostToken(_ row: StoredRow, _ db: Database) throws -> LostToken? {
        guard row.rowID == nil, let key = TokenKey(row.values), key.last < TokenKey.largestRowID else { return nil }
        let condition = "host = ?1 AND file_id = ?2 AND checksum_sha256 = ?3"
        let isKnown = try Bool.fetchOne(
            db.cachedStatement(
                sql: """
                    SELECT EXISTS (SELECT 1 FROM tokens WHERE \(condition))
                        OR EXISTS (SELECT 1 FROM tombstones WHERE \(condition))
                    """
            ),
            arguments: [key.host, key.fileID, key.checksumSHA256]
        )
        guard isKnown == false else { return nil }
        return LostToken(host: key.host, fileID: key.fileID, checksumSHA256: key.checksumSHA256)
    }

    // MARK: Replacing

    /// Replaces the damaged store with the new one. The damaged files are kept under other names, which are
    /// added to the report.
    private func replace(by draft: String, now: Date, _ report: inout Report) throws(StoreError) {
        // The lock is held, so no other repair takes this name.
        let name = try DamagedCopies(directory: directory).freeName(of: schema, now)
        // The old log must not stay next to the new database: it would be replayed over it.
        for suffix in StoreConnection.companions + [""] {
            guard let status = try FileStatus(at: path + suffix) else { continue }
            // The index of the log is rebuilt from it.
            if suffix == "-shm", status.isRegularFile { continue }
            // Opening creates an empty log; there is nothing in it to keep.
            if suffix == "-wal", status.isRegularFile, status.size == 0, unlink(path + suffix) == 0 { continue }
            let target = directory.file(name + suffix)
            try StoreError.check(path + suffix, "cannot move aside", rename(path + suffix, target))
            report.kept.insert(target, at: 0)
            if let index = report.unread.firstIndex(where: { $0.path == path + suffix }) {
                report.unread[index].keptPath = target
            }
        }
        for suffix in ["-shm", ".checked"] { unlink(path + suffix) }
        try StoreError.check(path, "cannot create", rename(draft, path))
        try directory.synchronize()
    }
}
