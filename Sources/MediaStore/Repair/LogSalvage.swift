import GRDB
import Glibc
import MediaSystem

/// What SQLite would drop from a damaged write-ahead log: the transactions behind the first frame that is damaged. After a
/// power cut, this is at most one transaction of which nobody was told, and storing its tokens does no harm.
struct LogSalvage {
    private let rows: [SalvagedRow]
    private let path: String

    /// Looks at the log before SQLite does.
    ///
    /// - Returns: nil if nothing would be lost.
    /// - Throws: `StoreError` when the log cannot be opened.
    init?(in directory: DataDirectory) throws(StoreError) {
        path = directory.file(StoreSchema.tokens.fileName)
        guard let status = try FileStatus(at: path + "-wal"), status.isRegularFile, status.isOwnedByUser,
            status.size > Int64(LogFrames.headerSize)
        else { return nil }
        let descriptor = open(path + "-wal", O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
        // A log that cannot be opened keeps SQLite from opening the database, which says why.
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        let pageSize = 4096
        let frames = LogFrames(descriptor, size: status.size, pageSize: pageSize)
        guard frames.restHasCommit else { return nil }
        var rows: [SalvagedRow] = []
        for frame in frames.rest.reversed() {
            guard let bytes = try? FileBytes.read(descriptor, at: frame.offset, count: pageSize) else { continue }
            let page = DatabasePage(bytes: bytes, number: frame.page) { _ in nil }
            rows += page.rows().compactMap { SalvagedRow($0) }
        }
        guard !rows.isEmpty else { return nil }
        self.rows = rows
    }

    /// Stores what the database lacks.
    ///
    /// - Returns: What the user should know.
    /// - Throws: `StoreError`.
    func restore(to connection: StoreConnection) throws(StoreError) -> [String] {
        let added = try connection.write { db in
            var sink = SalvageSink(isFresh: false)
            for row in rows { try sink.store(row, db) }
            try sink.finish(db)
            return sink.tokens
        }
        guard added > 0 else { return [] }
        let tokens = added == 1 ? "1 delete token" : "\(added) delete tokens"
        return ["the log of \"\(path)\" was damaged; \(tokens) restored from the rest of it"]
    }
}
