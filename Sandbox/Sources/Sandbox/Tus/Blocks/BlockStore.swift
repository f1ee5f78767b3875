import Foundation
import GRDB
import Synchronization

/// The uploads of the tus endpoint in PHP: state and block counter in the database, bytes in a file each.
///
/// Unlike in ``TusStore``, the offset does not depend on the size of the file.
struct BlockStore: Sendable {
    /// `UPLOAD_MAX_PENDING_PER_TOKEN` (gighive-d4 contract 4.5).
    static let pendingLimit = 5
    /// Seconds for which a pending upload counts.
    static let pendingLifetime = 86_400.0

    let catalog: Catalog
    var folder: DataFolder { catalog.folder }
    private var queue: DatabaseQueue { catalog.queue }

    /// Inserts a new upload and its empty file. If `isCounted`, the pending uploads are counted in the same transaction;
    /// the real server counts them without a lock.
    func insert(_ upload: BlockUpload, isCounted: Bool) throws {
        try queue.write { db in
            if isCounted { try requirePlace(forGuest: upload.guestToken, db) }
            let metadata = upload.metadata
            try db.execute(
                sql: """
                    INSERT INTO block_upload (id, guest_token, state, length, kind, mime_type, event_date, org_name,
                        event_type, label, created_at)
                    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                    """,
                arguments: [
                    upload.id, upload.guestToken, upload.state.rawValue, upload.length, metadata.kind.rawValue,
                    metadata.mimeType, metadata.eventDate, metadata.orgName, metadata.eventType, metadata.label,
                    Date().timeIntervalSince1970,
                ]
            )
        }
        let descriptor = open(folder.uploadPath(upload.id), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw SystemError(call: "open", code: errno) }
        close(descriptor)
    }

    /// Throws ``BlockTusError/tooManyPending`` when the guest, or all users with a password (nil), have no place left.
    func requirePlace(forGuest token: String?) throws {
        try queue.read { db in try requirePlace(forGuest: token, db) }
    }

    private func requirePlace(forGuest token: String?, _ db: Database) throws {
        let count = try Int.fetchOne(
            db,
            sql: "SELECT count(*) FROM block_upload WHERE guest_token IS ? AND state = 'pending' AND created_at > ?",
            arguments: [token, Date().timeIntervalSince1970 - Self.pendingLifetime]
        )
        guard count ?? 0 < Self.pendingLimit else { throw BlockTusError.tooManyPending }
    }

    func find(_ id: String) throws -> BlockUpload? {
        try queue.read { db in
            try Row.fetchOne(db, sql: "SELECT * FROM block_upload WHERE id = ?", arguments: [id])
        }
        .map(BlockUpload.init)
    }

    /// All uploads, oldest first.
    func all() throws -> [BlockUpload] {
        try queue.read { db in try Row.fetchAll(db, sql: "SELECT * FROM block_upload ORDER BY rowid") }
            .map(BlockUpload.init)
    }

    /// Counts an accepted PATCH; the first one sets the block size.
    func countBlock(ofSize size: Int, in id: String) throws {
        try change("block_size = iif(block_count = 0, ?, block_size), block_count = block_count + 1", [size], id)
    }

    func complete(_ id: String, asset: Int) throws {
        try change("state = 'complete', asset_id = ?", [asset], id)
    }

    func fail(_ id: String) throws {
        try change("state = 'failed'", [], id)
    }

    /// Makes the upload 24 h older.
    func age(_ id: String) throws {
        try change("created_at = created_at - ?", [Self.pendingLifetime], id)
    }

    /// Removes row and bytes, as the nightly clean-up does.
    func forget(_ id: String) throws {
        unlink(folder.uploadPath(id))
        try queue.write { db in try db.execute(sql: "DELETE FROM block_upload WHERE id = ?", arguments: [id]) }
    }

    private func change(_ assignment: String, _ values: StatementArguments, _ id: String) throws {
        try queue.write { db in
            try db.execute(sql: "UPDATE block_upload SET \(assignment) WHERE id = ?", arguments: values + [id])
        }
    }
}

/// One upload of the tus endpoint in PHP (gighive-d4 contract 4.2).
struct BlockUpload: Sendable {
    enum State: String, Sendable {
        case pending
        case complete
        /// Permanent: no PATCH is accepted any more.
        case failed
    }

    var id: String
    /// The event link of a guest; nil for all users with a password, who share one number.
    var guestToken: String?
    var state = State.pending
    /// In bytes.
    var length: Int
    var metadata: BlockMetadata
    /// Bytes of the first PATCH; 0 before it.
    var blockSize = 0
    /// PATCH requests that were accepted.
    var blockCount = 0
    var assetID: Int?

    /// What the server reports: not the size of the file, but a product.
    var claimedOffset: Int { state == .complete ? length : blockCount * blockSize }

    init(id: String, guestToken: String?, length: Int, metadata: BlockMetadata) {
        self.id = id
        self.guestToken = guestToken
        self.length = length
        self.metadata = metadata
    }

    init(_ row: Row) {
        id = row["id"]
        guestToken = row["guest_token"]
        state = State(rawValue: row["state"]) ?? .failed
        length = row["length"]
        metadata = BlockMetadata(row)
        blockSize = row["block_size"]
        blockCount = row["block_count"]
        assetID = row["asset_id"]
    }
}

/// The metadata of a creation that PHP reads; everything else is dropped (gighive-d4 contract 4.6).
struct BlockMetadata: Sendable {
    var kind: MediaKind
    var mimeType: String
    /// `YYYY-MM-DD`; nil when it was missing or malformed.
    var eventDate: String?
    var orgName: String?
    var eventType: String
    var label: String

    init(_ metadata: TusMetadata) throws(BlockTusError) {
        func text(_ key: String) -> String? {
            let text = metadata[key]?.trimmingCharacters(in: .whitespacesAndNewlines) ?? ""
            return text.isEmpty ? nil : text
        }
        let name = text("filename") ?? ""
        let fileExtension = name.lastIndex(of: ".").map { name[name.index(after: $0)...].lowercased() } ?? ""
        let type = text("filetype")?.lowercased()
        if let type, !Self.allowedTypes.contains(type) { throw .unsupportedType }
        let kinds: [MediaKind?] = [MediaKind(fileExtension: fileExtension), type.flatMap { MediaKind(mimeType: $0) }]
        // Video wins where name and type disagree.
        guard let kind = kinds.contains(.video) ? .video : kinds.compactMap({ $0 }).first else { throw .noMedia }
        self.kind = kind
        mimeType = type ?? "\(kind.rawValue)/\(fileExtension)"
        eventDate = text("event_date").flatMap { $0.wholeMatch(of: /[0-9]{4}-[0-9]{2}-[0-9]{2}/) == nil ? nil : $0 }
        orgName = text("org_name")
        eventType = text("event_type") ?? "band"
        label = text("label") ?? "Untitled clip"
    }

    init(_ row: Row) {
        kind = MediaKind(rawValue: row["kind"]) ?? .video
        mimeType = row["mime_type"]
        eventDate = row["event_date"]
        orgName = row["org_name"]
        eventType = row["event_type"]
        label = row["label"]
    }

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

    /// The extension under which the file is stored: from the type, never from the name.
    var fileExtension: String {
        switch mimeType {
        case "audio/mpeg", "audio/mp3": "mp3"
        case "audio/wav", "audio/x-wav": "wav"
        case "audio/aac": "aac"
        case "audio/ogg": "ogg"
        case "video/mp4": "mp4"
        case "video/quicktime": "mov"
        case "video/webm": "webm"
        case "video/x-msvideo": "avi"
        default: "bin"
        }
    }

    /// Whether the row of the upload can be written (gighive-d4 contract 4.1).
    var fitsColumns: Bool {
        eventDate.map(UploadFields.isCalendarDate) ?? true && label.unicodeScalars.count <= 255
            && orgName?.unicodeScalars.count ?? 0 <= 255 && eventType.unicodeScalars.count <= 64
    }

    /// The event to which the file is linked at the last PATCH; nil unless organization and date were both given.
    func eventFields() throws(UploadFields.Refusal) -> UploadFields? {
        guard let eventDate, let orgName else { return nil }
        return try UploadFields(
            ["event_date": eventDate, "org_name": orgName, "event_type": eventType, "label": label],
            dialect: .d4,
            today: eventDate
        )
    }
}

/// One PATCH per upload at a time; the next one waits (gighive-d4 contract 4.1).
final class UploadTurns: Sendable {
    /// The requests that wait for each upload in use.
    private let waiting = Mutex<[String: [CheckedContinuation<Void, Never>]]>([:])

    func begin(_ id: String) async {
        await withCheckedContinuation { continuation in
            let isFree = waiting.withLock { waiting in
                guard waiting[id] == nil else {
                    waiting[id]?.append(continuation)
                    return false
                }
                waiting[id] = []
                return true
            }
            if isFree { continuation.resume() }
        }
    }

    func end(_ id: String) {
        let next = waiting.withLock { waiting -> CheckedContinuation<Void, Never>? in
            guard var queue = waiting[id], !queue.isEmpty else {
                waiting[id] = nil
                return nil
            }
            let next = queue.removeFirst()
            waiting[id] = queue
            return next
        }
        next?.resume()
    }
}
