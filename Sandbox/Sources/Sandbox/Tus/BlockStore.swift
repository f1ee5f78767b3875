import Foundation
import GRDB

/// The uploads of the tus endpoint in PHP. Unlike in ``TusStore``, the offset does not depend on the size of the file.
struct BlockStore: Sendable {
    /// `UPLOAD_MAX_PENDING_PER_TOKEN` (gighive-d4 contract 4.5).
    static let pendingLimit = 5
    /// In seconds.
    static let pendingLifetime = 86_400.0

    let catalog: Catalog
    var folder: DataFolder { catalog.folder }
    private var queue: DatabaseQueue { catalog.queue }

    /// Counts the pending uploads in the same transaction if `isCounted`; the real server counts them without a lock.
    func insert(_ upload: BlockUpload, isCounted: Bool) throws {
        try queue.write { db in
            if isCounted { try requirePlace(forGuest: upload.guestToken, db) }
            try upload.insert(db)
        }
        try folder.makeUpload(upload.id)
    }

    /// Throws ``BlockTusError/tooManyPending`` if the guest, or all users with a password together (nil), have too many
    /// pending uploads.
    func requirePlace(forGuest token: String?) throws { try queue.read { db in try requirePlace(forGuest: token, db) } }

    private func requirePlace(forGuest token: String?, _ db: Database) throws {
        let count = try Int.fetchOne(
            db,
            sql: "SELECT count(*) FROM block_upload WHERE guest_token IS ? AND state = 'pending' AND created_at > ?",
            arguments: [token, Date().timeIntervalSince1970 - Self.pendingLifetime]
        )
        guard count ?? 0 < Self.pendingLimit else { throw BlockTusError.tooManyPending }
    }

    func find(_ id: String) throws -> BlockUpload? { try queue.read { try BlockUpload.fetchOne($0, key: id) } }

    func all() throws -> [BlockUpload] {
        try queue.read { try BlockUpload.order(Column.rowID).fetchAll($0) }
    }

    /// Counts an accepted PATCH; the first one sets the block size.
    func countBlock(ofSize size: Int, in id: String) throws {
        try change("block_size = iif(block_count = 0, ?, block_size), block_count = block_count + 1", [size], id)
    }

    func complete(_ id: String, asset: Int) throws { try change("state = 'complete', asset_id = ?", [asset], id) }
    func fail(_ id: String) throws { try change("state = 'failed'", [], id) }

    /// Makes the upload 24 h older.
    func age(_ id: String) throws { try change("created_at = created_at - ?", [Self.pendingLifetime], id) }

    func forget(_ id: String) throws {
        unlink(folder.uploadPath(id))
        try queue.change("DELETE FROM block_upload WHERE id = ?", [id])
    }

    private func change(_ assignment: String, _ values: StatementArguments, _ id: String) throws {
        try queue.change("UPDATE block_upload SET \(assignment) WHERE id = ?", values + [id])
    }
}

/// One upload of the tus endpoint in PHP, with the metadata that it reads (gighive-d4 contract 4.2, 4.6).
struct BlockUpload: Sendable, SnakeCaseRecord {
    static let databaseTableName = "block_upload"

    enum State: String, Sendable, Codable {
        case pending, complete
        /// Permanent: every PATCH is refused.
        case failed
    }

    var id = newUUID()
    /// The event link of a guest; nil for users with a password, who share one limit.
    var guestToken: String?
    var state = State.pending
    var length: Int
    var kind: MediaKind
    var mimeType: String
    /// `YYYY-MM-DD`; nil if it was missing or malformed.
    var eventDate: String?
    var orgName: String?
    var eventType: String
    var label: String
    /// Bytes of the first PATCH; 0 before it.
    var blockSize = 0
    /// Accepted PATCH requests.
    var blockCount = 0
    var assetId: Int?
    /// Seconds since 1970.
    var createdAt = Date().timeIntervalSince1970

    init(guestToken: String?, length: Int, _ metadata: TusMetadata) throws(BlockTusError) {
        let suffix = Sandbox.fileExtension(metadata["filename"]?.nonBlank ?? "")
        let type = metadata["filetype"]?.nonBlank?.lowercased()
        if let type, !Self.allowedTypes.contains(type) { throw .unsupportedType }
        let kinds: [MediaKind?] = [MediaKind(fileExtension: suffix), type.flatMap { MediaKind(mimeType: $0) }]
        // Video if name and type disagree.
        guard let kind = kinds.contains(.video) ? .video : kinds.compactMap({ $0 }).first else { throw .noMedia }
        self.guestToken = guestToken
        self.length = length
        self.kind = kind
        mimeType = type ?? "\(kind.rawValue)/\(suffix)"
        let date = metadata["event_date"]?.nonBlank
        eventDate = date.flatMap { $0.wholeMatch(of: /[0-9]{4}-[0-9]{2}-[0-9]{2}/) == nil ? nil : $0 }
        orgName = metadata["org_name"]?.nonBlank
        eventType = metadata["event_type"]?.nonBlank ?? "band"
        label = metadata["label"]?.nonBlank ?? "Untitled clip"
    }

    var claimedOffset: Int { state == .complete ? length : blockCount * blockSize }

    /// The default list of a site (gighive contract 2.4).
    private static let allowedTypes = Set(
        [
            ("audio", "mpeg mp3 wav x-wav aac flac mp4 aiff x-aiff ogg vorbis basic x-au au mp2 mpeg2 x-ms-wma"),
            ("audio", "vnd.rn-realaudio x-pn-realaudio"),
            ("video", "mp4 quicktime x-matroska webm x-msvideo mpeg mp2t ogg x-flv mxf vnd.rn-realvideo"),
            ("video", "x-ms-wmv x-ms-asf"), ("application", "ogg mxf vnd.rn-realmedia vnd.ms-asf"),
        ]
        .flatMap { family, names in names.split(separator: " ").map { "\(family)/\($0)" } }
    )

    /// The extension of the stored file depends on the type, not on the name.
    var fileExtension: String {
        [
            "audio/mpeg": "mp3", "audio/mp3": "mp3", "audio/wav": "wav", "audio/x-wav": "wav", "audio/aac": "aac",
            "audio/ogg": "ogg", "video/mp4": "mp4", "video/quicktime": "mov", "video/webm": "webm",
            "video/x-msvideo": "avi",
        ][mimeType] ?? "bin"
    }

    /// Whether the values fit their database columns (gighive-d4 contract 4.1).
    var fitsColumns: Bool {
        eventDate.map(UploadFields.isCalendarDate) ?? true && label.unicodeScalars.count <= 255
            && orgName?.unicodeScalars.count ?? 0 <= 255 && eventType.unicodeScalars.count <= 64
    }

    /// The event of the file; nil unless an organization and a date are set.
    func eventFields() throws(UploadFields.Refusal) -> UploadFields? {
        guard let eventDate, let orgName else { return nil }
        let form = ["event_date": eventDate, "org_name": orgName, "event_type": eventType, "label": label]
        return try UploadFields(form, dialect: .d4)
    }
}
