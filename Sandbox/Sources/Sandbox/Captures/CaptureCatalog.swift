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

    /// Raises the level of a device whose key is now proven to be in a TPM, and returns its id; nil when the key is not known.
    /// Proving it once more changes nothing.
    func upgrade(_ device: CaptureDevice) throws -> String? {
        guard device.level == "tpm2" else { return nil }
        return try queue.write { db in
            try String.fetchOne(
                db,
                sql: """
                    UPDATE device SET level = ? WHERE key_id = ? AND platform = 'linux' AND level IN ('software', 'tpm2')
                    RETURNING id
                    """,
                arguments: [device.level, device.keyID]
            )
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

/// A row of the device table.
struct CaptureDevice: Sendable {
    var id: String
    var platform: String
    var model: String
    /// `software`, `tpm2`, `secure_enclave`, …
    var level: String
    /// Nil for a device that proved nothing.
    var key: P256PublicKey?
    /// What makes a second registration a second one.
    var keyID: String
    /// Of the last assertion that was accepted.
    var counter: Int
}

extension CaptureDevice {
    init(_ row: Row) {
        let point: Data? = row["key"]
        id = row["id"]
        platform = row["platform"]
        model = row["model"]
        level = row["level"]
        key = point.flatMap { P256PublicKey(point: Array($0)) }
        keyID = row["key_id"]
        counter = row["counter"]
    }
}

/// A row of the capture table.
struct CaptureRow: Sendable {
    enum Mode: String, Sendable {
        case hashOnly = "hash_only"
        case full
    }

    var id: String
    var deviceID: String
    var mode: Mode
    /// SHA-256 of the media, in lower-case hex.
    var hash: String
    /// `high`, `medium`, `low` or `suspicious`.
    var confidence: String
    var evidence: JSONValue
    /// Of hash-only captures.
    var flags: JSONValue?
    /// The real server calls everything a photo (contract 1.4).
    var mediaType: String
    /// What the public may know of the place.
    var location: String?
    var capturedAt: CaptureTime
    var uploadedAt: CaptureTime
    /// The request as it came, for tests; the real server does not keep it.
    var body: [UInt8]
}

extension CaptureRow {
    init(_ row: Row) throws {
        let flags: Data? = row["flags"]
        let decoder = JSONDecoder()
        id = row["id"]
        deviceID = row["device_id"]
        mode = row["mode"] == Mode.full.rawValue ? .full : .hashOnly
        hash = row["hash"]
        confidence = row["confidence"]
        evidence = try decoder.decode(JSONValue.self, from: row["evidence"])
        self.flags = try flags.map { try decoder.decode(JSONValue.self, from: $0) }
        mediaType = row["media_type"]
        location = row["location"]
        capturedAt = CaptureTime(nanoseconds: row["captured_at"])
        uploadedAt = CaptureTime(nanoseconds: row["uploaded_at"])
        body = Array(row["body"] as Data)
    }

    func insert(_ db: Database) throws {
        let encoder = JSONEncoder()
        try db.execute(
            sql: """
                INSERT INTO capture (id, device_id, mode, hash, confidence, evidence, flags, media_type, location,
                    captured_at, uploaded_at, body)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """,
            arguments: [
                id, deviceID, mode.rawValue, hash, confidence, try encoder.encode(evidence),
                try flags.map { try encoder.encode($0) }, mediaType, location, capturedAt.nanoseconds,
                uploadedAt.nanoseconds, Data(body),
            ]
        )
    }
}

/// How much a server believes a capture (contract 1.4, 3.4).
enum CaptureConfidence {
    private static let ranks = ["low", "medium", "high"]

    /// From `pass`, `fail` or `unavailable` of both; `level` is the device's, where it caps the confidence.
    static func level(hardware: String, depth: String, cappedFor level: String?) -> String {
        if [hardware, depth].contains("fail") { return "suspicious" }
        let rank = [hardware, depth].count { $0 == "pass" }
        let cap =
            switch level {
            case nil, "secure_enclave": 2
            case "software": 0
            default: 1
            }
        return ranks[min(rank, cap)]
    }

    static let processing: JSONValue = ["processed_by": "mediactl-sandbox"]
}
