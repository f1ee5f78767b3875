import GRDB

/// Marks what a full run has not seen.
struct GonePhotos {
    private let db: Database
    private let server: Int64

    init(_ db: Database, server: Int64) {
        self.db = db
        self.server = server
    }

    /// - Parameter count: Photos that the run has seen. Each of them is there, so when as many are there, none is gone.
    /// - Returns: How many were marked.
    /// - Throws: Errors of SQLite.
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
