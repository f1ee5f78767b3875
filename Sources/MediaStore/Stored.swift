import Foundation
import GRDB

/// A value that is a row of one table. Its coding keys are the names of the columns.
protocol Storable: Codable {
    static var table: String { get }

    /// Sets values that depend on more than one column, or on the version that wrote the row.
    mutating func complete(from row: Row)
}

extension Storable {
    mutating func complete(from row: Row) {}
}

/// The row of a value, as read and written by GRDB. The values themselves cannot conform, because they are public and
/// GRDB is not.
struct Stored<Value: Storable>: Codable, FetchableRecord, PersistableRecord {
    static var databaseTableName: String { Value.table }

    var value: Value

    init(_ value: Value) {
        self.value = value
    }

    init(from decoder: any Decoder) throws {
        value = try Value(from: decoder)
    }

    func encode(to encoder: any Encoder) throws { try value.encode(to: encoder) }

    /// - Throws: `UnreadableRow` for a value that no version could have written.
    init(row: Row) throws {
        do {
            value = try FetchableRecordDecoder().decode(Self.self, from: row).value
        } catch {
            throw UnreadableRow(row, of: Value.table, error)
        }
        value.complete(from: row)
    }

    static func databaseJSONEncoder(for column: String) -> JSONEncoder { ColumnJSON.encoder }

    static func databaseJSONDecoder(for column: String) -> JSONDecoder { ColumnJSON.decoder }

    static func select(where condition: String) -> String { "SELECT * FROM \(Value.table) WHERE \(condition)" }

    /// The rows that match, read by a statement that is compiled only once. The condition may end with `ORDER BY`.
    static func values(
        _ db: Database,
        where condition: String,
        _ arguments: StatementArguments = []
    ) throws -> [Value] {
        try fetchAll(db.cachedStatement(sql: select(where: condition)), arguments: arguments).map(\.value)
    }
}

/// A row that is intact but has a value that no version could have written. The first column identifies it.
struct UnreadableRow: Error {
    let detail: String

    init(_ row: Row, of table: String, _ error: any Error) {
        let path: [any CodingKey] =
            switch error as? DecodingError {
            case .dataCorrupted(let context), .typeMismatch(_, let context), .valueNotFound(_, let context),
                .keyNotFound(_, let context):
                context.codingPath
            default: []
            }
        let key = String.fromDatabaseValue(row[0]) ?? "\(row[0] as DatabaseValue)"
        detail = "\(table): row \(key) has an unknown \(path.last?.stringValue ?? "value")"
    }
}

enum ColumnJSON {
    static var encoder: JSONEncoder {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return encoder
    }

    static var decoder: JSONDecoder { JSONDecoder() }
}

/// A text to which later versions may add values.
protocol Extensible: RawRepresentable<String>, Codable {
    /// The value for an unknown text if one is required.
    static var unknown: Self { get }
}

// The column formats of types that Codable would encode differently. Synthesized conformances use these.

extension KeyedDecodingContainer {
    func decode(_: Date.Type, forKey key: Key) throws -> Date {
        Date(milliseconds: try decode(Int64.self, forKey: key))
    }

    func decodeIfPresent(_: Date.Type, forKey key: Key) throws -> Date? {
        try decodeIfPresent(Int64.self, forKey: key).map(Date.init(milliseconds:))
    }

    func decode(_: [UInt8].Type, forKey key: Key) throws -> [UInt8] { [UInt8](try decode(Data.self, forKey: key)) }

    func decodeIfPresent(_: [UInt8].Type, forKey key: Key) throws -> [UInt8]? {
        try decodeIfPresent(Data.self, forKey: key).map { [UInt8]($0) }
    }

    /// GRDB's own error does not contain the column.
    func decodeIfPresent(_: UInt32.Type, forKey key: Key) throws -> UInt32? {
        guard let number = try decodeIfPresent(Int64.self, forKey: key) else { return nil }
        guard let value = UInt32(exactly: number) else {
            throw DecodingError.dataCorruptedError(forKey: key, in: self, debugDescription: "out of range")
        }
        return value
    }

    func decode<Text: Extensible>(_: Text.Type, forKey key: Key) throws -> Text {
        Text(rawValue: try decode(String.self, forKey: key)) ?? .unknown
    }

    func decodeIfPresent<Text: Extensible>(_: Text.Type, forKey key: Key) throws -> Text? {
        try decodeIfPresent(String.self, forKey: key).flatMap(Text.init(rawValue:))
    }
}

extension KeyedEncodingContainer {
    mutating func encode(_ date: Date, forKey key: Key) throws { try encode(date.milliseconds, forKey: key) }

    mutating func encodeIfPresent(_ date: Date?, forKey key: Key) throws {
        try encodeIfPresent(date?.milliseconds, forKey: key)
    }

    mutating func encode(_ bytes: [UInt8], forKey key: Key) throws { try encode(Data(bytes), forKey: key) }

    mutating func encodeIfPresent(_ bytes: [UInt8]?, forKey key: Key) throws {
        try encodeIfPresent(bytes.map { Data($0) }, forKey: key)
    }
}

extension Date {
    /// The stored times that are valid: the years 0 to 9999, as in RFC 3339, which an import may contain.
    static let validMilliseconds: ClosedRange<Int64> = -62_167_219_200_000...253_402_300_799_999

    /// As stored: milliseconds since 1970, or the nearest number that can be stored.
    var milliseconds: Int64 {
        let milliseconds = (timeIntervalSince1970 * 1000).rounded()
        return Int64(exactly: milliseconds) ?? (milliseconds < 0 ? .min : .max)
    }

    init(milliseconds: Int64) {
        self.init(timeIntervalSince1970: Double(milliseconds) / 1000)
    }
}
