import GRDB

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
