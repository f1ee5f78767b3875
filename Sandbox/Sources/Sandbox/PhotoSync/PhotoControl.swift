import Foundation
import GRDB
import HTTPTypes
import HummingbirdCore
import NIOCore

/// The sandbox's own routes about photos, below `/__sandbox/photosync/`; see `FaultSyntax.help`.
struct PhotoControl {
    static let prefix = "photosync/"

    let catalog: PhotoCatalog
    let rewriter: PhotoRewriter

    func reply(_ method: HTTPRequest.Method, _ path: [String], _ request: Request) async throws -> Reply {
        let body = Array(buffer: try await request.body.collect(upTo: 64 << 20))
        do {
            switch (method, path.first, path.count) {
            case (.get, "photos", 1): return .json(.ok, .array(try allPhotos()))
            case (.post, "photos", 1): return try add(body)
            case (.patch, "photos", 2): return try change(path[1], body)
            case (.post, "photos", 3) where path[2] == "file": return try damage(path[1], body)
            case (.post, "photos", 3) where path[2] == "thumbnail": return try addThumbnail(path[1], body)
            case (.delete, "photos", 2): return Self.changed(try catalog.delete(path[1]))
            case (.post, "purge", 1): return .json(.ok, ["deleted": .int(try catalog.purge())])
            case (.post, "outage", 1):
                let fields = try GoFields(body: body.isEmpty ? Array("{}".utf8) : body)
                catalog.outage.begin(try fields.string("text"), json: try fields.string("json"))
                return Self.changed(true)
            case (.delete, "outage", 1):
                catalog.outage.end()
                return Self.changed(true)
            case (.post, "settle", 1): return .json(.ok, ["rewritten": .int(await rewriter.settle())])
            case (.patch, "users", 2):
                let fields = try GoFields(body: body)
                return Self.changed(
                    try catalog.change(
                        userOf: path[1],
                        isActive: try fields.bool("isActive"),
                        key: try fields.string("apiKey")
                    )
                )
            default: return .webServerError(.notFound)
            }
        } catch is UnreadableJSON {
            return .json(.badRequest, ["error": "cannot read this JSON"])
        } catch let error as DatabaseError {
            return .json(.badRequest, ["error": .string(String(describing: error))])
        }
    }

    static func changed(_ isDone: Bool) -> Reply {
        isDone ? .json(.ok, ["changed": 1]) : .webServerError(.notFound)
    }

    // MARK: Reading

    private func allPhotos() throws -> [JSONValue] {
        try catalog.queue.read { db in
            try Row.fetchAll(
                db,
                sql: """
                    SELECT photo.*, email FROM photo LEFT JOIN user ON user.id = user_id ORDER BY uploaded_at, photo.id
                    """
            )
            .map { row in
                let photo = PhotoRecord(row)
                let email: String? = row["email"]
                return [
                    "id": .string(photo.id),
                    "user": JSONValue(email),
                    "device": JSONValue(photo.deviceID),
                    "fileHash": .string(photo.hash),
                    "fileSize": .int(photo.size),
                    "originalFilename": .string(photo.name),
                    "storedPath": .string(photo.path),
                    "dateTaken": .string(photo.takenAt.text),
                    "uploadedAt": .string(photo.uploadedAt.text),
                ]
            }
        }
    }

    // MARK: Writing

    /// Adds a row, or as many as `count` says; the ids of up to a thousand come back.
    private func add(_ body: [UInt8]) throws -> Reply {
        let fields = try GoFields(body: body)
        let ids = try catalog.queue.write { db in
            let user = try owner(try fields.string("user") ?? catalog.settings.users.first?.email ?? "", db)
            let device = try fields.string("device").flatMap { $0.isEmpty ? nil : $0 }
            guard let count = try fields.int("count") else {
                let photo = try newPhoto(fields, user: user, device: device)
                try photo.insert(db)
                return [photo.id]
            }
            return try addMany(count, fields, user: user, device: device, db)
        }
        return .json(.ok, ["ids": .array(ids.map(JSONValue.string))])
    }

    private func newPhoto(_ fields: GoFields, user: String?, device: String?) throws -> PhotoRecord {
        let id = PhotoCatalog.newID()
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
            uploadedAt: uploadedAt,
            pixels: nil
        )
        if let content, PhotoName.isSafe(photo.path) {
            try Data(content.utf8).write(to: URL(fileURLWithPath: try catalog.folder.makePhotoPath(photo.path)))
        }
        return photo
    }

    /// Rows without files, made by SQLite: a hundred thousand in a second.
    private func addMany(
        _ count: Int,
        _ fields: GoFields,
        user: String?,
        device: String?,
        _ db: Database
    ) throws -> [String] {
        // What can only be true of one photo.
        for name in ["content", "fileHash", "storedPath", "originalFilename"] where try fields.string(name) != nil {
            throw UnreadableJSON()
        }
        let step = try fields.int("step") ?? 1000
        let uploadedAt =
            try fields.time("uploadedAt") ?? GoTime.now().advanced(byMicroseconds: -step * max(0, count - 1))
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
        return try String.fetchAll(
            db,
            sql: "SELECT id FROM photo WHERE rowid > ? ORDER BY rowid LIMIT 1000",
            arguments: [last]
        )
    }

    private func change(_ id: String, _ body: [UInt8]) throws -> Reply {
        let fields = try GoFields(body: body)
        guard var photo = try catalog.photo(id) else { return .webServerError(.notFound) }
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
        return Self.changed(true)
    }

    /// Nobody for an empty address.
    private func owner(_ email: String, _ db: Database) throws -> String? {
        guard !email.isEmpty else { return nil }
        guard let id = try String.fetchOne(db, sql: "SELECT id FROM user WHERE email = ?", arguments: [email]) else {
            throw DatabaseError(message: "no user \(email)")
        }
        return id
    }
}
