import GRDB

/// How SQLite keeps a transaction until it is whole.
enum JournalMode: String {
    /// Fast, and needs memory shared between processes.
    case writeAheadLog = "wal"
    /// Works wherever locks do. The journal is truncated rather than deleted: SQLite synchronises the truncation at
    /// FULL, whereas a deletion is only durable once the directory is synchronised.
    case rollback = "truncate"

    init(on fileSystem: FileSystemKind, directory: DataDirectory) throws(StoreError) {
        switch fileSystem {
        case .local: self = .writeAheadLog
        case .network: self = .rollback
        case .networkWithoutLocks:
            throw StoreError(
                .networkFileSystem,
                path: directory.path,
                detail: "no file locks on this network file system; choose a local directory with --data-dir"
            )
        }
    }

    func apply(to db: Database, path: String) throws {
        let mode = try String.fetchOne(db, sql: "PRAGMA journal_mode = \(rawValue)")
        guard mode == rawValue else {
            throw StoreError(.busy, path: path, detail: "journal mode is \(mode ?? "unknown"), not \(rawValue)")
        }
    }
}
