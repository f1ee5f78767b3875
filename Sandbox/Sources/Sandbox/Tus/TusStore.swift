import Foundation
import GRDB
import Synchronization

/// The uploads of the tus endpoint: metadata in the database, bytes in a file each, whose size is the offset (as in
/// tusd).
///
/// Both survive a restart of the sandbox.
final class TusStore: Sendable {
    let folder: DataFolder
    private let queue: DatabaseQueue
    /// The uploads in use.
    let busy = BusyUploads()

    init(_ catalog: Catalog) {
        folder = catalog.folder
        queue = catalog.queue
    }

    func insert(_ upload: TusUpload) throws {
        try queue.write { db in try upload.insert(db) }
        try folder.makeUpload(upload.id)
    }

    /// All data about an id, including finished and finalized ones.
    func find(_ id: String) throws -> TusUpload? {
        var upload = try queue.read { try TusUpload.fetchOne($0, key: id) }
        upload?.offset = StoredRange(path: folder.uploadPath(id))?.count
        return upload
    }

    func all() throws -> [TusUpload] {
        try queue.read { try String.fetchAll($0, sql: "SELECT id FROM tus_upload ORDER BY rowid") }.compactMap(find)
    }

    /// The upload as seen by tusd: nil once its bytes are deleted.
    func upload(_ id: String) throws -> TusUpload {
        guard let upload = try find(id) else { throw TusError.notFound }
        guard !upload.isExpired else { throw TusError.gone }
        guard upload.offset != nil else { throw TusError.notFound }
        return upload
    }

    /// Records the time at which the hook starts.
    func finish(_ id: String) throws { try change("finished_at = ?", [Date().timeIntervalSince1970], id) }

    func declareLength(_ length: Int, of id: String) throws { try change("length = ?", [length], id) }

    /// Removes the bytes; the data about a finished upload is kept, like its hook record.
    func terminate(_ id: String) throws {
        unlink(folder.uploadPath(id))
        try queue.change("DELETE FROM tus_upload WHERE id = ? AND finished_at IS NULL", [id])
    }

    /// Removes everything.
    func forget(_ id: String) throws {
        unlink(folder.uploadPath(id))
        try queue.change("DELETE FROM tus_upload WHERE id = ?", [id])
    }

    /// Removes the bytes and records the reason.
    func expire(_ id: String) throws {
        unlink(folder.uploadPath(id))
        try change("is_expired = ?", [true], id)
    }

    /// The response of a finalize, without the token; nil if none succeeded.
    func answer(_ id: String) throws -> JSONValue? {
        let text = try queue.read { db in
            try String.fetchOne(db, sql: "SELECT answer FROM tus_upload WHERE id = ?", arguments: [id])
        }
        return try text.map { try JSONValue(Array($0.utf8)) }
    }

    func remember(_ answer: JSONValue, of id: String) throws { try change("answer = ?", [answer.text], id) }

    private func change(_ assignment: String, _ values: StatementArguments, _ id: String) throws {
        try queue.change("UPDATE tus_upload SET \(assignment) WHERE id = ?", values + [id])
    }
}

/// One upload of the tus endpoint.
struct TusUpload: Sendable, SnakeCaseRecord {
    static let databaseTableName = "tus_upload"

    enum CodingKeys: CodingKey {
        case id, length, metadata, isPartial, parts, finishedAt, isExpired
    }

    var id: String
    /// Nil until the client specifies it.
    var length: Int?
    /// The header that ``TusMetadata`` reads.
    var metadata: String
    var isPartial: Bool
    /// Ids of which a final upload was concatenated; empty for others.
    var parts: [String] = []
    /// When its last byte was stored, seconds since 1970; the post-finish hook starts then.
    var finishedAt: Double?
    var isExpired = false
    /// Bytes on disk; nil if the file was deleted.
    var offset: Int?

    var isFinal: Bool { !parts.isEmpty }
    var isComplete: Bool { offset != nil && offset == length }
}

/// Uploads that only one request at a time may use.
final class BusyUploads: Sendable {
    private let ids = Mutex<Set<String>>([])

    /// False if another request uses it.
    func begin(_ id: String) -> Bool { ids.withLock { $0.insert(id).inserted } }

    func end(_ id: String) { ids.withLock { _ = $0.remove(id) } }
}

/// `Upload-Metadata`: keys with base64 values (tus 1.0.0, Creation).
struct TusMetadata: Sendable {
    private var pairs: [(key: String, value: [UInt8])] = []

    /// Like tusd, skips invalid entries; of equal keys the last counts.
    init(_ header: String) {
        for element in header.split(separator: ",") {
            let pieces = element.split(separator: " ").map(String.init)
            guard (1...2).contains(pieces.count), let value = base64Bytes(pieces.count > 1 ? pieces[1] : "") else {
                continue
            }
            pairs.removeAll { $0.key == pieces[0] }
            pairs.append((pieces[0], value))
        }
    }

    /// The text of a key, nil if it is missing.
    subscript(key: String) -> String? {
        pairs.first { $0.key == key }.map { String(decoding: $0.value, as: UTF8.self) }
    }

    /// The header with these values.
    var header: String { pairs.map { "\($0.key) \(base64($0.value))" }.joined(separator: ",") }
}
