import GRDB

/// Stores the photos of one page of a run, within one transaction and by its thread.
final class PhotoWriter {
    /// The result of a page.
    struct Outcome {
        /// Photos that the run had not seen before.
        var seen: Int64 = 0
        var added: Int64 = 0
        var changed: Int64 = 0
        /// The latest `uploadedAt` up to the horizon.
        var latest: PhotoTime?
    }

    /// A photo in the index.
    private struct Known {
        let number: Int64
        let origin: Int64
        let isGone: Bool
        /// Whether the photo is unchanged except for its origin.
        let isSame: Bool

        init(_ row: RawStatement) {
            number = row.integer(0)
            origin = row.integer(1)
            isGone = row.integer(2) != 0
            isSame = row.integer(3) != 0
        }
    }

    private(set) var outcome = Outcome()
    private let server: Int64
    private let horizon: Int64
    private var origins: OriginTable
    private var seen: SeenPhotos
    private let findByUpload: RawStatement
    private let findByID: RawStatement?
    private let insert: RawStatement
    private let update: RawStatement
    private let move: RawStatement

    /// `hasIDs` is whether the index on IDs exists. Without it, a photo whose `uploadedAt` has changed is stored
    /// twice, until `PhotoIndexes.finishIDs`.
    init(_ db: Database, server: Int64, horizon: Int64, hasIDs: Bool) throws {
        self.server = server
        self.horizon = horizon
        origins = OriginTable(db, server: server)
        seen = try SeenPhotos(db, server: server)
        findByUpload = try RawStatement(db, PhotoSQL.findByUpload)
        findByID = hasIDs ? try RawStatement(db, PhotoSQL.findByID) : nil
        insert = try RawStatement(db, PhotoSQL.insert)
        update = try RawStatement(db, PhotoSQL.update)
        move = try RawStatement(db, PhotoSQL.move)
    }

    /// Stores a page. Call it only once.
    func store(_ page: [PhotoRecord]) throws {
        for photo in page {
            if photo.uploadedAt.microseconds <= horizon {
                outcome.latest = max(photo.uploadedAt, outcome.latest ?? photo.uploadedAt)
            }
            let origin = try origins.number(of: photo.originDevice)
            let values = PhotoSQL.values(of: photo, server: server, origin: origin)
            // Without the index on IDs, most photos are new. A known photo is not inserted.
            var isAdded = try findByID == nil && insert.run(values) == 1
            if !isAdded {
                if let known = try findByUpload.map(values, Known.init).first {
                    try note(known, values, origin, with: update)
                } else if let known = try findByID?.map(values, Known.init).first {
                    try note(known, values, origin, with: move)
                } else {
                    isAdded = try insert.run(values) == 1
                }
            }
            guard isAdded else { continue }
            outcome.added += 1
            origins.add(present: 1, to: origin)
            if try seen.insert(insert.insertedNumber) { outcome.seen += 1 }
        }
        try seen.save()
        try origins.save()
    }

    private func note(_ known: Known, _ values: [RawValue], _ origin: Int64, with statement: RawStatement) throws {
        let isNew = try seen.insert(known.number)
        if isNew { outcome.seen += 1 }
        guard !known.isSame || known.isGone || known.origin != origin else { return }
        if isNew { outcome.changed += 1 }
        origins.add(present: known.isGone ? 0 : -1, gone: known.isGone ? -1 : 0, to: known.origin)
        origins.add(present: 1, to: origin)
        try statement.run(values + [.integer(known.number)])
    }
}

/// The table `origins` of a server: the devices that photos came from, and the number of photos of each,
/// within one transaction.
struct OriginTable {
    private let db: Database
    private let server: Int64
    private var numbers: [PhotoDevice?: Int64] = [:]
    /// The device of the last lookup: most photos have the same one as the previous photo.
    private var last: (device: PhotoDevice?, number: Int64)?
    private var changes: [Int64: (present: Int64, gone: Int64)] = [:]

    init(_ db: Database, server: Int64) {
        self.db = db
        self.server = server
    }

    /// The number of a device, or the number for legacy photos. A device that has been renamed gets its new name.
    mutating func number(of device: PhotoDevice?) throws -> Int64 {
        if let last, last.device == device { return last.number }
        let number = try numbers[device] ?? find(device)
        numbers[device] = number
        last = (device, number)
        return number
    }

    private func find(_ device: PhotoDevice?) throws -> Int64 {
        let select = try db.cachedStatement(
            sql: """
                SELECT number, name IS ?3 AND platform IS ?4 AS is_same FROM origins
                WHERE server = ?1 AND device_id IS ?2
                """
        )
        let arguments: StatementArguments = [server, device?.id, device?.name, device?.platform]
        guard let row = try Row.fetchOne(select, arguments: arguments) else {
            let insert = "INSERT INTO origins (server, device_id, name, platform) VALUES (?, ?, ?, ?)"
            try db.cachedStatement(sql: insert).execute(arguments: arguments)
            return db.lastInsertedRowID
        }
        let (number, isSame): (Int64, Bool) = (row["number"], row["is_same"])
        if !isSame {
            try db.cachedStatement(sql: "UPDATE origins SET name = ?, platform = ? WHERE number = ?")
                .execute(arguments: [device?.name, device?.platform, number])
        }
        return number
    }

    mutating func add(present: Int64, gone: Int64 = 0, to number: Int64) {
        let change = changes[number] ?? (0, 0)
        changes[number] = (change.present + present, change.gone + gone)
    }

    /// Writes the counts that have changed.
    mutating func save() throws {
        let update = try db.cachedStatement(
            sql: "UPDATE origins SET present = present + ?, gone = gone + ? WHERE number = ?"
        )
        for (number, change) in changes where change.present != 0 || change.gone != 0 {
            try update.execute(arguments: [change.present, change.gone, number])
        }
        changes = [:]
    }

    /// Number of photos on the server that are not gone.
    static func presentCount(ofServer server: Int64, _ db: Database) throws -> Int64 {
        let statement = try db.cachedStatement(sql: "SELECT ifnull(sum(present), 0) FROM origins WHERE server = ?")
        return try Int64.fetchOne(statement, arguments: [server]) ?? 0
    }
}
