import Foundation
import GRDB

/// A record as the columns of its row. What a row has beside them, and a value that only a later version knows, stays as it
/// is (tapes contract 1.3): a change writes the columns that differ, and no others.
struct StoredColumns {
    let values: [(name: String, value: DatabaseValue)]

    init(_ values: KeyValuePairs<String, (any DatabaseValueConvertible)?>) {
        self.values = values.map { ($0.key, $0.value?.databaseValue ?? .null) }
    }

    /// Adds a row.
    func insert(into table: String, _ db: Database) throws {
        let names = values.map(\.name).joined(separator: ", ")
        let places = values.map { _ in "?" }.joined(separator: ", ")
        try db.cachedStatement(sql: "INSERT INTO \(table) (\(names)) VALUES (\(places))")
            .execute(arguments: StatementArguments(values.map(\.value)))
    }

    /// Changes the row of an id where it differs from what the same kind of record was before.
    ///
    /// - Returns: Whether anything differed.
    func update(_ table: String, id: String, from old: StoredColumns, _ db: Database) throws -> Bool {
        let changes = zip(values, old.values).filter { $0.value != $1.value }.map(\.0)
        guard !changes.isEmpty else { return false }
        let settings = changes.map { "\($0.name) = ?" }.joined(separator: ", ")
        try db.cachedStatement(sql: "UPDATE \(table) SET \(settings) WHERE id = ?")
            .execute(arguments: StatementArguments(changes.map(\.value) + [id.databaseValue]))
        return true
    }
}
