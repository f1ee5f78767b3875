import Foundation
import GRDB
import HTTPTypes
import HummingbirdCore
import NIOCore
import Synchronization

/// The sandbox's own routes about photos, below `/__sandbox/photosync/`; see `FaultSyntax.help`.
struct PhotoControl {
    let catalog: PhotoCatalog
    let rewriter: PhotoRewriter

    func response(_ method: HTTPRequest.Method, _ path: [String], _ request: Request) async throws -> Response {
        let body = Array(buffer: try await request.body.collect(upTo: 64 << 20))
        do {
            let fields = try GoFields(body: body.isEmpty ? Array("{}".utf8) : body)
            switch (method, path.first, path.count) {
            case (.get, "photos", 1): return .json(.ok, .array(try allPhotos()))
            case (.post, "photos", 1): return .json(.ok, ["ids": .array(try add(fields).map(JSONValue.string))])
            case (.patch, "photos", 2): return .changed(try change(path[1], fields))
            case (.post, "photos", 3) where path[2] == "file": return .changed(try damage(path[1], fields))
            case (.post, "photos", 3) where path[2] == "thumbnail":
                guard let photo = try catalog.photo(path[1]) else { return .changed(false) }
                try Self.content(fields).write(
                    to: URL(fileURLWithPath: catalog.folder.thumbnailPath(photo.id)),
                    options: .atomic
                )
                return .changed(true)
            case (.delete, "photos", 2): return .changed(try catalog.delete(path[1]))
            case (.post, "outage", 1):
                catalog.outage.begin(try fields.string("text"), json: try fields.string("json"))
                return .changed(true)
            case (.delete, "outage", 1):
                catalog.outage.end()
                return .changed(true)
            case (.post, "rewrite", 1): return .json(.ok, ["rewritten": .int(await rewriter.rewritePending())])
            case (.patch, "users", 2):
                let (isActive, key) = (try fields.bool("isActive"), try fields.string("apiKey"))
                return .changed(try catalog.change(userOf: path[1], isActive: isActive, key: key))
            default: return .webServerError(.notFound)
            }
        } catch is UnreadableJSON {
            return .json(.badRequest, ["error": "cannot read this JSON"])
        } catch let error as DatabaseError {
            return .json(.badRequest, ["error": .string(String(describing: error))])
        }
    }

    private func allPhotos() throws -> [JSONValue] {
        try catalog.queue.read { db in
            try Row.fetchAll(
                db,
                sql:
                    "SELECT photo.*, email FROM photo LEFT JOIN user ON user.id = user_id ORDER BY uploaded_at, photo.id"
            )
            .map { row in
                let photo = PhotoRecord(row: row)
                let email: String? = row["email"]
                return [
                    "id": .string(photo.id), "user": JSONValue(email), "device": JSONValue(photo.deviceID),
                    "fileHash": .string(photo.hash), "fileSize": .int(photo.size),
                    "originalFilename": .string(photo.name), "storedPath": .string(photo.path),
                    "dateTaken": .string(photo.takenAt.text), "uploadedAt": .string(photo.uploadedAt.text),
                ]
            }
        }
    }

    /// Adds one row or `count` of them, and returns up to a thousand IDs.
    private func add(_ fields: GoFields) throws -> [String] {
        try catalog.queue.write { db in
            let user = try owner(try fields.string("user") ?? catalog.settings.allUsers.first?.email ?? "", db)
            let device = try fields.string("device").flatMap { $0.isEmpty ? nil : $0 }
            if let count = try fields.int("count") { return try addMany(count, fields, user: user, device: device, db) }
            let id = newUUID()
            let content = try fields.string("content")
            let uploadedAt = try fields.time("uploadedAt") ?? .now()
            let takenAt = try fields.time("dateTaken") ?? uploadedAt
            let photo = PhotoRecord(
                id: id,
                userID: user,
                deviceID: device,
                hash: try fields.string("fileHash") ?? Digest.hex(of: content ?? id),
                name: try fields.string("originalFilename") ?? "IMG_1.jpg",
                path: try fields.string("storedPath") ?? "\(takenAt.folder)/\(id).jpg",
                size: try fields.int("fileSize") ?? (content ?? id).utf8.count,
                takenAt: takenAt,
                uploadedAt: uploadedAt
            )
            if let content, PhotoName.isSafe(photo.path) {
                try Data(content.utf8).write(to: URL(fileURLWithPath: try catalog.folder.makePhotoPath(photo.path)))
            }
            try photo.insert(db)
            return [id]
        }
    }

    /// Adds rows without files in SQLite alone: a hundred thousand per second.
    private func addMany(
        _ count: Int,
        _ fields: GoFields,
        user: String?,
        device: String?,
        _ db: Database
    ) throws -> [String] {
        // These values must be unique for each photo.
        for name in ["content", "fileHash", "storedPath", "originalFilename"] where try fields.string(name) != nil {
            throw UnreadableJSON()
        }
        let step = try fields.int("step") ?? 1000
        let start = Timestamp.now().microseconds - step * max(0, count - 1)
        let uploadedAt = try fields.time("uploadedAt") ?? Timestamp(microseconds: start)
        let takenAt = try fields.time("dateTaken") ?? uploadedAt
        let last = try Int.fetchOne(db, sql: "SELECT max(rowid) FROM photo") ?? 0
        try db.execute(
            sql: """
                WITH RECURSIVE number(i) AS (SELECT 0 WHERE ? > 0 UNION ALL SELECT i + 1 FROM number WHERE i + 1 < ?),
                named(i, hex) AS MATERIALIZED (SELECT i, lower(hex(randomblob(16))) FROM number)
                INSERT INTO photo (id, user_id, device_id, hash, name, path, size, taken_at, uploaded_at)
                SELECT substr(hex, 1, 8) || '-' || substr(hex, 9, 4) || '-' || substr(hex, 13, 4) || '-'
                        || substr(hex, 17, 4) || '-' || substr(hex, 21),
                    ?, ?, lower(hex(randomblob(32))), 'IMG_' || (i + 1) || '.jpg', ? || '/' || hex || '.jpg', 1000 + i,
                    ? + i * ?, ? + i * ?
                FROM named ORDER BY i
                """,
            arguments: [
                count, count, user, device, takenAt.folder, takenAt.microseconds, step, uploadedAt.microseconds, step,
            ]
        )
        let ids = "SELECT id FROM photo WHERE rowid > ? ORDER BY rowid LIMIT 1000"
        return try String.fetchAll(db, sql: ids, arguments: [last])
    }

    private func change(_ id: String, _ fields: GoFields) throws -> Bool {
        guard var photo = try catalog.photo(id) else { return false }
        photo.name = try fields.string("originalFilename") ?? photo.name
        photo.path = try fields.string("storedPath") ?? photo.path
        photo.hash = try fields.string("fileHash") ?? photo.hash
        photo.size = try fields.int("fileSize") ?? photo.size
        photo.uploadedAt = try fields.time("uploadedAt") ?? photo.uploadedAt
        photo.takenAt = try fields.time("dateTaken") ?? photo.takenAt
        if let device = try fields.string("device") { photo.deviceID = device.isEmpty ? nil : device }
        let email = try fields.string("user")
        try catalog.queue.write { db in
            if let email { photo.userID = try owner(email, db) }
            try db.execute(sql: "DELETE FROM photo WHERE id = ?", arguments: [id])
            try photo.insert(db)
        }
        return true
    }

    private func owner(_ email: String, _ db: Database) throws -> String? {
        guard !email.isEmpty else { return nil }
        guard let id = try String.fetchOne(db, sql: "SELECT id FROM user WHERE email = ?", arguments: [email]) else {
            throw DatabaseError(message: "no user \(email)")
        }
        return id
    }

    /// Damages the file of a photo, but not its row (photosync contract, new fact 2).
    private func damage(_ id: String, _ fields: GoFields) throws -> Bool {
        guard let file = try url(id) else { return false }
        switch try fields.string("action") {
        case "remove": return unlink(file.path) == 0
        case "empty": try Data().write(to: file, options: .atomic)
        case "truncate":
            let count = max(0, try fields.int("bytes") ?? 0)
            try Data(contentsOf: file).prefix(count).write(to: file, options: .atomic)
        case "replace": try Self.content(fields).write(to: file, options: .atomic)
        case "swap":
            guard let other = try url(try fields.string("with") ?? "") else { return false }
            let content = try Data(contentsOf: file)
            try Data(contentsOf: other).write(to: file, options: .atomic)
            try content.write(to: other, options: .atomic)
        default: throw UnreadableJSON()
        }
        return true
    }

    private func url(_ id: String) throws -> URL? {
        guard let photo = try catalog.photo(id), PhotoName.isSafe(photo.path) else { return nil }
        return URL(fileURLWithPath: catalog.folder.photoPath(photo.path))
    }

    private static func content(_ fields: GoFields) throws -> Data {
        guard let bytes = base64Bytes(try fields.string("base64") ?? "") else { throw UnreadableJSON() }
        return Data(bytes)
    }
}

/// An outage of PhotoSync's database: every route returns 500, in plain text unless a test sets JSON (photosync
/// contract, new fact 5, and 1.1 for the check of keys).
final class PhotoOutage: Sendable {
    private let current = Mutex<Response?>(nil)

    /// Nil while the database is available.
    var response: Response? { current.withLock { $0 } }

    func begin(_ text: String?, json: String?) {
        let response =
            json.map { Response.photoSyncError(.internalServerError, $0) }
            ?? text.map { Response.photoSyncText(.internalServerError, $0) } ?? .photoSyncDatabaseError
        current.withLock { $0 = response }
    }

    func end() { current.withLock { $0 = nil } }
}
