import Foundation
import GRDB

struct PhotoRecord: Sendable {
    var id: String
    /// Nil in the published build.
    var userID: String?
    /// Nil for a legacy photo.
    var deviceID: String?
    /// SHA-256 of the bytes as they were uploaded.
    var hash: String
    var name: String
    /// Relative to the photo folder, such as `2024/01/IMG_0001.jpg`.
    var path: String
    /// Bytes as uploaded.
    var size: Int
    var takenAt: Timestamp
    var uploadedAt: Timestamp
    var pixels: ImageFacts.Size?

    func insert(_ db: Database) throws {
        try db.execute(
            sql: """
                INSERT INTO photo (id, user_id, device_id, hash, name, path, size, taken_at, uploaded_at, width, height)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """,
            arguments: [
                id, userID, deviceID, hash, name, path, size, takenAt.microseconds, uploadedAt.microseconds,
                pixels?.width, pixels?.height,
            ]
        )
    }
}

extension PhotoRecord: FetchableRecord, TableRecord {
    static let databaseTableName = "photo"

    init(row: Row) {
        id = row["id"]
        userID = row["user_id"]
        deviceID = row["device_id"]
        hash = row["hash"]
        name = row["name"]
        path = row["path"]
        size = row["size"]
        takenAt = Timestamp(microseconds: row["taken_at"])
        uploadedAt = Timestamp(microseconds: row["uploaded_at"])
        if let width: Int = row["width"], let height: Int = row["height"] {
            pixels = ImageFacts.Size(width: width, height: height)
        }
    }
}

struct UserRecord: Sendable, SnakeCaseRecord {
    static let databaseTableName = "user"

    var id: String
    var email: String
    var passwordHash: String?
    var isActive: Bool
    var createdAt: Timestamp

    var json: JSONValue {
        [
            "id": .string(id), "email": .string(email), "displayName": .string(String(email.prefix { $0 != "@" })),
            "isAdmin": false, "createdAt": .string(createdAt.text), "isActive": .bool(isActive),
        ]
    }
}

struct DeviceRecord: Sendable, SnakeCaseRecord {
    static let databaseTableName = "device"

    var id: String
    var userId: String
    var name: String
    var platform: String
    var fcmToken: String
    var registeredAt: Timestamp
    var lastSeenAt: Timestamp
    /// When the device last received a page with photos.
    var lastSyncAt: Timestamp?

    var json: JSONValue {
        [
            "id": .string(id), "deviceName": .string(name), "platform": .string(platform),
            "registeredAt": .string(registeredAt.text), "lastSeenAt": .string(lastSeenAt.text), "isActive": true,
        ]
    }
}

/// Names of files (photosync contract 3.6).
enum PhotoName {
    /// The type by extension; nil for extensions that are refused.
    static func contentType(_ name: String) -> String? {
        [
            "jpg": "image/jpeg", "jpeg": "image/jpeg", "png": "image/png", "gif": "image/gif", "webp": "image/webp",
            "heic": "image/heic", "heif": "image/heif",
        ][fileExtension(name)]
    }

    /// The base name, without `..` and without the characters that Windows forbids.
    static func sanitized(_ name: String) -> String {
        let base = name.split(separator: "/").last.map(String.init) ?? ""
        return String(base.replacing("..", with: "").map { "/\\:*?\"<>|".contains($0) ? "_" : $0 })
    }

    /// The name of the stored file: at most 200 bytes, including the extension.
    static func stored(_ name: String) -> String {
        let name = sanitized(name)
        let suffix = name.lastIndex(of: ".").map { name[$0...] } ?? ""
        var stem = name.dropLast(suffix.count)
        while stem.utf8.count + suffix.utf8.count > 200, !stem.isEmpty { stem.removeLast() }
        return String(stem + suffix)
    }

    /// Whether a path is below the folder of the photos.
    static func isSafe(_ path: String) -> Bool {
        !path.hasPrefix("/") && !path.isEmpty && !path.split(separator: "/").contains("..")
    }
}
