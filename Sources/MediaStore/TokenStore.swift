public import Foundation
import GRDB
public import MediaSystem
import Synchronization

/// `tokens.sqlite`: delete tokens and the upload journal. Safe for concurrent use by many processes and tasks.
///
/// Every method that changes something returns only when the change has reached the disk (`synchronous=FULL`). Times
/// are stored with millisecond precision. The methods without `async` block their thread while another process has
/// locked the database, for at most 30 seconds.
public final class TokenStore: Sendable {
    /// Repairs made while opening.
    public let warnings: [String]
    /// Whether nothing can be stored: the data directory cannot be written, or has no space left.
    package let isReadOnly: Bool

    let directory: DataDirectory
    let connection: StoreConnection
    let commits: GroupCommit
    let now: @Sendable () -> Date
    /// The removals of this command; nil if each is complete by itself.
    let removals = Mutex<RemovalGroup?>(nil)

    /// Opens and migrates the store, and verifies that it is writable.
    ///
    /// - Throws: `StoreError`. A corrupt, empty or newer store is refused and not changed.
    public convenience init(
        in directory: DataDirectory,
        now: @escaping @Sendable () -> Date = { Date() }
    ) throws(StoreError) {
        try self.init(in: directory, fileSystem: FileSystemKind.detect(directory), busyLimit: .seconds(30), now: now)
    }

    init(
        in directory: DataDirectory,
        fileSystem: FileSystemKind,
        busyLimit: Duration,
        now: @escaping @Sendable () -> Date = { Date() },
        groupTimer: GroupCommit.Timer? = nil
    ) throws(StoreError) {
        self.now = now
        let salvage = try LogSalvage(in: directory)
        connection = try StoreConnection(.tokens, in: directory, fileSystem: fileSystem, busyLimit: busyLimit)
        commits = GroupCommit(connection, after: groupTimer)
        isReadOnly = false
        self.directory = directory
        warnings = try directory.warnings + (salvage?.restore(to: connection) ?? [])
    }

    /// Opens the store for commands that only read, even if the data directory cannot be written or has no space left.
    /// Includes uploads in the write-ahead log. Refuses the same damaged or newer stores as `init(in:)`. A missing store
    /// is created, or is empty if `creating` is false.
    package init(
        reading directory: DataDirectory,
        creating: Bool = true,
        now: @escaping @Sendable () -> Date = { Date() }
    ) throws(StoreError) {
        self.now = now
        var (connection, warnings): (StoreConnection?, [String]) = (nil, [])
        let exists = try Self.exists(in: directory)
        if creating || exists {
            (connection, warnings) = try Self.openForReading(directory)
        }
        self.directory = directory
        isReadOnly = connection == nil
        if let connection {
            self.connection = connection
        } else {
            self.connection = try StoreConnection.snapshot(.tokens, in: directory)
        }
        commits = GroupCommit(self.connection)
        self.warnings = directory.warnings + warnings
    }

    /// An empty store that is lost with this object: for a dry run in a data directory without a store.
    package init(temporaryFor directory: DataDirectory) throws(StoreError) {
        now = { Date() }
        connection = try StoreConnection(temporary: .tokens)
        commits = GroupCommit(connection)
        isReadOnly = true
        self.directory = directory
        warnings = directory.warnings
    }

    /// Whether a data directory has a store.
    package static func exists(in directory: DataDirectory) throws(StoreError) -> Bool {
        try StoreConnection.exists(directory.file(StoreSchema.tokens.fileName))
    }

    /// Whether the store has no tokens, uploads or tombstones; also true if it was recreated after a loss.
    package func isEmpty() throws(StoreError) -> Bool { try connection.read(Self.isEmpty) }

    /// A deleted token leaves a tombstone.
    static func isEmpty(_ db: Database) throws -> Bool {
        let tables = ["tokens", "uploads", "tombstones"].map { "EXISTS (SELECT 1 FROM \($0))" }
        return try Bool.fetchOne(db, sql: "SELECT NOT (\(tables.joined(separator: " OR ")))") ?? false
    }

    /// - Returns: No connection if nothing can be written.
    private static func openForReading(
        _ directory: DataDirectory
    ) throws(StoreError) -> (connection: StoreConnection?, warnings: [String]) {
        do throws(StoreError) {
            let salvage = try LogSalvage(in: directory)
            // If there is something to salvage, even a read-only command writes to the store.
            let connection = try StoreConnection(
                .tokens,
                in: directory,
                fileSystem: FileSystemKind.detect(directory),
                busyLimit: .seconds(30),
                access: salvage == nil ? .reading : .writing
            )
            return (connection, try salvage?.restore(to: connection) ?? [])
        } catch {
            guard error.kind == .notWritable || error.kind == .full else { throw error }
            return (nil, [])
        }
    }
}

extension TokenStore {
    /// A new ID: `u-` and 16 random characters.
    public static func newUploadID() -> String { "u-" + RandomName.make() }

    /// Writes the intent row of an upload.
    ///
    /// - Throws: `StoreError`; `.other` if the ID is taken.
    public func insert(_ record: UploadRecord) throws(StoreError) {
        try connection.write { try UploadRow.insert(record, $0) }
    }

    /// Changes a row. Fields that are nil in `change` do not change.
    ///
    /// - Throws: `StoreError`; `.other` if there is no such row.
    public func update(_ uploadID: String, _ change: UploadChange) throws(StoreError) {
        try connection.write { [path = connection.path] db in
            guard try UploadRow.update(uploadID, change, at: now(), db) else { throw UploadRow.missing(uploadID, path) }
        }
    }

    /// Waits until all readable data is on disk, including the data of a killed process.
    package func synchronize() throws(StoreError) { try connection.synchronizeLogs() }

    /// One row.
    public func upload(_ uploadID: String) throws(StoreError) -> UploadRecord? {
        try uploads(where: "upload_id = ?", [uploadID]).first
    }

    /// Rows in any of these states, newest first; all states if `states` is empty.
    public func uploads(states: Set<UploadState>, host: String?) throws(StoreError) -> [UploadRecord] {
        let wanted = states.isEmpty ? Set(UploadState.allCases) : states
        return try uploads(where: UploadRow.isIn(wanted), [host])
    }

    private func uploads(
        where condition: String,
        _ arguments: [(any DatabaseValueConvertible)?]
    ) throws(StoreError) -> [UploadRecord] {
        try connection.read { try UploadRow.fetch($0, where: condition, arguments) }
    }

    /// Rows with this ID on their server, newest first.
    package func uploads(fileID: Int64, host: String?) throws(StoreError) -> [UploadRecord] {
        try uploads(where: "file_id = ?2 AND (?1 IS NULL OR host = ?1)", [host, fileID])
    }

    /// Rows for exactly this file, unchanged in content and status, on a host; newest first. Shows what was sent, or is
    /// being sent, from this machine.
    public func uploads(identity: FileIdentity, host: String) throws(StoreError) -> [UploadRecord] {
        try connection.queryBeside { db in
            // Very few files have rows.
            let any = try RawStatement(db, UploadRow.anyOfFile).map([
                .integer(Int64(bitPattern: identity.inode)), .integer(Int64(bitPattern: identity.device)), .text(host),
                .integer(identity.size), .integer(identity.modificationNanoseconds),
                .integer(identity.changeNanoseconds),
            ]) { _ in true }
            guard !any.isEmpty else { return [] }
            return try UploadRow.fetch(
                db,
                where: UploadRow.isFile,
                [
                    Int64(bitPattern: identity.inode), Int64(bitPattern: identity.device), host, identity.size,
                    identity.modificationNanoseconds, identity.changeNanoseconds,
                ]
            )
        }
    }

    /// Writes the intent row of an upload. Calls from several tasks share one commit (group commit); a call that is not
    /// urgent waits for others, at most 2 ms.
    ///
    /// - Throws: `StoreError`; `.other` if the ID is taken.
    public func plan(_ record: UploadRecord, isUrgent: Bool = true) async throws(StoreError) {
        try await commits.commit(isUrgent: isUrgent) { try UploadRow.insert(record, $0) }
    }

    /// Removes the intent row of an upload that has sent nothing. Waits for other commits, at most 2 ms.
    package func withdraw(_ uploadID: String) async throws(StoreError) {
        try await commits.commit(isUrgent: false) { _ = try Stored<UploadRecord>.deleteOne($0, key: uploadID) }
    }

    /// Changes a row. Fields that are nil in `change` do not change. Calls from several tasks share one commit.
    ///
    /// - Throws: `StoreError`; `.other` if there is no such row.
    public func note(_ uploadID: String, _ change: UploadChange) async throws(StoreError) {
        let (path, now) = (connection.path, now())
        try await commits.commit { db in
            guard try UploadRow.update(uploadID, change, at: now, db) else { throw UploadRow.missing(uploadID, path) }
        }
    }

    /// Stores the tus state of an upload, replacing an earlier one; a record without a tus ID means that the server has
    /// no data from it. Calls from several tasks share one commit.
    ///
    /// - Throws: `StoreError`; `.other` if there is no such upload.
    public func save(_ tus: TusRecord) async throws(StoreError) {
        let path = connection.path
        try await commits.commit { db in
            guard try Stored<UploadRecord>.exists(db, key: tus.uploadID) else {
                throw UploadRow.missing(tus.uploadID, path)
            }
            try Stored(tus).upsert(db)
        }
    }

    /// The tus state of an upload; nil if it has none.
    public func tusRecord(_ uploadID: String) throws(StoreError) -> TusRecord? {
        try connection.read { try Stored<TusRecord>.fetchOne($0, key: uploadID)?.value }
    }

    /// Unfinished tus uploads to a host, from a path or a file (device and inode), with the same size but any times;
    /// newest first.
    package func unfinishedTusUploads(
        path: [UInt8],
        identity: FileIdentity,
        host: String
    ) throws(StoreError) -> [UploadRecord] {
        let forms = JournalPath.forms(path)
        return try uploads(
            where: UploadRow.isUnfinishedOverTus,
            [
                host, identity.size, Data(forms[0]), Int64(bitPattern: identity.inode),
                Int64(bitPattern: identity.device), Data(forms[1]),
            ]
        )
    }

    /// Records that a row's file was replaced by a different file with the same bytes.
    package func note(_ identity: FileIdentity, of uploadID: String) throws(StoreError) {
        try connection.write {
            try $0.execute(
                sql: """
                    UPDATE uploads SET device = ?, inode = ?, file_size = ?, modified_ns = ?, changed_ns = ?
                    WHERE upload_id = ?
                    """,
                arguments: [
                    Int64(bitPattern: identity.device), Int64(bitPattern: identity.inode), identity.size,
                    identity.modificationNanoseconds, identity.changeNanoseconds, uploadID,
                ]
            )
        }
    }

    /// The receipt that a server issued to a guest for an upload; nil if there is none.
    public func guestReceipt(_ uploadID: String) throws(StoreError) -> GuestReceipt? {
        try connection.read { try Stored<GuestReceipt>.fetchOne($0, key: uploadID)?.value }
    }

    /// Rows of uploads of these bytes to a host, newest first.
    public func uploads(checksumSHA256: String, host: String) throws(StoreError) -> [UploadRecord] {
        try uploads(where: UploadRow.hasChecksum, [host, checksumSHA256])
    }

    /// The newest row whose file is on its server, as far as is known, and was added to an event by that upload; nil if
    /// there is none. Such an upload need not have a token.
    package func newestUpload(host: String?) throws(StoreError) -> UploadRecord? {
        try connection.read { db in
            try Stored<UploadRecord>.values(db, where: UploadRow.newest(UploadRow.isKept) + " LIMIT 1", [host]).first
        }
    }

    /// Rows that were sent with an event link and are on the server, newest first; for all hosts if `host` is nil.
    public func guestUploads(host: String?) throws(StoreError) -> [UploadRecord] {
        try uploads(where: "is_guest = 1 AND file_id IS NOT NULL AND (?1 IS NULL OR host = ?1)", [host])
    }

    /// Rows that were sent with an event link and have this ID on their server, newest first.
    package func guestUploads(host: String?, fileID: Int64) throws(StoreError) -> [UploadRecord] {
        try uploads(where: "is_guest = 1 AND file_id = ?2 AND (?1 IS NULL OR host = ?1)", [host, fileID])
    }

    /// The last known states of guest uploads, by their IDs in the journal.
    public func guestStandings() throws(StoreError) -> [String: GuestStanding] {
        try connection.read { try GuestRow.standings($0) }
    }

    /// Records the state of a guest's upload. Does nothing for an upload without a receipt.
    public func note(_ standing: GuestStanding, of uploadID: String) throws(StoreError) {
        try connection.write {
            try $0.execute(
                sql: "UPDATE guest_receipts SET state = ?, state_at = ? WHERE upload_id = ?",
                arguments: [standing.state, standing.notedAt.milliseconds, uploadID]
            )
        }
    }

    /// Whether the entry of a stored file was removed on this machine, and no token for the file has been stored since
    /// then.
    public func isRemoved(host: String, fileID: Int64, checksumSHA256: String) throws(StoreError) -> Bool {
        try connection.read { db in
            try Tombstone.exists(db, key: ["host": host, "file_id": fileID, "checksum_sha256": checksumSHA256])
        }
    }

    /// The hosts whose entry for a file was removed on this machine, in order.
    package func removedHosts(fileID: Int64, host: String?) throws(StoreError) -> [String] {
        try connection.read { db in
            try String.fetchAll(
                db,
                sql: "SELECT DISTINCT host FROM tombstones WHERE file_id = ? AND host = ifnull(?, host) ORDER BY host",
                arguments: [fileID, host]
            )
        }
    }
}
