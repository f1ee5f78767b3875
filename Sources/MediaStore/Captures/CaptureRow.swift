import Foundation
import GRDB
import Outcomes

/// Rows of the table `captures`.
enum CaptureRow {
    private static let columns = [
        "id", "server", "profile", "mode", "state", "media_hash", "media_type", "path", "media_bytes", "is_observed",
        "has_depth", "analysis", "settings", "unsigned_body", "body", "device_id", "public_key", "rp_id", "counter",
        "key_level", "signing_failures", "submissions", "created_at", "updated_at", "submitted_at",
        "server_capture_id", "verification_url", "http_status", "error_code", "error_detail", "analysis_ms",
    ]

    /// Newest first.
    static func select(where condition: String) -> String {
        "SELECT \(columns.joined(separator: ", ")) FROM captures WHERE \(condition) ORDER BY created_at DESC, rowid DESC"
    }

    /// The row keeps its place among those of the same time.
    private static let upsert: String = {
        let places = Array(repeating: "?", count: columns.count).joined(separator: ", ")
        let changes = columns.dropFirst().map { "\($0) = excluded.\($0)" }.joined(separator: ", ")
        return """
            INSERT INTO captures (\(columns.joined(separator: ", "))) VALUES (\(places))
            ON CONFLICT (id) DO UPDATE SET \(changes)
            """
    }()

    static func keep(_ capture: CaptureRecord, _ db: Database) throws {
        let arguments: [(any DatabaseValueConvertible)?] = [
            capture.id, capture.server, capture.profile, capture.mode?.rawValue, capture.state.rawValue,
            capture.mediaHash, capture.mediaType, capture.path.map { Data($0) }, capture.mediaBytes,
            capture.isObserved, capture.hasDepth, capture.analysis, capture.settings,
            capture.unsignedBody.map { Data($0) }, capture.body.map { Data($0) }, capture.deviceID,
            capture.publicKey.map { Data($0) }, capture.rpID, capture.counter.map { Int64($0) }, capture.keyLevel,
            capture.signingFailures, capture.submissions, capture.createdAt.milliseconds,
            capture.updatedAt.milliseconds, capture.submittedAt?.milliseconds, capture.serverCaptureID,
            capture.verificationURL, capture.httpStatus, capture.errorCode, capture.errorDetail,
            capture.analysisMilliseconds,
        ]
        try db.cachedStatement(sql: upsert).execute(arguments: StatementArguments(arguments))
    }

    /// - Throws: `StoreError` `.corrupt`, naming the capture, for what no version has written.
    static func capture(_ row: Row) throws -> CaptureRecord {
        let id: String = row["id"]
        let modeText: String? = row["mode"]
        let mode = try modeText.map { try known(CaptureRecord.Mode(rawValue: $0), "mode", id) }
        var capture = CaptureRecord(
            id: id,
            server: row["server"],
            profile: row["profile"],
            mode: mode,
            mediaHash: row["media_hash"],
            mediaType: row["media_type"],
            createdAt: Date(milliseconds: row["created_at"])
        )
        capture.state = try known(CaptureRecord.State(rawValue: row["state"]), "state", id)
        capture.path = bytes(row["path"])
        capture.mediaBytes = row["media_bytes"]
        capture.isObserved = row["is_observed"]
        capture.hasDepth = row["has_depth"]
        capture.analysis = row["analysis"]
        capture.settings = row["settings"]
        capture.unsignedBody = bytes(row["unsigned_body"])
        capture.body = bytes(row["body"])
        capture.deviceID = row["device_id"]
        capture.publicKey = bytes(row["public_key"])
        capture.rpID = row["rp_id"]
        capture.counter = try (row["counter"] as Int64?).map { try known(UInt32(exactly: $0), "counter", id) }
        capture.keyLevel = row["key_level"]
        capture.signingFailures = row["signing_failures"]
        capture.submissions = row["submissions"]
        capture.updatedAt = Date(milliseconds: row["updated_at"])
        capture.submittedAt = (row["submitted_at"] as Int64?).map(Date.init(milliseconds:))
        capture.serverCaptureID = row["server_capture_id"]
        capture.verificationURL = row["verification_url"]
        capture.httpStatus = row["http_status"]
        capture.errorCode = (row["error_code"] as String?).map(OutcomeTable.current)
        capture.errorDetail = row["error_detail"]
        capture.analysisMilliseconds = row["analysis_ms"]
        return capture
    }

    private static func bytes(_ data: Data?) -> [UInt8]? { data.map { [UInt8]($0) } }

    private static func known<Value>(_ value: Value?, _ name: String, _ id: String) throws -> Value {
        if let value { return value }
        throw StoreError(
            .corrupt,
            path: StoreSchema.library.fileName,
            detail: "capture \(id) has an unknown \(name)"
        )
    }
}
