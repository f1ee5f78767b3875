import Foundation
import GRDB

/// One photo's row.
struct PhotoRecord: Sendable {
    var id: String
    /// Nil in the published build.
    var userID: String?
    /// The device it came from; nil makes it legacy.
    var deviceID: String?
    /// SHA-256 of the bytes as they were uploaded.
    var hash: String
    var name: String
    /// Below the photo folder, as `2024/01/IMG_0001.jpg`.
    var path: String
    /// Bytes as uploaded; the stored file is rewritten later.
    var size: Int
    var takenAt: GoTime
    var uploadedAt: GoTime
    var pixels: ImageFacts.Size?

    init(
        id: String,
        userID: String?,
        deviceID: String?,
        hash: String,
        name: String,
        path: String,
        size: Int,
        takenAt: GoTime,
        uploadedAt: GoTime,
        pixels: ImageFacts.Size?
    ) {
        self.id = id
        self.userID = userID
        self.deviceID = deviceID
        self.hash = hash
        self.name = name
        self.path = path
        self.size = size
        self.takenAt = takenAt
        self.uploadedAt = uploadedAt
        self.pixels = pixels
    }

    init(_ row: Row) {
        id = row["id"]
        userID = row["user_id"]
        deviceID = row["device_id"]
        hash = row["hash"]
        name = row["name"]
        path = row["path"]
        size = row["size"]
        takenAt = GoTime(microseconds: row["taken_at"])
        uploadedAt = GoTime(microseconds: row["uploaded_at"])
        if let width: Int = row["width"], let height: Int = row["height"] {
            pixels = ImageFacts.Size(width: width, height: height)
        }
    }

    func insert(_ db: Database) throws {
        try db.cachedStatement(
            sql: """
                INSERT INTO photo (id, user_id, device_id, hash, name, path, size, taken_at, uploaded_at, width, height)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """
        )
        .execute(
            arguments: [
                id, userID, deviceID, hash, name, path, size, takenAt.microseconds, uploadedAt.microseconds,
                pixels?.width, pixels?.height,
            ]
        )
    }
}

/// One user's row.
struct UserRecord: Sendable {
    var id: String
    var email: String
    var passwordHash: String?
    var isActive: Bool
    var createdAt: GoTime

    init(_ row: Row) {
        id = row["id"]
        email = row["email"]
        passwordHash = row["password_hash"]
        isActive = row["is_active"]
        createdAt = GoTime(microseconds: row["created_at"])
    }

    var json: JSONValue {
        [
            "id": .string(id),
            "email": .string(email),
            "displayName": .string(String(email.prefix { $0 != "@" })),
            "isAdmin": false,
            "createdAt": .string(createdAt.text),
            "isActive": .bool(isActive),
        ]
    }
}

/// One device's row.
struct DeviceRecord: Sendable {
    var id: String
    var userID: String
    var name: String
    var platform: String
    var registeredAt: GoTime
    var lastSeenAt: GoTime

    init(id: String, userID: String, name: String, platform: String, registeredAt: GoTime, lastSeenAt: GoTime) {
        self.id = id
        self.userID = userID
        self.name = name
        self.platform = platform
        self.registeredAt = registeredAt
        self.lastSeenAt = lastSeenAt
    }

    init(_ row: Row) {
        id = row["id"]
        userID = row["user_id"]
        name = row["name"]
        platform = row["platform"]
        registeredAt = GoTime(microseconds: row["registered_at"])
        lastSeenAt = GoTime(microseconds: row["last_seen_at"])
    }

    var json: JSONValue {
        [
            "id": .string(id),
            "deviceName": .string(name),
            "platform": .string(platform),
            "registeredAt": .string(registeredAt.text),
            "lastSeenAt": .string(lastSeenAt.text),
            "isActive": true,
        ]
    }
}

/// What the server makes of the names of files (photosync contract 3.6).
enum PhotoName {
    private static let types = [
        "jpg": "image/jpeg", "jpeg": "image/jpeg", "png": "image/png", "gif": "image/gif", "webp": "image/webp",
        "heic": "image/heic", "heif": "image/heif",
    ]

    /// The media type of a name's extension; nil for those that are refused.
    static func contentType(_ name: String) -> String? { types[fileExtension(name)] }

    private static func fileExtension(_ name: String) -> String {
        name.lastIndex(of: ".").map { name[name.index(after: $0)...].lowercased() } ?? ""
    }

    /// The base name, without `..` and without the characters that Windows forbids.
    static func sanitised(_ name: String) -> String {
        let base = name.split(separator: "/").last.map(String.init) ?? ""
        return String(base.replacing("..", with: "").map { "/\\:*?\"<>|".contains($0) ? "_" : $0 })
    }

    /// The name in the store: at most 200 bytes, the extension among them.
    static func stored(_ name: String) -> String {
        let name = sanitised(name)
        guard name.utf8.count > 200 else { return name }
        let suffix = name.lastIndex(of: ".").map { String(name[$0...]) } ?? ""
        var stem = name.dropLast(suffix.count)
        while stem.utf8.count + suffix.utf8.count > 200, !stem.isEmpty { stem.removeLast() }
        return stem + suffix
    }

    /// Whether a stored path stays below the photo folder.
    static func isSafe(_ path: String) -> Bool {
        !path.hasPrefix("/") && !path.isEmpty && !path.split(separator: "/").contains("..")
    }
}
