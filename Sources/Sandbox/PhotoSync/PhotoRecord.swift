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
