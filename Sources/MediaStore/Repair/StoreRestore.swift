import Foundation
import GRDB

/// Adds the rows of a backup to the token store.
package struct StoreRestore {
    /// What was added, or would be.
    package struct Report: Sendable {
        /// Tokens that were not in the store.
        package var tokens: Int
        /// Uploads of the journal that were not in the store.
        package var uploads: Int
        /// Tokens that were deleted or removed since the backup, and stay so.
        package var removedSince: Int
        /// Rows of tokens in the backup.
        package var tokensInBackup: Int
    }

    /// Restores a backup. What is in the store stays, also where the backup has something else. Rows of a damaged file are
    /// restored as far as they can be read.
    ///
    /// - Parameters:
    ///   - path: A backup, or another token store that no process uses. It is not changed.
    ///   - store: Where its rows are added.
    ///   - isDryRun: Whether to change nothing.
    /// - Returns: What was added.
    /// - Throws: `StoreError`: `.notWritable` for a file that cannot be read, `.unsafe` for something else than a file,
    ///   `.corrupt` for one without a single row of a token store. Nothing is added then.
    package static func run(from path: String, to store: TokenStore, isDryRun: Bool) throws(StoreError) -> Report {
        guard let status = try FileStatus(at: path) else {
            throw StoreError(.notWritable, path: path, detail: "no such file")
        }
        guard status.isRegularFile else { throw StoreError(.unsafe, path: path, detail: "not a regular file") }
        // Closing a second descriptor of an open database drops its locks, and all of its rows are there.
        guard try FileStatus(at: store.connection.path)?.isSameFile(as: status) != true else {
            throw StoreError(.unsafe, path: path, detail: "it is the token store itself")
        }
        let source = try DatabaseBytes(path)
        var sink = SalvageSink(isFresh: false)
        var found = 0
        var rows = 0
        try store.connection.write { db in
            try db.inSavepoint {
                for isSecondPass in [false, true] {
                    try source.forEachRow { row in
                        guard let salvaged = SalvagedRow(row), salvaged.dependsOnUpload == isSecondPass else { return }
                        rows += 1
                        if case .token = salvaged { found += 1 }
                        try sink.store(salvaged, db)
                    }
                }
                return isDryRun ? .rollback : .commit
            }
        }
        guard rows > 0 || source.isEmptyStore else {
            throw StoreError(.corrupt, path: path, detail: "it has no row of a token store")
        }
        return Report(tokens: sink.tokens, uploads: sink.uploads, removedSince: sink.buried, tokensInBackup: found)
    }
}
