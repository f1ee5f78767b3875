import Foundation
import GRDB
import Synchronization

/// The uploads of tusd: the size of the file is the offset.
final class TusStore: Sendable {
    let folder: DataFolder
    private let queue: DatabaseQueue
    let busy = BusyUploads()

    init(_ catalog: Catalog) {
        folder = catalog.folder
        queue = catalog.queue
    }

    func insert(_ upload: TusUpload) throws {
        try queue.write { db in try upload.insert(db) }
        try folder.makeUpload(upload.id)
    }

    /// Also finds finished and finalized uploads.
    func find(_ id: String) throws -> TusUpload? {
        var upload = try queue.read { try TusUpload.fetchOne($0, key: id) }
        upload?.offset = StoredRange(path: folder.uploadPath(id))?.count
        return upload
    }

    func all() throws -> [TusUpload] {
        try queue.read { try String.fetchAll($0, sql: "SELECT id FROM tus_upload ORDER BY rowid") }.compactMap(find)
    }

    /// Throws if the file was removed.
    func upload(_ id: String) throws -> TusUpload {
        guard let upload = try find(id) else { throw TusError.notFound }
        guard !upload.isExpired else { throw TusError.gone }
        guard upload.offset != nil else { throw TusError.notFound }
        return upload
    }

    func finish(_ id: String) throws { try change("finished_at = ?", [Date().timeIntervalSince1970], id) }

    func declareLength(_ length: Int, of id: String) throws { try change("length = ?", [length], id) }

    /// The record of a finished upload is kept, and so is its hook's record.
    func terminate(_ id: String) throws {
        unlink(folder.uploadPath(id))
        try queue.change("DELETE FROM tus_upload WHERE id = ? AND finished_at IS NULL", [id])
    }

    func forget(_ id: String) throws {
        unlink(folder.uploadPath(id))
        try queue.change("DELETE FROM tus_upload WHERE id = ?", [id])
    }

    func expire(_ id: String) throws {
        unlink(folder.uploadPath(id))
        try change("is_expired = ?", [true], id)
    }

    /// The response of a successful finalize, without the token.
    func response(_ id: String) throws -> JSONValue? {
        let text = try queue.read { db in
            try String.fetchOne(db, sql: "SELECT response FROM tus_upload WHERE id = ?", arguments: [id])
        }
        return try text.map { try JSONValue(Array($0.utf8)) }
    }

    func remember(_ response: JSONValue, of id: String) throws { try change("response = ?", [response.text], id) }

    private func change(_ assignment: String, _ values: StatementArguments, _ id: String) throws {
        try queue.change("UPDATE tus_upload SET \(assignment) WHERE id = ?", values + [id])
    }
}

struct TusUpload: Sendable, SnakeCaseRecord {
    static let databaseTableName = "tus_upload"

    enum CodingKeys: CodingKey {
        case id, length, metadata, isPartial, parts, finishedAt, isExpired
    }

    var id: String
    var length: Int?
    /// In the form that ``TusMetadata`` reads.
    var metadata: String
    var isPartial: Bool
    /// IDs of the parts of a final upload.
    var parts: [String] = []
    /// Seconds since 1970; the post-finish hook starts then.
    var finishedAt: Double?
    var isExpired = false
    /// Nil if the file was removed.
    var offset: Int?

    var isFinal: Bool { !parts.isEmpty }
    var isComplete: Bool { offset != nil && offset == length }
}

/// Locks: one request per upload at a time.
final class BusyUploads: Sendable {
    private let ids = Mutex<Set<String>>([])

    /// False if another request holds the lock.
    func begin(_ id: String) -> Bool { ids.withLock { $0.insert(id).inserted } }

    func end(_ id: String) { ids.withLock { _ = $0.remove(id) } }
}

/// `Upload-Metadata`: keys with base64 values (tus 1.0.0, Creation).
struct TusMetadata: Sendable {
    private var pairs: [(key: String, value: [UInt8])] = []

    /// Skips invalid elements as tusd does; the last of several equal keys counts.
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

    subscript(key: String) -> String? {
        pairs.first { $0.key == key }.map { String(decoding: $0.value, as: UTF8.self) }
    }

    var header: String { pairs.map { "\($0.key) \(base64($0.value))" }.joined(separator: ",") }
}
