import GRDB

/// The table `origins` of a server: the devices that photos came from, and how many came from each, within one
/// transaction.
struct OriginTable {
    private struct Change {
        var present: Int64 = 0
        var gone: Int64 = 0

        mutating func add(_ present: Int64, _ gone: Int64) {
            self.present += present
            self.gone += gone
        }
    }

    private let db: Database
    private let server: Int64
    /// The origins in hand: most photos come from few devices, whose texts a page shares.
    private var recentDevices: [PhotoDevice?] = []
    private var recentNumbers: [Int64] = []
    private static let recentCount = 8
    private var numbers: [PhotoDevice?: Int64] = [:]
    private var changes: [Int64: Change] = [:]

    init(_ db: Database, server: Int64) throws {
        self.db = db
        self.server = server
    }

    /// The number of a device, or that of legacy photos. A device that has been renamed gets its new name.
    mutating func number(of device: PhotoDevice?) throws -> Int64 {
        if let place = recentDevices.firstIndex(of: device) { return recentNumbers[place] }
        let number = try numbers[device] ?? find(device)
        numbers[device] = number
        if recentDevices.count == Self.recentCount {
            recentDevices.removeFirst()
            recentNumbers.removeFirst()
        }
        recentDevices.append(device)
        recentNumbers.append(number)
        return number
    }

    private func find(_ device: PhotoDevice?) throws -> Int64 {
        let select = try db.cachedStatement(
            sql: "SELECT number, name IS ?3 AND platform IS ?4 FROM origins WHERE server = ?1 AND device_id IS ?2"
        )
        let arguments: StatementArguments = [server, device?.id, device?.name, device?.platform]
        guard let row = try Row.fetchOne(select, arguments: arguments) else {
            let insert = "INSERT INTO origins (server, device_id, name, platform) VALUES (?, ?, ?, ?)"
            try db.cachedStatement(sql: insert).execute(arguments: arguments)
            return db.lastInsertedRowID
        }
        let number: Int64 = row[0]
        if !(row[1] as Bool) {
            try db.cachedStatement(sql: "UPDATE origins SET name = ?, platform = ? WHERE number = ?")
                .execute(arguments: [device?.name, device?.platform, number])
        }
        return number
    }

    mutating func add(present: Int64, gone: Int64 = 0, to number: Int64) {
        changes[number, default: Change()].add(present, gone)
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

    /// Photos of the server that are not gone.
    static func presentCount(ofServer server: Int64, _ db: Database) throws -> Int64 {
        let statement = try db.cachedStatement(sql: "SELECT ifnull(sum(present), 0) FROM origins WHERE server = ?")
        return try Int64.fetchOne(statement, arguments: [server]) ?? 0
    }
}
