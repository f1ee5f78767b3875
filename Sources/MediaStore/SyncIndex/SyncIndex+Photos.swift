import Foundation
import GRDB

extension SyncIndex {
    /// Calls `body` with the photos that match, oldest upload first (by time, then id), a block of up to 500 at a time,
    /// so that memory stays flat. Writers are not held up, and a block shows what they have written before it. What
    /// `body` throws is rethrown.
    public func forEachBlock(
        of server: String,
        where filter: PhotoFilter,
        _ body: ([PhotoRecord]) throws -> Void
    ) throws {
        var position: PhotoBlock.Position?
        while true {
            let block = try read { db -> [PhotoRecord] in
                guard let number = try ServerRow.number(of: server, db) else { return [] }
                return try PhotoBlock(filter: filter, server: number, after: position).read(db)
            }
            guard let last = block.last else { return }
            position = PhotoBlock.Position(last)
            try body(block)
        }
    }

    /// The photos with these ids that are not gone, or those that are, in no particular order.
    public func photos(
        _ ids: [String],
        of server: String,
        areGone: Bool = false
    ) throws(StoreError) -> [PhotoRecord] {
        // A run that brought many photos and did not end has left them without.
        if try !read({ try PhotoIndexes($0).hasIDs() }) { _ = try write { try PhotoIndexes($0).finishIDs() } }
        return try read { db in
            // Asked again: another process may have begun such a run.
            let hasIndex = try PhotoIndexes(db).hasIDs()
            return try photos(ids, areGone, of: server, column: "id", hasIndex ? PhotoIndexes.ids : "", db) {
                PackedText($0, packedBy: PhotoCoding.packUUID)
            }
        }
    }

    /// The photos with these SHA-256 digests (64 lower-case hexadecimal characters) that are not gone, or those that are.
    /// The first call after a large run takes some seconds for a million photos: it builds an index.
    public func photos(
        withDigests digests: [String],
        of server: String,
        areGone: Bool = false
    ) throws(StoreError) -> [PhotoRecord] {
        if try !read({ try PhotoIndexes($0).hasDigests() }) { try write { try PhotoIndexes($0).createDigests() } }
        return try read { db in
            let hasIndex = try PhotoIndexes(db).hasDigests()
            return try photos(digests, areGone, of: server, column: "digest", hasIndex ? PhotoIndexes.digests : "", db)
            {
                PackedText($0, packedBy: PhotoCoding.packDigest)
            }
        }
    }

    private func photos(
        _ keys: [String],
        _ areGone: Bool,
        of server: String,
        column: String,
        _ index: String,
        _ db: Database,
        _ pack: (String) -> PackedText
    ) throws -> [PhotoRecord] {
        guard let number = try ServerRow.number(of: server, db) else { return [] }
        let condition = "photos.server = ?1 AND photos.\(column) = ?2 AND is_gone = \(areGone ? 1 : 0)"
        let reader = try PhotoReader(db, index: index, where: condition)
        return try Set(keys).flatMap { key in
            try pack(key).withValue { value in
                try reader.read { statement in
                    statement.bind(number, at: 1)
                    statement.bind(value, at: 2)
                }
            }
        }
    }

    /// Records that photos belong to a device now, as claiming them has told; those that are not known are passed over.
    public func setOrigin(_ device: PhotoDevice, ofPhotos ids: [String], server: String) throws(StoreError) {
        try write { db in
            guard let number = try ServerRow.number(of: server, db) else { return }
            _ = try PhotoIndexes(db).finishIDs()
            var origins = try OriginTable(db, server: number)
            let origin = try origins.number(of: device)
            let select = try RawStatement(
                db,
                "SELECT number, origin, is_gone FROM photos WHERE server = ?1 AND id = ?2"
            )
            let update = try RawStatement(db, "UPDATE photos SET origin = ?1 WHERE number = ?2")
            update.bind(origin, at: 1)
            for id in Set(ids) {
                try PackedText(id, packedBy: PhotoCoding.packUUID).withValue { value in
                    select.bind(number, at: 1)
                    select.bind(value, at: 2)
                    defer { select.clear() }
                    guard try select.step() else { return }
                    let (photo, before, gone) = (select.integer(0), select.integer(1), select.integer(2))
                    origins.add(present: gone - 1, gone: -gone, to: before)
                    origins.add(present: 1 - gone, gone: gone, to: origin)
                    update.bind(photo, at: 2)
                    try update.run()
                }
            }
            try origins.save()
        }
    }
}

/// Up to 500 photos of a server, in the order of their upload.
private struct PhotoBlock {
    /// The last photo of the block before.
    struct Position {
        let microseconds: Int64
        let id: PackedText

        init(_ photo: PhotoRecord) {
            microseconds = photo.uploadedAt.microseconds
            id = PackedText(photo.id, packedBy: PhotoCoding.packUUID)
        }
    }

    let filter: PhotoFilter
    let server: Int64
    let after: Position?

    func read(_ db: Database) throws -> [PhotoRecord] {
        let reader = try PhotoReader(
            db,
            index: "photos_by_upload",
            where: """
                photos.server = ?1 AND is_gone = ?2 AND \(start) AND \(origin)
                """,
            ending: "ORDER BY uploaded_us, photos.id LIMIT 500"
        )
        var device = PackedText(deviceID ?? "") { _, _ in false }
        device.isNull = deviceID == nil
        return try device.withValue { device in
            guard let after else { return try reader.read { bind(to: $0, device) } }
            return try after.id.withValue { id in
                try reader.read { statement in
                    bind(to: statement, device)
                    statement.bind(after.microseconds, at: 3)
                    statement.bind(id, at: 4)
                }
            }
        }
    }

    /// At or after the wanted time, or after the block before.
    private var start: String {
        after == nil ? "uploaded_us >= ?3" : "(uploaded_us, photos.id) > (?3, ?4)"
    }

    private func bind(to statement: RawStatement, _ device: RawValue?) {
        statement.bind(server, at: 1)
        statement.bind(filter.isGone ? 1 : 0, at: 2)
        statement.bind(filter.uploadedSince?.microseconds ?? .min, at: 3)
        if deviceID != nil { statement.bind(device, at: 5) }
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

/// Marks what a full run has not seen.
struct GonePhotos {
    private let db: Database
    private let server: Int64

    init(_ db: Database, server: Int64) {
        self.db = db
        self.server = server
    }

    /// Photos that the run has seen are there, so when as many are there, none is gone. Returns how many were marked.
    func mark(seen count: Int64) throws -> Int64 {
        let presentCount = try OriginTable.presentCount(ofServer: server, db)
        guard presentCount != count else { return 0 }
        let last = try Int64.fetchOne(db, sql: "SELECT max(number) FROM photos") ?? 0
        var origins = try OriginTable(db, server: server)
        var seen = try SeenPhotos(db, server: server)
        let update = try db.cachedStatement(sql: "UPDATE photos SET is_gone = 1 WHERE number = ?")
        var marked: Int64 = 0
        for chunk in 0...(last / SeenPhotos.chunkSize) {
            for photo in try photos(of: chunk) where try !seen.contains(photo.number) {
                try update.execute(arguments: [photo.number])
                origins.add(present: -1, gone: 1, to: photo.origin)
                marked += 1
            }
        }
        try origins.save()
        return marked
    }

    private func photos(of chunk: Int64) throws -> [(number: Int64, origin: Int64)] {
        // The plus keeps SQLite from going through all photos of the server for each chunk.
        let statement = try RawStatement(
            db,
            "SELECT number, origin FROM photos WHERE number BETWEEN ?1 AND ?2 AND +server = ?3 AND is_gone = 0"
        )
        let first = chunk * SeenPhotos.chunkSize
        statement.bind(first, at: 1)
        statement.bind(first + SeenPhotos.chunkSize - 1, at: 2)
        statement.bind(server, at: 3)
        defer { statement.reset() }
        var photos: [(number: Int64, origin: Int64)] = []
        while try statement.step() { photos.append((statement.integer(0), statement.integer(1))) }
        return photos
    }
}
