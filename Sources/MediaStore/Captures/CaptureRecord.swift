public import Foundation
import GRDB
import Outcomes

/// Ids of captures and devices become parts of file names.
package enum CaptureID {
    /// Whether a text is a UUID in its usual form, lower case: 8-4-4-4-12 hexadecimal digits (RFC 9562 section 4).
    package static func isValid(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        guard bytes.count == 36 else { return false }
        return bytes.enumerated().allSatisfy { place, byte in
            switch place {
            case 8, 13, 18, 23: byte == UInt8(ascii: "-")
            default: (0x30...0x39).contains(byte) || (0x61...0x66).contains(byte)
            }
        }
    }
}

/// What this machine keeps about one capture. The media itself lies encrypted in the vault.
public struct CaptureRecord: Sendable, Equatable {
    /// How far it has got.
    public enum State: String, Sendable, CaseIterable {
        /// Not signed: signing failed, or has not happened yet. Never sent like this.
        case pending
        /// Signed, not sent.
        case queued
        /// On its way: the request may have reached the server.
        case submitted
        /// At the server.
        case accepted
        /// The server refused it for good.
        case rejected
        /// The answer was lost, or the server said 500 where that may mean "already there".
        case unknownOutcome = "unknown_outcome"
    }

    /// How a capture is told to a server.
    public enum Mode: String, Sendable, CaseIterable {
        /// Hash, depth analysis and what the settings allow; the media stays here.
        case hashOnly = "hash_only"
        /// The media as well.
        case full
    }

    /// UUID, lower case; ours, never the server's.
    public var id: String
    /// Address of the server.
    public var server: String
    /// The server's profile (`mediactl-1`, `reference`).
    public var profile: String
    /// nil in a record of before modes: local only until the user says otherwise (hash-only contract section 8).
    public var mode: Mode?
    /// How far it has got.
    public var state: State
    /// SHA-256 of the media, 64 lower-case hexadecimal characters.
    public var mediaHash: String
    /// `photo` or `video`.
    public var mediaType: String
    /// Where the file was, as bytes; nil for a digest that was given.
    public var path: [UInt8]?
    /// Length of the media in bytes; nil when it was not observed.
    public var mediaBytes: Int64?
    /// Whether the media was seen here, and is in the vault; false for a digest that was given.
    public var isObserved: Bool
    /// Whether a depth map is in the vault.
    public var hasDepth: Bool
    /// The analysis as JSON; nil in a record of before modes.
    public var analysis: String?
    /// The privacy settings in force, as JSON; nil in a record of before modes.
    public var settings: String?
    /// The payload with the placeholder for an assertion, as it was made; nil in a record of before modes.
    public var unsignedBody: [UInt8]?
    /// The exact body of the last attempt, signed.
    public var body: [UInt8]?
    /// The device that signed it.
    public var deviceID: String?
    /// SEC 1, 65 bytes, of the key that signed it.
    public var publicKey: [UInt8]?
    /// The relying party id that the assertion names.
    public var rpID: String?
    /// Counter of the payload's assertion.
    public var counter: UInt32?
    /// Level of the key that signed it.
    public var keyLevel: String?
    /// How often signing has failed; 3 are allowed.
    public var signingFailures: Int
    /// How often it has been sent.
    public var submissions: Int
    /// When it was made.
    public var createdAt: Date
    /// When it last changed.
    public var updatedAt: Date
    /// When the last request left.
    public var submittedAt: Date?
    /// The server's id.
    public var serverCaptureID: String?
    /// Where the server shows it to everybody.
    public var verificationURL: String?
    /// Of the last answer.
    public var httpStatus: Int?
    /// Code of the last error.
    public var errorCode: String?
    /// Words of the last error.
    public var errorDetail: String?
    /// How long the analysis took.
    public var analysisMilliseconds: Int64?

    /// Makes a record of a capture that nothing has happened to yet.
    public init(
        id: String,
        server: String,
        profile: String,
        mode: Mode?,
        mediaHash: String,
        mediaType: String,
        createdAt: Date
    ) {
        self.id = id
        self.server = server
        self.profile = profile
        self.mode = mode
        state = .pending
        self.mediaHash = mediaHash
        self.mediaType = mediaType
        isObserved = false
        hasDepth = false
        signingFailures = 0
        submissions = 0
        self.createdAt = createdAt
        updatedAt = createdAt
    }
}

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

extension LibraryStore {
    /// The record of a capture; nil when there is none.
    ///
    /// - Throws: `StoreError`; `.corrupt` for a row that no version has written, here and below.
    public func capture(_ id: String) throws(StoreError) -> CaptureRecord? { try captures(where: "id = ?", [id]).first }

    /// The captures whose id begins with these characters, in either case, newest first.
    ///
    /// - Throws: `StoreError`.
    public func captures(idPrefix: String) throws(StoreError) -> [CaptureRecord] {
        try captures(where: "substr(id, 1, length(?1)) = ?1", [idPrefix.lowercased()])
    }

    /// The captures of a digest (64 lower-case hexadecimal characters), newest first.
    ///
    /// - Throws: `StoreError`.
    public func captures(ofMedia hash: String) throws(StoreError) -> [CaptureRecord] {
        try captures(where: "media_hash = ?", [hash])
    }

    /// All captures, newest first.
    ///
    /// - Throws: `StoreError`.
    public func captures() throws(StoreError) -> [CaptureRecord] { try captures(where: "true", []) }

    private func captures(
        where condition: String,
        _ arguments: StatementArguments
    ) throws(StoreError) -> [CaptureRecord] {
        try connection.readBeside { db in
            let statement = try db.cachedStatement(sql: CaptureRow.select(where: condition))
            return try Row.fetchAll(statement, arguments: arguments).map(CaptureRow.capture)
        }
    }

    /// Keeps a capture, in place of an earlier state of the same id; on the disk when this returns. Times are kept to the
    /// millisecond.
    ///
    /// - Throws: `StoreError`; `.other` for an id that is no UUID in lower case.
    public func keep(_ capture: CaptureRecord) throws(StoreError) {
        guard CaptureID.isValid(capture.id) else {
            throw StoreError(.other, path: connection.path, detail: "\"\(capture.id)\" is no id of a capture")
        }
        try connection.write { db in try CaptureRow.keep(capture, db) }
    }

    /// This machine at a server; nil when it is not registered there.
    ///
    /// - Throws: `StoreError`; `.corrupt` for a row that no version has written.
    public func captureDevice(for server: String) throws(StoreError) -> CaptureDeviceRecord? {
        try connection.readBeside { db in
            try Row.fetchOne(db, sql: CaptureDeviceRow.selectByServer, arguments: [server])
                .map(CaptureDeviceRow.device)
        }
    }

    /// Keeps a registration, in place of an earlier one at the same server; on the disk when this returns.
    ///
    /// - Throws: `StoreError`.
    public func keep(_ device: CaptureDeviceRecord) throws(StoreError) {
        try connection.write { db in try CaptureDeviceRow.keep(device, db) }
    }
}
