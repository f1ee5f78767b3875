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
            case (.delete, "photos", 2): return Self.changed(try catalog.delete(path[1]))
            case (.post, "purge", 1): return .json(.ok, ["deleted": .int(try catalog.purge())])
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

    private static func changed(_ isDone: Bool) -> Reply {
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
                    "user": email.map(JSONValue.string) ?? .null,
                    "device": photo.deviceID.map(JSONValue.string) ?? .null,
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

    /// Adds rows; the ids of up to a thousand come back.
    private func add(_ body: [UInt8]) throws -> Reply {
        let fields = try GoFields(body: body)
        let count = try fields.int("count") ?? 1
        let step = try fields.int("step") ?? 1000
        let now = GoTime.now()
        let uploadedAt = try fields.time("uploadedAt") ?? now.advanced(byMicroseconds: -step * (count - 1))
        let takenAt = try fields.time("dateTaken") ?? uploadedAt
        var ids: [JSONValue] = []
        try catalog.queue.write { db in
            let user = try owner(try fields.string("user") ?? catalog.settings.users.first?.email ?? "", db)
            for index in 0..<max(0, count) {
                let photo = try newPhoto(fields, index, user: user, takenAt, uploadedAt, step: step)
                try photo.insert(db)
                if ids.count < 1000 { ids.append(.string(photo.id)) }
            }
        }
        return .json(.ok, ["ids": .array(ids)])
    }

    private func newPhoto(
        _ fields: GoFields,
        _ index: Int,
        user: String?,
        _ takenAt: GoTime,
        _ uploadedAt: GoTime,
        step: Int
    ) throws -> PhotoRecord {
        let id = PhotoCatalog.newID()
        let takenAt = takenAt.advanced(byMicroseconds: index * step)
        let content = try fields.string("content")
        let name = try fields.string("originalFilename") ?? "IMG_\(index + 1).jpg"
        let photo = PhotoRecord(
            id: id,
            userID: user,
            deviceID: try fields.string("device").flatMap { $0.isEmpty ? nil : $0 },
            hash: try fields.string("fileHash") ?? Digest.hex(of: content ?? id),
            name: name,
            path: try fields.string("storedPath") ?? "\(takenAt.folder)/\(id).jpg",
            size: try fields.int("fileSize") ?? (content ?? id).utf8.count,
            takenAt: takenAt,
            uploadedAt: uploadedAt.advanced(byMicroseconds: index * step),
            pixels: nil
        )
        if let content, PhotoName.isSafe(photo.path) {
            let path = catalog.folder.photoPath(photo.path)
            try FileManager.default.createDirectory(
                atPath: (path as NSString).deletingLastPathComponent,
                withIntermediateDirectories: true
            )
            try Data(content.utf8).write(to: URL(fileURLWithPath: path))
        }
        return photo
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
