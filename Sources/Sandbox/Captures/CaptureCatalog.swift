import Foundation
import GRDB

/// The database of captures: devices with their counters, and what they sent.
struct CaptureCatalog: Sendable {
    let queue: DatabaseQueue
    let settings: CaptureSettings
    let folder: DataFolder

    init(folder: DataFolder, settings: CaptureSettings) throws {
        self.folder = folder
        self.settings = settings
        queue = try SandboxDatabase.open(folder.captureDatabasePath, Self.migrator)
        for device in settings.devices where try self.device(device.id) == nil {
            try add(
                CaptureDevice(
                    id: device.id,
                    platform: settings.profile == .reference ? "ios" : "linux",
                    model: "sandbox",
                    level: device.level,
                    key: device.key,
                    keyID: device.id,
                    counter: 0
                )
            )
        }
    }

    private static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("captures") { db in
            // A hash is unique over all devices and both modes (contract 1.3).
            try db.execute(
                sql: """
                    CREATE TABLE device (
                        id TEXT PRIMARY KEY,
                        platform TEXT NOT NULL,
                        model TEXT NOT NULL,
                        level TEXT NOT NULL,
                        key BLOB,
                        key_id TEXT NOT NULL UNIQUE,
                        counter INTEGER NOT NULL
                    );
                    CREATE TABLE capture (
                        id TEXT PRIMARY KEY,
                        device_id TEXT NOT NULL REFERENCES device(id),
                        mode TEXT NOT NULL,
                        hash TEXT NOT NULL UNIQUE,
                        confidence TEXT NOT NULL,
                        evidence BLOB NOT NULL,
                        flags BLOB,
                        media_type TEXT NOT NULL,
                        location TEXT,
                        captured_at INTEGER NOT NULL,
                        uploaded_at INTEGER NOT NULL,
                        body BLOB NOT NULL
                    );
                    """
            )
        }
        return migrator
    }

    // MARK: Devices

    func device(_ id: String) throws -> CaptureDevice? {
        try queue.read { db in
            try Row.fetchOne(db, sql: "SELECT * FROM device WHERE id = ?", arguments: [id]).map(CaptureDevice.init)
        }
    }

    func devices() throws -> [CaptureDevice] {
        try queue.read { db in
            try Row.fetchAll(db, sql: "SELECT * FROM device ORDER BY rowid").map(CaptureDevice.init)
        }
    }

    /// Enrols a device; false when its key is known.
    @discardableResult
    func add(_ device: CaptureDevice) throws -> Bool {
        try queue.write { db in
            try db.execute(
                sql: """
                    INSERT INTO device (id, platform, model, level, key, key_id, counter) VALUES (?, ?, ?, ?, ?, ?, ?)
                    ON CONFLICT (key_id) DO NOTHING
                    """,
                arguments: [
                    device.id, device.platform, device.model, device.level, device.key.map { Data($0.point) },
                    device.keyID, device.counter,
                ]
            )
            return db.changesCount == 1
        }
    }

    /// Raises a device's counter; false when it is there or beyond already, as another request may just have done.
    func advance(_ device: CaptureDevice, to counter: Int) throws -> Bool {
        try queue.write { db in
            try db.execute(
                sql: "UPDATE device SET counter = ? WHERE id = ? AND counter < ?",
                arguments: [counter, device.id, counter]
            )
            return db.changesCount == 1
        }
    }

    // MARK: Captures

    func capture(_ id: String) throws -> CaptureRow? { try first("id", id) }

    /// The hash in lower case.
    func capture(hash: String) throws -> CaptureRow? { try first("hash", hash) }

    func captures() throws -> [CaptureRow] {
        try queue.read { db in
            try Row.fetchAll(db, sql: "SELECT * FROM capture ORDER BY rowid").map(CaptureRow.init)
        }
    }

    /// Throws `DatabaseError` when the hash is known.
    func add(_ capture: CaptureRow) throws {
        try queue.write { db in try capture.insert(db) }
    }

    private func first(_ column: String, _ value: String) throws -> CaptureRow? {
        try queue.read { db in
            try Row.fetchOne(db, sql: "SELECT * FROM capture WHERE \(column) = ?", arguments: [value])
                .map(CaptureRow.init)
        }
    }
}
