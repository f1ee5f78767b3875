import Foundation
import GRDB

extension TokenStore {
    /// Stores a success response in one transaction: the upload's new state and, if present, the token,
    /// the guest receipt and the details of the stored file.
    /// A row of the same host, id and checksum is superseded; a missing token never overwrites one. Storing the same
    /// token again, as after adopting a rescue file, changes nothing.
    ///
    /// A token or receipt is stored even when the journal has lost its upload. Calls of several tasks share one commit (group
    /// commit). Cancelling the task does not stop it.
    ///
    /// - Throws: `StoreError`, only for this call's own rows; `.other` when there is neither a token nor a receipt nor such
    ///   an upload.
    public func commit(
        _ uploadID: String,
        _ change: UploadChange,
        token: TokenEntry?,
        guest: GuestReceipt? = nil,
        stored: StoredFile? = nil
    ) async throws(StoreError) {
        let path = connection.path
        try await commits.commit { db in
            let isKnown = try UploadRow.update(uploadID, change, db)
            if let token {
                try TokenRow.upsert(token, db)
                try TokenRow.removeTombstone(of: token, db)
            }
            if let guest { try GuestRow.upsert(guest, of: uploadID, db) }
            if let stored { try StoredFileRow.upsert(stored, db) }
            guard isKnown || token != nil || guest != nil else { throw UploadRow.missing(uploadID, path) }
        }
    }

    /// Adds an entry that did not come from an upload of this journal (an import). A tombstone keeps a removed entry
    /// from coming back; an entry that is newer than the removed one is another and comes in.
    ///
    /// - Returns: false when a tombstone or an equal row stood in the way.
    public func add(_ entry: TokenEntry) throws(StoreError) -> Bool {
        let outcome = try connection.write { try TokenRow.add(entry, $0) }
        return outcome == .added || outcome == .conflicting
    }

    /// Adds many entries as `add(_:)` does, all or none.
    ///
    /// - Parameters:
    ///   - entries: What is imported.
    ///   - isDryRun: Whether to change nothing, and only say what would happen.
    ///   - stored: The details of the files from their server.
    /// - Returns: What became of each entry, in their order.
    /// - Throws: `StoreError`.
    public func add(
        _ entries: [TokenEntry],
        isDryRun: Bool = false,
        stored: [StoredFile] = []
    ) throws(StoreError) -> [AddOutcome] {
        try connection.write { db in
            var outcomes: [AddOutcome] = []
            // Done for real also in a dry run: entries may meet each other.
            try db.inSavepoint {
                outcomes = try entries.map { try TokenRow.add($0, db) }
                for file in stored { try StoredFileRow.upsert(file, db) }
                return isDryRun ? .rollback : .commit
            }
            return outcomes
        }
    }

    /// Entries, newest first, without superseded ones unless asked for.
    public func tokens(host: String?, includeSuperseded: Bool = false) throws(StoreError) -> [TokenEntry] {
        let primary = includeSuperseded ? "" : " AND superseded = 0"
        return try connection.read { db in
            try TokenRow.fetch(db, where: "(?1 IS NULL OR host = ?1)\(primary)", [host])
        }
    }

    /// All rows, superseded ones included, for an id on a host; newest first.
    public func tokens(host: String, fileID: Int64) throws(StoreError) -> [TokenEntry] {
        try connection.read { try TokenRow.fetch($0, where: "host = ? AND file_id = ?", [host, fileID]) }
    }

    /// Whether another file of a host has this token. Reads all rows of the host.
    ///
    /// - Parameters:
    ///   - token: The token.
    ///   - host: The host.
    ///   - fileID: The server's ID of the file that may have it; nil if it is unknown.
    /// - Returns: Whether it is the token of another file.
    /// - Throws: `StoreError`.
    package func hasToken(_ token: DeleteToken, host: String, ofOtherThan fileID: Int64?) throws(StoreError) -> Bool {
        try connection.read { db in
            let sql = "SELECT 1 FROM tokens WHERE host = ? AND token = ? AND file_id IS NOT ? LIMIT 1"
            return try Row.fetchOne(db, sql: sql, arguments: [host, token.secret, fileID]) != nil
        }
    }

    /// All rows for a checksum on a host; newest first.
    public func tokens(host: String, checksumSHA256: String) throws(StoreError) -> [TokenEntry] {
        try connection.read {
            try TokenRow.fetch($0, where: "host = ? AND checksum_sha256 = ?", [host, checksumSHA256])
        }
    }

    /// The events of files, as far as their servers have reported them; those of all hosts when `host` is
    /// nil. The first event of a file comes first.
    public func storedFiles(host: String?) throws(StoreError) -> [StoredFile] {
        try connection.read { try StoredFileRow.fetch($0, where: "?1 IS NULL OR host = ?1", [host]) }
    }

    /// Removes an entry and its superseded rows (same host, id and checksum), leaving a tombstone without the token.
    /// A row that is newer than the entry, stored by another process meanwhile, stays.
    public func remove(_ entry: TokenEntry) throws(StoreError) {
        try connection.write { try TokenRow.bury(entry, $0) }
    }
}

/// What became of an entry that was to be added.
public enum AddOutcome: Sendable, Equatable {
    /// Nothing was known of its file.
    case added
    /// It was added beside another token of the same host, id and checksum; the newer one is primary.
    case conflicting
    /// Its token was here already.
    case known
    /// It was removed here, or one newer than it, and stays removed.
    case buried
}
