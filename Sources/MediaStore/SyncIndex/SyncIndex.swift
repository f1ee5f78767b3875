public import Foundation
import GRDB
import Glibc

/// `index.sqlite`: the photos that the servers have listed. It can be rebuilt from their listings, so a corrupt index
/// is set aside and replaced, with a warning. Safe for concurrent use by many processes and tasks.
///
/// When a method returns, its change survives a crash of the process, but not a power loss (`synchronous=NORMAL`):
/// the next run then repeats some pages.
///
/// The methods block their thread while they work, and while another process is writing, for at most 30 seconds; a task
/// must call them on a separate thread.
public final class SyncIndex: Sendable {
    /// Repairs made while opening.
    public let warnings: [String]

    let connection: StoreConnection
    /// The directory of the locks; nil for a temporary index, which has one user.
    let directory: DataDirectory?

    /// Opens or creates the index.
    ///
    /// - Throws: `StoreError`: `.newerVersion` for an index written by a later version, which is not changed.
    public convenience init(in directory: DataDirectory) throws(StoreError) {
        try self.init(in: directory, fileSystem: FileSystemKind.detect(directory), busyLimit: .seconds(30))
    }

    init(in directory: DataDirectory, fileSystem: FileSystemKind, busyLimit: Duration) throws(StoreError) {
        let opened = try IndexRepair(directory: directory, fileSystem: fileSystem, busyLimit: busyLimit).open()
        connection = opened.connection
        self.directory = directory
        warnings = directory.warnings + opened.warnings
    }

    private init(temporary connection: StoreConnection) {
        self.connection = connection
        directory = nil
        warnings = []
    }

    /// An empty index for this process only; its data does not outlive the index or the process.
    ///
    /// - Throws: `StoreError`; its methods throw `.full` if the temporary directory (`TMPDIR`) has no room.
    public static func temporary() throws(StoreError) -> SyncIndex {
        SyncIndex(temporary: try StoreConnection(temporary: .index))
    }
}

/// The state of a server's photos in the index.
public struct SyncState: Sendable, Equatable {
    /// The owner of the photos (the `account` of `SyncIndex.begin`).
    public var account: String
    /// When a run, of either kind, last completed; nil if no run has. Photos uploaded before that are in the index.
    public var lastCompleteAt: Date?
    /// When the last completed full run started: photos deleted before that time are marked as gone; photos deleted
    /// during the run may not be.
    public var lastFullAt: Date?
    /// Whether a run has started and is not complete.
    public var hasUnfinishedRun = false
    /// The latest `uploadedAt` that a complete run has seen; the next incremental run begins before it.
    public var watermark: PhotoTime?
    /// The server's last `totalCount`.
    public var totalCount: Int64 = 0
}

/// Number of photos on a server, by origin.
public struct PhotoCounts: Sendable, Equatable {
    /// From this machine's device.
    public var thisDevice: Int64 = 0
    public var otherDevices: Int64 = 0
    /// From no device.
    public var legacy: Int64 = 0
    /// No longer on the server, as far as a full run could determine; not in `total`.
    public var gone: Int64 = 0
    /// All photos that are not gone.
    public var total: Int64 { thisDevice + otherDevices + legacy }

    /// Creates counts of zero.
    public init() {}
}

/// Rows of the table `servers`.
enum ServerRow {
    static func number(of address: String, _ db: Database) throws -> Int64? {
        let statement = try db.cachedStatement(sql: "SELECT number FROM servers WHERE address = ?")
        return try Int64.fetchOne(statement, arguments: [address])
    }

    /// The server's number. Rows of a different account are removed.
    static func prepare(_ address: String, account: String, _ db: Database) throws -> Int64 {
        if let number = try number(of: address, db) {
            let known = try String.fetchOne(
                db,
                sql: "SELECT account FROM servers WHERE number = ?",
                arguments: [number]
            )
            if known == account { return number }
            try remove(number, db)
        }
        try db.execute(sql: "INSERT INTO servers (address, account) VALUES (?, ?)", arguments: [address, account])
        return db.lastInsertedRowID
    }

    /// Removes a server and all of its rows.
    static func remove(_ number: Int64, _ db: Database) throws {
        try RunRow.remove(ofServer: number, db)
        try db.execute(sql: "DELETE FROM origins WHERE server = ?", arguments: [number])
        try db.execute(sql: "DELETE FROM servers WHERE number = ?", arguments: [number])
        // SQLite empties a table in one step only without a condition.
        let hasOthers = try Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM servers)") ?? true
        if hasOthers {
            try db.execute(sql: "DELETE FROM photos WHERE server = ?", arguments: [number])
        } else {
            try db.execute(sql: "DELETE FROM photos")
        }
    }

    /// Records a finished run. A full run has seen the latest photo.
    static func finish(_ run: RunRow, now: Date?, _ db: Database) throws {
        let isFull = run.since == nil
        try db.execute(
            sql: "UPDATE servers SET complete_at = ?1, full_at = iif(?2, ?3, full_at) WHERE number = ?4",
            arguments: [now?.milliseconds ?? run.begunAt, isFull, run.begunAt, run.server]
        )
        try db.execute(
            sql: """
                UPDATE servers SET watermark_us = ?1, watermark_text = ?2
                WHERE number = ?4 AND (?3 OR watermark_us IS NULL OR watermark_us < ?1)
                """,
            arguments: [run.latest?.microseconds, run.latest?.text, isFull, run.server]
        )
    }
}

extension SyncIndex {
    /// The state of a server's photos; nil if the server was never listed.
    public func state(of server: String) throws(StoreError) -> SyncState? {
        try connection.readBeside { db in
            let row = try Row.fetchOne(
                db,
                sql: """
                    SELECT *, EXISTS (SELECT 1 FROM runs WHERE server = servers.number) AS has_run
                    FROM servers WHERE address = ?
                    """,
                arguments: [server]
            )
            return row.map { row in
                SyncState(
                    account: row["account"],
                    lastCompleteAt: (row["complete_at"] as Int64?).map(Date.init(milliseconds:)),
                    lastFullAt: (row["full_at"] as Int64?).map(Date.init(milliseconds:)),
                    hasUnfinishedRun: row["has_run"],
                    watermark: PhotoTime(row["watermark_us"], row["watermark_text"]),
                    totalCount: row["total_count"]
                )
            }
        }
    }

    /// The number of photos by origin, without those that are gone; all 0 if the server is not known. The counts are
    /// updated when photos are stored. If this machine has no device, all devices count as other devices.
    public func counts(of server: String, device: String?) throws(StoreError) -> PhotoCounts {
        try connection.readBeside { db in
            let rows = try Row.fetchCursor(
                db,
                sql: """
                    SELECT device_id, present, gone FROM origins
                    WHERE server = (SELECT number FROM servers WHERE address = ?)
                    """,
                arguments: [server]
            )
            var counts = PhotoCounts()
            while let row = try rows.next() {
                let id: String? = row["device_id"]
                switch id {
                case nil: counts.legacy += row["present"]
                case device: counts.thisDevice += row["present"]
                default: counts.otherDevices += row["present"]
                }
                counts.gone += row["gone"]
            }
            return counts
        }
    }

    /// Removes everything stored about a server.
    public func forget(_ server: String) throws(StoreError) {
        try connection.write { db in
            if let number = try ServerRow.number(of: server, db) { try ServerRow.remove(number, db) }
        }
    }
}

extension SyncIndex {
    /// Whether a server records who uploads a photo, as shown by the latest upload from this machine (photosync
    /// contract 3.5); nil if nothing was uploaded, or if the server was never listed.
    public func ownsUploads(at server: String) throws(StoreError) -> Bool? {
        try connection.readBeside { db in
            try Bool.fetchOne(db, sql: "SELECT owns_uploads FROM servers WHERE address = ?", arguments: [server])
        }
    }

    /// Stores whether the server recorded who uploaded a photo. A server that was never synced is skipped.
    public func setOwnsUploads(_ isOwned: Bool, at server: String) throws(StoreError) {
        try connection.write { db in
            try db.execute(sql: "UPDATE servers SET owns_uploads = ? WHERE address = ?", arguments: [isOwned, server])
        }
    }
}

/// The photos of one device.
public struct DevicePhotos: Sendable, Equatable {
    public var device: PhotoDevice
    /// Number of its photos that are not gone.
    public var photos: Int64

    public init(device: PhotoDevice, photos: Int64 = 0) {
        self.device = device
        self.photos = photos
    }
}

extension SyncIndex {
    /// The devices that a server's photos came from, most photos first.
    public func devices(of server: String) throws(StoreError) -> [DevicePhotos] {
        try connection.readBeside { db in
            try Row.fetchAll(
                db,
                sql: """
                    SELECT device_id, name, platform, present FROM origins
                    WHERE server = (SELECT number FROM servers WHERE address = ?)
                        AND device_id IS NOT NULL AND present > 0
                    ORDER BY present DESC, name, device_id
                    """,
                arguments: [server]
            )
            .map { row in
                let (name, platform): (String?, String?) = (row["name"], row["platform"])
                return DevicePhotos(
                    device: PhotoDevice(id: row["device_id"], name: name ?? "", platform: platform ?? ""),
                    photos: row["present"]
                )
            }
        }
    }
}
