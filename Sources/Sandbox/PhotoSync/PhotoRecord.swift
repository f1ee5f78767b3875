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
