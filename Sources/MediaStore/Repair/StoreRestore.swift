import Foundation
import GRDB

/// Adds the rows of a backup to the token store.
package struct StoreRestore {
    /// The result of a restore, or of a dry run.
    package struct Report: Sendable {
        /// Tokens that were not in the store.
        package var tokens: Int
        /// Uploads that were not in the store's journal.
        package var uploads: Int
        /// Tokens that have been deleted or removed since the backup, and remain removed.
        package var removedSince: Int
        /// Number of token rows in the backup.
        package var tokensInBackup: Int
    }

    /// Throws unless `run` can restore a file. Opens nothing else.
    package static func check(_ path: String) throws(StoreError) {
        _ = try regularFile(path)
        let source = try DatabaseBytes(path)
        guard !source.isEmptyStore else { return }
        guard try source.hasRow(in: path) else { throw noRows(path) }
    }

    private static func regularFile(_ path: String) throws(StoreError) -> FileStatus {
        guard let status = try FileStatus(at: path) else {
            throw StoreError(.missing, path: path, detail: "no such file")
        }
        guard status.isRegularFile else { throw StoreError(.unsafe, path: path, detail: "not a regular file") }
        return status
    }

    private static func noRows(_ path: String) -> StoreError {
        StoreError(.corrupt, path: path, detail: "it contains no rows of a token store")
    }

    /// Adds the rows of a backup, or of another token store that no process uses, as far as they can be read. Existing
    /// tokens are not changed, even if the backup differs; an existing upload is changed only if the backup has a newer
    /// state. Nothing is added if the file cannot be read (`.notWritable`), is not a regular file (`.unsafe`), or has
    /// no row of a token store (`.corrupt`).
    package static func run(from path: String, to store: TokenStore, isDryRun: Bool) throws(StoreError) -> Report {
        let status = try regularFile(path)
        // The store already has these rows, and closing a second descriptor of an open database would drop its locks.
        guard try FileStatus(at: store.connection.path)?.key != status.key else {
            throw StoreError(.unsafe, path: path, detail: "it is the token store itself")
        }
        let source = try DatabaseBytes(path)
        var sink = SalvageSink(isFresh: false)
        var found = (rows: 0, tokens: 0)
        try store.connection.write { db in
            try db.inSavepoint {
                found = try sink.store(all: source, db)
                try sink.finish(db)
                return isDryRun ? .rollback : .commit
            }
        }
        guard found.rows > 0 || source.isEmptyStore else {
            throw noRows(path)
        }
        return Report(
            tokens: sink.tokens,
            uploads: sink.uploads,
            removedSince: sink.buried,
            tokensInBackup: found.tokens
        )
    }
}
