import Foundation
import GRDB

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
