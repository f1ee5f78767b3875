import GRDB

/// Stores the photos of one page of a run, within one transaction and by its thread.
final class PhotoWriter {
    /// What a page has brought.
    struct Outcome {
        /// Photos that the run had not seen before.
        var seen: Int64 = 0
        var added: Int64 = 0
        var changed: Int64 = 0
        /// The latest `uploadedAt` up to the horizon.
        var latest: PhotoTime?
    }

    /// A photo of the index.
    private struct Known {
        let number: Int64
        let origin: Int64
        let isGone: Bool
        /// Whether it is told as before, but for its origin.
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
    /// Photos that are known follow each other, and so do new ones: it is tried first what was true of the last one.
    private var expectsKnown = true

    /// `hasIDs` says whether the index over ids is there. Without it a photo whose `uploadedAt` has changed is stored twice,
    /// until `PhotoIndexes.finishIDs`.
    init(_ db: Database, server: Int64, horizon: Int64, hasIDs: Bool) throws {
        self.server = server
        self.horizon = horizon
        origins = try OriginTable(db, server: server)
        seen = try SeenPhotos(db, server: server)
        findByUpload = try RawStatement(db, PhotoSQL.findByUpload)
        findByID = hasIDs ? try RawStatement(db, PhotoSQL.findByID) : nil
        insert = try RawStatement(db, PhotoSQL.insert)
        update = try RawStatement(db, PhotoSQL.update)
        move = try RawStatement(db, PhotoSQL.move)
    }

    /// Stores a page. To be called once.
    func store(_ page: EncodedPhotos) throws {
        defer {
            // What is bound is gone by then.
            for statement in [findByUpload, findByID, insert, update, move] { statement?.clear() }
        }
        var latest: Int?
        // A span lends its photos: a copy of one counts the references to each of its texts.
        let span = page.photos.span
        try page.forEach { place, values in
            let origin = try origins.number(of: span[place].originDevice)
            let numbers = PhotoSQL.Numbers(span[place], server: server, origin: origin)
            try store(PhotoSQL.Values(bytes: values, numbers: numbers))
            let uploadedAt = span[place].uploadedAt.microseconds
            if uploadedAt <= horizon, latest.map({ uploadedAt > span[$0].uploadedAt.microseconds }) ?? true {
                latest = place
            }
        }
        outcome.latest = latest.map { page.photos[$0].uploadedAt }
        try seen.save()
        try origins.save()
    }

    private func store(_ values: PhotoSQL.Values) throws {
        if findByID == nil, !expectsKnown, try add(values) { return }
        if let known = try find(values, findByUpload) {
            try note(known, values, with: update)
        } else if let findByID, let known = try find(values, findByID) {
            try note(known, values, with: move)
        } else {
            _ = try add(values)
        }
    }

    /// - Returns: false when it is known.
    private func add(_ values: PhotoSQL.Values) throws -> Bool {
        values.bind(to: insert, .insert)
        guard try insert.run() == 1 else { return false }
        expectsKnown = false
        outcome.added += 1
        origins.add(present: 1, to: values.numbers.origin)
        if try seen.insert(insert.insertedNumber) { outcome.seen += 1 }
        return true
    }

    private func find(_ values: PhotoSQL.Values, _ statement: RawStatement) throws -> Known? {
        statement.reset()
        values.bind(to: statement, .find)
        defer { statement.reset() }
        return try statement.step() ? Known(statement) : nil
    }

    private func note(_ known: Known, _ values: PhotoSQL.Values, with statement: RawStatement) throws {
        expectsKnown = true
        let isNew = try seen.insert(known.number)
        if isNew { outcome.seen += 1 }
        guard !known.isSame || known.isGone || known.origin != values.numbers.origin else { return }
        if isNew { outcome.changed += 1 }
        origins.add(present: known.isGone ? 0 : -1, gone: known.isGone ? -1 : 0, to: known.origin)
        origins.add(present: 1, to: values.numbers.origin)
        values.bind(to: statement, .update)
        statement.bind(known.number, at: PhotoSQL.numberParameter)
        try statement.run()
    }
}
