import Foundation
import GRDB

/// The database of captures: devices with their counters, and their captures.
struct CaptureCatalog: Sendable {
    let queue: DatabaseQueue
    let settings: CaptureSettings

    init(folder: DataFolder, settings: CaptureSettings) throws {
        self.settings = settings
        queue = try DatabaseQueue.sandbox(folder.path + "/captures.sqlite", Self.schema)
        for enrolled in settings.devices where try device(enrolled.id) == nil {
            var device = enrolled
            device.platform = settings.profile == .reference ? "ios" : "linux"
            try add(device)
        }
    }

    /// A hash is unique across devices and modes (contract 1.3).
    private static let schema = """
        CREATE TABLE device (
            id TEXT PRIMARY KEY, platform TEXT NOT NULL, model TEXT NOT NULL, level TEXT NOT NULL, key BLOB,
            key_id TEXT NOT NULL UNIQUE, counter INTEGER NOT NULL
        );
        CREATE TABLE capture (
            id TEXT PRIMARY KEY, device_id TEXT NOT NULL REFERENCES device(id), mode TEXT NOT NULL,
            hash TEXT NOT NULL UNIQUE, confidence TEXT NOT NULL, evidence TEXT NOT NULL, flags TEXT,
            media_type TEXT NOT NULL, location TEXT, captured_at TEXT NOT NULL, uploaded_at TEXT NOT NULL,
            body BLOB NOT NULL
        );
        """

    func device(_ id: String) throws -> CaptureDevice? { try queue.read { try CaptureDevice.fetchOne($0, key: id) } }

    func devices() throws -> [CaptureDevice] { try queue.read { try CaptureDevice.order(sql: "rowid").fetchAll($0) } }

    /// False if the key is already registered.
    @discardableResult
    func add(_ device: CaptureDevice) throws -> Bool {
        try queue.write { db in
            if try db.exists("device WHERE key_id = ?", [device.keyId]) { return false }
            try device.insert(db)
            return true
        }
    }

    /// Raises the level of a device whose key is proven to be in a TPM, and returns its ID; nil if the key is not registered.
    func upgrade(_ device: CaptureDevice) throws -> String? {
        guard device.level == "tpm2" else { return nil }
        return try queue.write { db in
            try String.fetchOne(
                db,
                sql: """
                    UPDATE device SET level = ? WHERE key_id = ? AND platform = 'linux' AND level IN ('software', 'tpm2')
                    RETURNING id
                    """,
                arguments: [device.level, device.keyId]
            )
        }
    }

    /// False if the counter is not higher than the stored one.
    func advance(_ device: CaptureDevice, to counter: Int) throws -> Bool {
        try queue.change("UPDATE device SET counter = ? WHERE id = ? AND counter < ?", [counter, device.id, counter])
    }

    func capture(_ id: String) throws -> CaptureRow? { try queue.read { try CaptureRow.fetchOne($0, key: id) } }

    /// `hash` is in lowercase.
    func capture(hash: String) throws -> CaptureRow? {
        try queue.read { try CaptureRow.fetchOne($0, key: ["hash": hash]) }
    }

    func captures() throws -> [CaptureRow] { try queue.read { try CaptureRow.order(sql: "rowid").fetchAll($0) } }

    /// Throws `DatabaseError` for a duplicate hash.
    func add(_ row: CaptureRow) throws { try queue.write { db in try row.insert(db) } }
}

struct CaptureDevice: Sendable, SnakeCaseRecord {
    static let databaseTableName = "device"

    var id = newUUID()
    var platform: String
    var model: String
    /// `software`, `tpm2`, `secure_enclave`, …
    var level: String
    var key: P256PublicKey?
    /// Unique.
    var keyId: String
    /// The counter of the last accepted assertion.
    var counter = 0
}

struct CaptureRow: Sendable, SnakeCaseRecord {
    static let databaseTableName = "capture"

    enum Mode: String, Sendable, Codable {
        case hashOnly = "hash_only"
        case full
    }

    var id = newUUID()
    var deviceId: String
    var mode: Mode
    /// SHA-256 of the media, in lowercase hex.
    var hash: String
    /// `high`, `medium`, `low` or `suspicious`.
    var confidence: String
    var evidence: JSONValue
    /// The flags of a hash-only capture.
    var flags: JSONValue?
    /// Always `photo` on the reference server (contract 1.4).
    var mediaType: String
    /// The public location.
    var location: String?
    var capturedAt: Timestamp
    var uploadedAt: Timestamp
    /// The body of the request, for tests; the real server does not store it.
    var body: Data
}

/// The confidence in a capture (contract 1.4, 3.4).
enum CaptureEvidence {
    /// `hardware` and `depth` are `pass`, `fail` or `unavailable`; `level` is set if it limits the confidence.
    static func confidence(hardware: String, depth: String, cappedFor level: String?) -> String {
        if [hardware, depth].contains("fail") { return "suspicious" }
        let cap = level == nil || level == "secure_enclave" ? 2 : level == "software" ? 0 : 1
        return ["low", "medium", "high"][min([hardware, depth].count { $0 == "pass" }, cap)]
    }

    static func json(
        _ platform: String,
        _ device: CaptureDevice,
        hardware: String,
        depth: JSONValue,
        metadata: JSONValue
    ) -> JSONValue {
        let attestation: JSONValue = [
            "status": .string(hardware), "level": .string(device.level), "device_model": .string(device.model),
            "assertion_verified": .bool(hardware == "pass"), "counter_valid": .bool(hardware == "pass"),
        ]
        return [
            "platform": .string(platform), "hardware_attestation": attestation, "depth_analysis": depth,
            "metadata": metadata, "processing": ["processed_by": "mediactl-sandbox"],
        ]
    }
}
