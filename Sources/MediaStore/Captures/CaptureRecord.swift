public import Foundation
import GRDB
import Outcomes

/// IDs of captures and devices become parts of file names.
package enum CaptureID {
    /// Whether a string is a UUID in canonical form, in lower case: 8-4-4-4-12 hexadecimal digits (RFC 9562 section 4).
    package static func isValid(_ text: String) -> Bool {
        UUID(uuidString: text)?.uuidString.lowercased() == text
    }
}

/// The data about one capture on this machine. The media itself is encrypted in the vault.
public struct CaptureRecord: Sendable, Equatable {
    /// The state of a capture.
    public enum State: String, Sendable, CaseIterable, Codable {
        /// Not signed: signing failed, or has not been attempted. Never sent in this state.
        case pending
        /// Signed, not sent.
        case queued
        /// Being sent: the request may have reached the server.
        case submitted
        /// Stored by the server.
        case accepted
        /// The server refused it permanently, or has accepted the same media as another capture.
        case rejected
        /// The response was lost, or was a 500, which may mean that the capture is already on the server.
        case unknownOutcome = "unknown_outcome"

        /// Whether the capture is not on the server, as far as this machine knows, and waits to be sent.
        package var isUnsent: Bool { self == .pending || self == .queued }
        /// Whether the outcome of its submission is unknown.
        package var mayBeOnServer: Bool { self == .submitted || self == .unknownOutcome }
    }

    /// How a capture is submitted to a server.
    public enum Mode: String, Sendable, CaseIterable, Codable {
        /// The hash, the depth analysis and the data that the settings allow; the media stays on this machine.
        case hashOnly = "hash_only"
        /// The media in addition to the data of `hashOnly`.
        case full
    }

    /// A signed body that was sent, and its signer.
    public struct Submission: Sendable, Equatable, Codable {
        public var body: [UInt8]
        public var deviceID: String?
        public var publicKey: [UInt8]?
        public var rpID: String?
        public var counter: UInt32?
        public var keyLevel: String?
        public var submittedAt: Date?

        private enum CodingKeys: String, CodingKey {
            case body, counter
            case deviceID = "device_id"
            case publicKey = "public_key"
            case rpID = "rp_id"
            case keyLevel = "key_level"
            case submittedAt = "submitted_at"
        }

        public init(body: [UInt8]) {
            self.body = body
        }
    }

    /// UUID, lower case; assigned by this machine, not by the server.
    public var id: String
    /// Address of the server.
    public var server: String
    /// The server's profile (`mediactl-1`, `reference`).
    public var profile: String
    /// nil in a record made before modes existed: local only until the user decides otherwise (hash-only
    /// contract section 8).
    public var mode: Mode?
    public var state = State.pending
    /// SHA-256 of the media, 64 lowercase hexadecimal characters.
    public var mediaHash: String
    /// `photo` or `video`.
    public var mediaType: String
    /// Path of the file, as bytes; nil if only a digest was given.
    public var path: [UInt8]?
    /// Length of the media in bytes; nil if it was not observed.
    public var mediaBytes: Int64?
    /// Whether the media was read on this machine, and is in the vault; false if only a digest was given.
    public var isObserved = false
    /// Whether a depth map is in the vault.
    public var hasDepth = false
    /// The analysis as JSON; nil in a record made before modes existed.
    public var analysis: String?
    /// The privacy settings in force, as JSON; nil in a record made before modes existed.
    public var settings: String?
    /// The payload as created, with the placeholder for an assertion; nil in a record made before modes existed.
    public var unsignedBody: [UInt8]?
    /// The exact signed body of the last attempt that the server has not refused, or of the last attempt if it has
    /// refused all of them.
    public var body: [UInt8]?
    /// The device that signed it.
    public var deviceID: String?
    /// SEC 1, 65 bytes, of the key that signed it.
    public var publicKey: [UInt8]?
    /// The relying party ID of the assertion.
    public var rpID: String?
    /// Counter of the payload's assertion.
    public var counter: UInt32?
    /// Level of the key that signed it.
    public var keyLevel: String?
    /// The submissions before the last one that the server may have accepted, oldest first; nil if there is none.
    public var earlierSubmissions: [Submission]?
    /// Number of failed attempts to sign; 3 are allowed.
    public var signingFailures = 0
    public var submissions = 0
    public var createdAt: Date
    /// When the record last changed.
    public var updatedAt: Date
    /// When `body` was last sent; until it is sent, the time of the previous request.
    public var submittedAt: Date?
    public var serverCaptureID: String?
    /// The address of its public page on the server.
    public var verificationURL: String?
    /// Status of the last response.
    public var httpStatus: Int?
    public var errorCode: String?
    public var errorDetail: String?
    public var analysisMilliseconds: Int64?

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
        self.mediaHash = mediaHash
        self.mediaType = mediaType
        self.createdAt = createdAt
        updatedAt = createdAt
    }
}

extension CaptureRecord {
    /// The body of the last attempt and its signer; nil if nothing is signed.
    public var submission: Submission? {
        get {
            guard let body else { return nil }
            var submission = Submission(body: body)
            submission.deviceID = deviceID
            submission.publicKey = publicKey
            submission.rpID = rpID
            submission.counter = counter
            submission.keyLevel = keyLevel
            submission.submittedAt = submittedAt
            return submission
        }
        set {
            body = newValue?.body
            deviceID = newValue?.deviceID
            publicKey = newValue?.publicKey
            rpID = newValue?.rpID
            counter = newValue?.counter
            keyLevel = newValue?.keyLevel
            submittedAt = newValue?.submittedAt
        }
    }
}

extension CaptureRecord: Storable {
    static let table = "captures"

    private enum CodingKeys: String, CodingKey {
        case id, server, profile, mode, state, path, analysis, settings, body, counter, submissions
        case mediaHash = "media_hash"
        case mediaType = "media_type"
        case mediaBytes = "media_bytes"
        case isObserved = "is_observed"
        case hasDepth = "has_depth"
        case unsignedBody = "unsigned_body"
        case deviceID = "device_id"
        case publicKey = "public_key"
        case rpID = "rp_id"
        case keyLevel = "key_level"
        case earlierSubmissions = "earlier_submissions"
        case signingFailures = "signing_failures"
        case createdAt = "created_at"
        case updatedAt = "updated_at"
        case submittedAt = "submitted_at"
        case serverCaptureID = "server_capture_id"
        case verificationURL = "verification_url"
        case httpStatus = "http_status"
        case errorCode = "error_code"
        case errorDetail = "error_detail"
        case analysisMilliseconds = "analysis_ms"
    }

    mutating func complete(from row: Row) { errorCode = errorCode.map(OutcomeTable.current) }
}

extension LibraryStore {
    /// The record of a capture; nil if it does not exist.
    ///
    /// - Throws: `StoreError`; `.corrupt` for a row that no version could have written, here and below.
    public func capture(_ id: String) throws(StoreError) -> CaptureRecord? { try captures(where: "id = ?", [id]).first }

    /// The captures whose ID begins with these characters, ignoring case, newest first.
    public func captures(idPrefix: String) throws(StoreError) -> [CaptureRecord] {
        try captures(where: "substr(id, 1, length(?1)) = ?1", [idPrefix.lowercased()])
    }

    /// The captures of the media with a digest (64 lowercase hexadecimal characters), newest first.
    public func captures(ofMedia hash: String) throws(StoreError) -> [CaptureRecord] {
        try captures(where: "media_hash = ?", [hash])
    }

    /// All captures, newest first.
    public func captures() throws(StoreError) -> [CaptureRecord] { try captures(where: "true", []) }

    /// The highest counter that signed a capture of a device; nil if the device has not signed a capture.
    ///
    /// - Throws: `StoreError`.
    public func lastCounter(of device: String) throws(StoreError) -> UInt32? {
        let sql = "SELECT max(counter) FROM captures WHERE device_id = ?"
        return try connection.readBeside { db in
            try Int64.fetchOne(db, sql: sql, arguments: [device]).flatMap(UInt32.init(exactly:))
        }
    }

    private func captures(
        where condition: String,
        _ arguments: StatementArguments
    ) throws(StoreError) -> [CaptureRecord] {
        try connection.readBeside { db in
            try Stored.values(db, where: "\(condition) ORDER BY created_at DESC, rowid DESC", arguments)
        }
    }

    /// Stores a capture, replacing an earlier state with the same ID; it is on disk when this returns. Times are stored
    /// with millisecond precision.
    ///
    /// - Throws: `StoreError`; `.other` for an ID that is not a UUID in lower case.
    public func keep(_ capture: CaptureRecord) throws(StoreError) {
        try checkID(capture.id, of: "capture")
        // An upsert keeps the row's position among rows with the same time.
        try connection.write { db in try Stored(capture).upsert(db) }
    }

    /// The registration of this machine with a server; nil if there is none.
    ///
    /// - Throws: `StoreError`; `.corrupt` for a row that no version could have written.
    public func captureDevice(for server: String) throws(StoreError) -> CaptureDeviceRecord? {
        try connection.readBeside { db in try Stored<CaptureDeviceRecord>.fetchOne(db, key: server)?.value }
    }

    /// Whether any record is stored.
    package func hasCaptures() throws(StoreError) -> Bool {
        try connection.read { db in try Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM captures)") ?? false }
    }

    /// Whether a registration has this key: SEC 1, 65 bytes.
    package func isRegistered(publicKey: [UInt8]) throws(StoreError) -> Bool {
        try connection.readBeside { db in
            try Bool.fetchOne(
                db,
                sql: "SELECT EXISTS (SELECT 1 FROM capture_devices WHERE public_key = ?)",
                arguments: [Data(publicKey)]
            ) ?? false
        }
    }

    /// Stores a registration, replacing an earlier one with the same server; it is on disk when this returns. With a
    /// new device ID, three more attempts to sign each unsigned capture are allowed.
    public func keep(_ device: CaptureDeviceRecord) throws(StoreError) {
        try connection.write { db in
            try db.execute(
                sql: """
                    UPDATE captures SET signing_failures = 0 WHERE server = ?1 AND state = 'pending'
                    AND NOT EXISTS (SELECT 1 FROM capture_devices WHERE server = ?1 AND device_id = ?2)
                    """,
                arguments: [device.server, device.deviceID]
            )
            try Stored(device).insert(db, onConflict: .replace)
        }
    }
}
