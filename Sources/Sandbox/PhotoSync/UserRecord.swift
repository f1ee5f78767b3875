import GRDB

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
