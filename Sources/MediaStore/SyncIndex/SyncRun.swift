public import Foundation
import GRDB
import Glibc
internal import MediaCore

/// One run through a server's listing, as stored in the index.
public struct SyncRun: Sendable, Equatable {
    /// The scope of a run.
    public enum Kind: Sendable, Equatable {
        /// Everything. Finds deletions and changed origins.
        case full
        /// Photos uploaded at or after a time, inclusive (photosync contract section 5: `sinceTimestamp`).
        case since(PhotoTime)
    }

    /// Number of the run; later runs have larger numbers.
    public var number: Int64
    /// Address of the server.
    public var server: String
    public var kind: Kind
    /// When the run began, by this machine's clock.
    public var beganAt: Date
    /// The cursor of the next page; nil at the start, and if `isAtEnd`.
    public var cursor: String?
    /// Whether the last page has been stored.
    public var isAtEnd = false
    /// Whether an earlier process has stored pages of the run.
    public var isResumed = false
    /// Number of distinct photos that the run has stored.
    public var photosSeen: Int64 = 0
    /// Number of pages that the run has stored.
    public var pagesSeen: Int64 = 0
    /// The server's last `totalCount`.
    public var totalCount: Int64 = 0
}

/// The changes that a run made to the index.
public struct SyncChanges: Sendable, Equatable {
    /// Photos that were not known before.
    public var added: Int64 = 0
    /// Photos that were known and have changed.
    public var changed: Int64 = 0
    /// Photos that a full run did not find.
    public var gone: Int64 = 0

    public init() {}
}

/// A row of the table `runs`.
struct RunRow: Codable, FetchableRecord, MutablePersistableRecord {
    static let databaseTableName = "runs"

    private enum CodingKeys: String, CodingKey {
        case number, server, cursor, added, changed
        case begunAt = "begun_at"
        case sinceMicroseconds = "since_us"
        case sinceText = "since_text"
        case isAtEnd = "is_at_end"
        case photosSeen = "photos_seen"
        case pagesSeen = "pages_seen"
        case totalCount = "total_count"
        case latestMicroseconds = "latest_us"
        case latestText = "latest_text"
    }

    /// The run's number; nil until the row is inserted.
    private var number: Int64?
    let server: Int64
    /// Milliseconds since 1970, by this machine's clock.
    let begunAt: Int64
    private let sinceMicroseconds: Int64?
    private let sinceText: String?
    var cursor: String?
    var isAtEnd = false
    private(set) var photosSeen: Int64 = 0
    private(set) var pagesSeen: Int64 = 0
    var totalCount: Int64 = 0
    private(set) var added: Int64 = 0
    private(set) var changed: Int64 = 0
    private var latestMicroseconds: Int64?
    private var latestText: String?

    /// nil for a full run.
    var since: PhotoTime? { PhotoTime(sinceMicroseconds, sinceText) }
    /// The latest `uploadedAt` of its photos that is not past the horizon.
    var latest: PhotoTime? { PhotoTime(latestMicroseconds, latestText) }

    mutating func didInsert(_ inserted: InsertionSuccess) { number = inserted.rowID }

    // MARK: Rows

    /// The row of a run that is still the server's latest; `.busy` if it is not.
    static func current(_ run: SyncRun, _ db: Database) throws -> RunRow {
        let condition = "number = ? AND server = (SELECT number FROM servers WHERE address = ?)"
        let request = filter(sql: condition, arguments: [run.number, run.server])
        guard let row = try request.fetchOne(db) else {
            throw StoreError(
                .busy,
                path: StoreSchema.index.fileName,
                detail: "another process has started to index this server"
            )
        }
        return row
    }

    static func fetch(ofServer server: Int64, _ db: Database) throws -> RunRow? {
        try filter(Column("server") == server).fetchOne(db)
    }

    /// A new run. Changes made by an earlier, unfinished run are in the index, and count as changes of this one.
    static func insert(
        _ kind: SyncRun.Kind,
        server: Int64,
        now: Date,
        after unfinished: RunRow?,
        _ db: Database
    ) throws -> RunRow {
        var row = RunRow(kind, server: server, begunAt: now.milliseconds)
        row.added = unfinished?.added ?? 0
        row.changed = unfinished?.changed ?? 0
        try row.insert(db)
        return row
    }

    /// Removes a server's run and its record of seen photos.
    static func remove(ofServer server: Int64, _ db: Database) throws {
        try db.execute(sql: "DELETE FROM runs WHERE server = ?", arguments: [server])
        try db.execute(sql: "DELETE FROM seen WHERE server = ?", arguments: [server])
    }

    func renumber(_ db: Database) throws -> RunRow {
        try delete(db)
        var copy = self
        copy.number = nil
        try copy.insert(db)
        return copy
    }

    func writePage(after before: RunRow, _ db: Database) throws {
        // Only changed columns are written: the server is in an index, which would be written as well.
        try updateChanges(db, from: before)
        try db.cachedStatement(sql: "UPDATE servers SET total_count = ?1 WHERE number = ?2 AND total_count <> ?1")
            .execute(arguments: [totalCount, server])
    }

    private init(_ kind: SyncRun.Kind, server: Int64, begunAt: Int64) {
        self.server = server
        self.begunAt = begunAt
        if case .since(let time) = kind {
            (sinceMicroseconds, sinceText) = (time.microseconds, time.text)
        } else {
            (sinceMicroseconds, sinceText) = (nil, nil)
        }
    }

    // MARK: Values

    /// Whether this unfinished run can be resumed as a run of a kind. After a day, too many of the photos that it saw
    /// first may have been deleted for its result to be of use.
    func canResume(as kind: SyncRun.Kind, now: Date) -> Bool {
        (cursor != nil || isAtEnd) && self.kind == kind
            && abs(now.timeIntervalSince(Date(milliseconds: begunAt))) <= Self.day
    }

    private static let day: TimeInterval = 86_400

    /// The latest `uploadedAt` from which the next run may continue, in microseconds. A photo with a later time was
    /// stored while the server's clock was wrong; a run that continued from it would miss all uploads until then.
    var horizon: Int64 { (begunAt + Int64(Self.day) * 1000) * 1000 }

    private var kind: SyncRun.Kind { since.map(SyncRun.Kind.since) ?? .full }

    mutating func add(_ page: PhotoWriter.Outcome) {
        pagesSeen += 1
        photosSeen += page.seen
        added += page.added
        changed += page.changed
        let latest = [latest, page.latest].compactMap(\.self).max()
        (latestMicroseconds, latestText) = (latest?.microseconds, latest?.text)
    }

    func run(server address: String, isResumed: Bool) -> SyncRun {
        SyncRun(
            number: number ?? 0,
            server: address,
            kind: kind,
            beganAt: Date(milliseconds: begunAt),
            cursor: cursor,
            isAtEnd: isAtEnd,
            isResumed: isResumed,
            photosSeen: photosSeen,
            pagesSeen: pagesSeen,
            totalCount: totalCount
        )
    }
}

extension PhotoTime {
    /// From two columns; nil if there is no time.
    init?(_ microseconds: Int64?, _ text: String?) {
        guard let microseconds, let text else { return nil }
        self.init(text: text, microseconds: microseconds)
    }
}

extension SyncIndex {
    /// Starts a run, or resumes the unfinished one if it is of the same kind and account, has stored a page, and was
    /// started at most a day ago; never resumes if `restarts` is true. Either way, the run gets a new number, and a
    /// process that still appends under the old one is refused. The account distinguishes users of the server (the
    /// device ID): rows of a different account are removed.
    public func begin(
        _ server: String,
        account: String,
        kind: SyncRun.Kind,
        restarts: Bool,
        now: Date
    ) throws(StoreError) -> SyncRun {
        try connection.write { db in
            let number = try ServerRow.prepare(server, account: account, db)
            let unfinished = try RunRow.fetch(ofServer: number, db)
            if !restarts, let unfinished, unfinished.canResume(as: kind, now: now) {
                return try unfinished.renumber(db).run(server: server, isResumed: true)
            }
            try RunRow.remove(ofServer: number, db)
            return try RunRow.insert(kind, server: number, now: now, after: unfinished, db)
                .run(server: server, isResumed: false)
        }
    }

    /// Stores a page and the cursor after it (nil after the last page), in one transaction, and returns the updated
    /// run. A photo that the run has already stored is updated and counts once. `.busy` if another process has since
    /// begun a run for this server (that run continues).
    package func append(
        _ photos: [PhotoRecord],
        cursor: String?,
        totalCount: Int64,
        to run: SyncRun
    ) throws(StoreError) -> SyncRun {
        try connection.write { db in
            let before = try RunRow.current(run, db)
            var row = before
            row.totalCount = totalCount
            let indexes = PhotoIndexes(db)
            let hasIDs = try indexes.prepareIDs(for: row)
            let writer = try PhotoWriter(db, server: row.server, horizon: row.horizon, hasIDs: hasIDs)
            try writer.store(photos)
            row.add(writer.outcome)
            row.cursor = cursor
            row.isAtEnd = cursor == nil
            try row.writePage(after: before, db)
            if row.isAtEnd, try indexes.finishIDs() { row = try RunRow.current(run, db) }
            return row.run(server: run.server, isResumed: run.isResumed)
        }
    }

    /// Records that a run is complete. `now` is nil if the last page may have arrived at any time since the run began.
    /// A full run marks the rows that it did not see as gone. `.busy` as for `append`; `.other` if the last page has
    /// not been stored.
    public func finish(_ run: SyncRun, now: Date?) throws(StoreError) -> SyncChanges {
        try connection.write { db in
            let row = try RunRow.current(run, db)
            guard row.isAtEnd else {
                throw StoreError(.other, path: StoreSchema.index.fileName, detail: "the run has not seen its last page")
            }
            var changes = SyncChanges()
            changes.added = row.added
            changes.changed = row.changed
            if row.since == nil {
                var seen = try SeenPhotos(db, server: row.server)
                changes.gone = try seen.markOthersGone(seen: row.photosSeen)
            }
            try ServerRow.finish(row, now: now, db)
            try RunRow.remove(ofServer: row.server, db)
            return changes
        }
    }
}

/// Held by the one process that does a kind of work for a server. The lock is always released when the process exits.
public final class SyncLock: Sendable {
    /// The kinds of work, by the names of their files.
    public enum Work: String, Sendable {
        /// Reading the server's listing into the index: a second process would take over the run, and the first one
        /// would fail.
        case listing = "sync"
        /// Uploading photos: a second push would upload the same photos.
        case push
    }

    private let file: LockedFile?

    fileprivate init(_ file: LockedFile?) {
        self.file = file
    }

    /// Releases the lock. It is also released with the last reference; a caller that must not lose it earlier keeps the
    /// object alive by calling this at the end.
    public func release() { file?.unlock() }
}

extension SyncIndex {
    /// Tries to lock the work for a server; nil if another process has locked it.
    public func lock(_ work: SyncLock.Work, of server: String) throws(StoreError) -> SyncLock? {
        guard let path = lockPath(of: work, server) else { return SyncLock(nil) }
        guard let file = try LockedFile.openOrCreate(path) else { return nil }
        // Used only in other processes' messages.
        let text = Array("\(getpid())\n".utf8)
        _ = ftruncate(file.descriptor, 0)
        try? file.write(text, at: 0)
        return SyncLock(file)
    }

    /// The ID of the process that does the work for a server, or last did it; nil if unknown.
    public func owner(of work: SyncLock.Work, for server: String) -> Int32? {
        lockPath(of: work, server).flatMap { FileManager.default.contents(atPath: $0) }
            .flatMap { Int32(String(decoding: $0, as: UTF8.self).prefix { $0 != "\n" }) }
    }

    private func lockPath(of work: SyncLock.Work, _ server: String) -> String? {
        directory?.lockFile("\(work.rawValue)-" + String(server.utf8.fnv1a, radix: 16))
    }
}
