import GRDB

extension Catalog {
    /// The event of a date and an organization; nil when there is none.
    func event(of fields: UploadFields, _ db: Database) throws -> Int? {
        let key = OrganizationName.key(OrganizationName.stored(fields.orgName, dialect))
        let rows = try Row.fetchAll(
            db,
            sql: "SELECT id, org_name FROM event WHERE event_date = ? ORDER BY id",
            arguments: [fields.eventDate]
        )
        return rows.first { OrganizationName.key($0["org_name"]) == key }?["id"]
    }

    /// The event of an upload, created when there is none. Throws ``UploadFields/Refusal`` for a text that is too long.
    func ensureEvent(_ fields: UploadFields, _ db: Database) throws -> Int {
        if let existing = try event(of: fields, db) {
            if !fields.keywords.isEmpty {
                try db.execute(
                    sql: "UPDATE event SET keywords = ? WHERE id = ?",
                    arguments: [fields.keywords, existing]
                )
            }
            return existing
        }
        // The column of an existing event is not written (trap T26).
        guard fields.location.unicodeScalars.count <= 255 else {
            throw UploadFields.Refusal.database(UploadFields.tooLong("location"))
        }
        try db.execute(
            sql: """
                INSERT INTO event (event_date, org_name, event_type, keywords, location, rating, notes)
                VALUES (?, ?, ?, ?, ?, ?, ?)
                """,
            arguments: [
                fields.eventDate, OrganizationName.stored(fields.orgName, dialect), fields.eventType, fields.keywords,
                fields.location, fields.rating, fields.notes,
            ]
        )
        return Int(db.lastInsertedRowID)
    }
}
