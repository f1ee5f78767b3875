import Foundation
import GRDB

/// Which photos a run has seen: a bit for each number of a photo, in chunks of 512 bytes, within one transaction.
struct SeenPhotos {
    static let chunkSize: Int64 = 4096

    private let db: Database
    private let server: Int64
    private let select: Statement
    /// The chunk in hand; photos that follow each other have numbers that do.
    private var chunk: Int64 = -1
    private var bits: [UInt8] = []
    private var isChanged = false

    init(_ db: Database, server: Int64) throws {
        self.db = db
        self.server = server
        select = try db.cachedStatement(sql: "SELECT bits FROM seen WHERE server = ? AND chunk = ?")
    }

    /// - Returns: Whether it had not been seen before.
    mutating func insert(_ number: Int64) throws -> Bool {
        let (byte, bit) = try place(of: number)
        guard bits[byte] & bit == 0 else { return false }
        bits[byte] |= bit
        isChanged = true
        return true
    }

    mutating func contains(_ number: Int64) throws -> Bool {
        let (byte, bit) = try place(of: number)
        return bits[byte] & bit != 0
    }

    private mutating func place(of number: Int64) throws -> (byte: Int, bit: UInt8) {
        let (wanted, rest) = number.quotientAndRemainder(dividingBy: Self.chunkSize)
        if wanted != chunk {
            try save()
            let known = try Data.fetchOne(select, arguments: [server, wanted])
            // A chunk of another length is damage; what it does not say counts as not seen.
            bits = Array((known ?? Data()).prefix(512))
            bits += [UInt8](repeating: 0, count: 512 - bits.count)
            chunk = wanted
        }
        return (Int(rest >> 3), 1 << UInt8(rest & 7))
    }

    /// Writes what has changed.
    mutating func save() throws {
        guard isChanged else { return }
        try db.cachedStatement(sql: "INSERT OR REPLACE INTO seen (server, chunk, bits) VALUES (?, ?, ?)")
            .execute(arguments: [server, chunk, Data(bits)])
        isChanged = false
    }
}
