import Foundation
import GRDB

extension SyncIndex {
    /// Calls `body` with the photos that match, oldest upload first (by time, then ID), in blocks of up to 500, so
    /// little memory is needed. Writers are not blocked, and a block includes the rows they wrote before it was read.
    /// Errors thrown by `body` are rethrown.
    public func forEachBlock(
        of server: String,
        where filter: PhotoFilter,
        _ body: ([PhotoRecord]) throws -> Void
    ) throws {
        var last: PhotoRecord?
        while let block = try block(of: server, where: filter, after: last) {
            last = block.last
            try body(block)
        }
    }

    /// The next block of `forEachBlock` after a photo, the last one of the previous block; nil if none follows.
    package func block(
        of server: String,
        where filter: PhotoFilter,
        after last: PhotoRecord?
    ) throws(StoreError) -> [PhotoRecord]? {
        let block = try connection.readBeside { db -> [PhotoRecord] in
            guard let number = try ServerRow.number(of: server, db) else { return [] }
            return try PhotoBlock(filter: filter, server: number, last: last).read(db)
        }
        return block.isEmpty ? nil : block
    }

    /// The photos with these IDs that are not gone, or those that are gone if `areGone` is true, in no particular
    /// order.
    public func photos(_ ids: [String], of server: String, areGone: Bool = false) throws(StoreError) -> [PhotoRecord] {
        // An unfinished run that added many photos leaves them without this index.
        try photos(ids, areGone, of: server, column: "id", PhotoIndexes.ids, PhotoCoding.id) { _ = try $0.finishIDs() }
    }

    /// The photos with these SHA-256 digests (64 lowercase hexadecimal characters) that are not gone, or those that are
    /// gone if `areGone` is true. The first call after a large run takes a few seconds for a million photos: it builds
    /// an index.
    public func photos(
        withDigests digests: [String],
        of server: String,
        areGone: Bool = false
    ) throws(StoreError) -> [PhotoRecord] {
        try photos(digests, areGone, of: server, column: "digest", PhotoIndexes.digests, PhotoCoding.digest) {
            try $0.createDigests()
        }
    }

    private func photos(
        _ keys: [String],
        _ areGone: Bool,
        of server: String,
        column: String,
        _ index: String,
        _ pack: (String) -> RawValue,
        build: (PhotoIndexes) throws -> Void
    ) throws(StoreError) -> [PhotoRecord] {
        if try !connection.readBeside({ try PhotoIndexes($0).has(index) }) {
            try connection.write { try build(PhotoIndexes($0)) }
        }
        return try connection.readBeside { db in
            guard let number = try ServerRow.number(of: server, db) else { return [] }
            // Checked again: another process may have begun such a run.
            let source = try PhotoIndexes(db).has(index) ? index : ""
            let condition = "photos.server = ?1 AND photos.\(column) = ?2 AND is_gone = \(areGone ? 1 : 0)"
            let reader = try PhotoReader(db, index: source, where: condition)
            return try Set(keys).flatMap { try reader.read([.integer(number), pack($0)]) }
        }
    }

    /// Records that a claim has assigned photos to a device; photos that are not in the index are ignored.
    public func setOrigin(_ device: PhotoDevice, ofPhotos ids: [String], server: String) throws(StoreError) {
        try connection.write { db in
            guard let number = try ServerRow.number(of: server, db) else { return }
            _ = try PhotoIndexes(db).finishIDs()
            var origins = OriginTable(db, server: number)
            let origin = try origins.number(of: device)
            let update = try RawStatement(db, "UPDATE photos SET origin = ?1 WHERE number = ?2")
            for photo in try Self.numbers(of: ids, server: number, db) {
                origins.add(present: photo.gone - 1, gone: -photo.gone, to: photo.origin)
                origins.add(present: 1 - photo.gone, gone: photo.gone, to: origin)
                try update.run([.integer(origin), .integer(photo.number)])
            }
            try origins.save()
        }
    }
}

extension SyncIndex {
    /// Marks as gone the photos that this process has deleted on the server, so a full run is not needed to detect the
    /// deletions. Photos that are not in the index are skipped.
    ///
    /// - Returns: False, with nothing changed, while a run is unfinished: the number of photos that it has seen may
    ///   include these.
    public func markGone(_ ids: [String], of server: String) throws(StoreError) -> Bool {
        try drop(ids, of: server, gone: 1, by: "UPDATE photos SET is_gone = 1 WHERE number = ?1")
    }

    /// Removes photos that now have a different ID on the server, as after a repair. They were not deleted.
    ///
    /// - Returns: As for `markGone`.
    public func remove(_ ids: [String], of server: String) throws(StoreError) -> Bool {
        try drop(ids, of: server, gone: 0, by: "DELETE FROM photos WHERE number = ?1")
    }

    private func drop(_ ids: [String], of server: String, gone: Int64, by change: String) throws(StoreError) -> Bool {
        try connection.write { db in
            guard let number = try ServerRow.number(of: server, db) else { return true }
            guard try RunRow.fetch(ofServer: number, db) == nil else { return false }
            _ = try PhotoIndexes(db).finishIDs()
            var origins = OriginTable(db, server: number)
            let update = try RawStatement(db, change)
            for photo in try Self.numbers(of: ids, server: number, db) where photo.gone == 0 {
                origins.add(present: -1, gone: gone, to: photo.origin)
                try update.run([.integer(photo.number)])
            }
            try origins.save()
            return true
        }
    }

    /// The rows of photos: their numbers, the numbers of their origins, and 1 for a photo that is gone. IDs that are not
    /// in the index are skipped.
    private static func numbers(
        of ids: [String],
        server: Int64,
        _ db: Database
    ) throws -> [(number: Int64, origin: Int64, gone: Int64)] {
        let select = try RawStatement(db, "SELECT number, origin, is_gone FROM photos WHERE server = ?1 AND id = ?2")
        return try Set(ids).flatMap { id in
            try select.map([.integer(server), PhotoCoding.id(id)]) {
                (number: $0.integer(0), origin: $0.integer(1), gone: $0.integer(2))
            }
        }
    }
}

/// Up to 500 photos on a server, in the order of their upload.
private struct PhotoBlock {
    let filter: PhotoFilter
    let server: Int64
    /// The last photo of the previous block.
    let last: PhotoRecord?

    func read(_ db: Database) throws -> [PhotoRecord] {
        let reader = try PhotoReader(
            db,
            index: "photos_by_upload",
            where: """
                photos.server = ?1 AND is_gone = ?2 AND \(start) AND \(origin)
                """,
            ending: "ORDER BY uploaded_us, photos.id LIMIT 500"
        )
        return try reader.read([
            .integer(server), .integer(filter.isGone ? 1 : 0),
            .integer((last?.uploadedAt ?? filter.uploadedSince)?.microseconds ?? .min),
            last.map { PhotoCoding.id($0.id) } ?? .null, deviceID.map(RawValue.text) ?? .null,
        ])
    }

    /// At or after the requested time, or after the previous block.
    private var start: String {
        last == nil ? "uploaded_us >= ?3" : "(uploaded_us, photos.id) > (?3, ?4)"
    }

    private var deviceID: String? {
        switch filter.origin {
        case .device(let id): id
        case .otherThan(let id): id
        case .any, .legacy: nil
        }
    }

    private var origin: String {
        switch filter.origin {
        case .any: "true"
        case .device: "device_id = ?5"
        case .otherThan(nil): "device_id IS NOT NULL"
        case .otherThan: "device_id <> ?5"
        case .legacy: "device_id IS NULL"
        }
    }
}

/// The photos that a run has seen: one bit per photo number, in chunks of 512 bytes, within one transaction.
struct SeenPhotos {
    static let chunkSize: Int64 = 4096

    private let db: Database
    private let server: Int64
    private let select: Statement
    /// The current chunk; consecutive photos have consecutive numbers.
    private var chunk: Int64 = -1
    private var bits: [UInt8] = []
    private var isChanged = false

    init(_ db: Database, server: Int64) throws {
        self.db = db
        self.server = server
        select = try db.cachedStatement(sql: "SELECT bits FROM seen WHERE server = ? AND chunk = ?")
    }

    /// - Returns: Whether the photo had not been seen before.
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
            // A chunk of a different length is damaged; missing bits count as not seen.
            bits = Array((known ?? Data()).prefix(512))
            bits += [UInt8](repeating: 0, count: 512 - bits.count)
            chunk = wanted
        }
        return (Int(rest >> 3), 1 << UInt8(rest & 7))
    }

    /// Writes the current chunk if it has changed.
    mutating func save() throws {
        guard isChanged else { return }
        try db.cachedStatement(sql: "INSERT OR REPLACE INTO seen (server, chunk, bits) VALUES (?, ?, ?)")
            .execute(arguments: [server, chunk, Data(bits)])
        isChanged = false
    }
}

extension SeenPhotos {
    /// Marks the photos that a full run has not seen as gone, and returns their number. If the number of photos present
    /// equals the number that the run has seen, no photo is gone.
    mutating func markOthersGone(seen count: Int64) throws -> Int64 {
        guard try OriginTable.presentCount(ofServer: server, db) != count else { return 0 }
        let last = try Int64.fetchOne(db, sql: "SELECT max(number) FROM photos") ?? 0
        var origins = OriginTable(db, server: server)
        let update = try db.cachedStatement(sql: "UPDATE photos SET is_gone = 1 WHERE number = ?")
        // The plus prevents SQLite from scanning all of the server's photos for each chunk.
        let select = try db.cachedStatement(
            sql: "SELECT number, origin FROM photos WHERE number BETWEEN ? AND ? AND +server = ? AND is_gone = 0"
        )
        var marked: Int64 = 0
        for first in stride(from: 0, through: last, by: Int(Self.chunkSize)) {
            let photos = try Row.fetchAll(select, arguments: [first, first + Self.chunkSize - 1, server])
            for photo in photos where try !contains(photo[0]) {
                try update.execute(arguments: [photo[0] as Int64])
                origins.add(present: -1, gone: 1, to: photo[1])
                marked += 1
            }
        }
        try origins.save()
        return marked
    }
}
