public import MediaStore

/// What to do with a local entry whose token the server rejects although the file is still there.
public enum InvalidTokenChoice: String, Sendable, CaseIterable {
    /// Keep the entry.
    case keep
    /// Remove the entry; the file stays on the server.
    case remove
}

/// How one deletion ended.
public struct DeleteResult: Sendable {
    /// The ends of a deletion.
    public enum State: String, Sendable, CaseIterable {
        /// The server deleted it now.
        case deleted
        /// It was gone already; the local entry has been removed.
        case gone
        /// The server rejects the token; the local entry was removed as chosen.
        case entryRemoved = "entry_removed"
        /// Nothing was deleted; see `error`.
        case failed
        /// `--dry-run`: it would have been asked for.
        case planned
        /// Declined at the prompt.
        case declined
    }

    /// The server's id.
    public var fileID: Int64
    /// How it ended.
    public var state: State
    /// The entry concerned.
    public var entry: TokenEntry?
    /// The token store's key.
    public var host: String
    /// Status of the last answer.
    public var httpStatus: Int?
    /// Why it failed.
    public var error: GigHiveError?

    /// Makes a result.
    public init(
        fileID: Int64, state: State, entry: TokenEntry? = nil, host: String, httpStatus: Int? = nil,
        error: GigHiveError? = nil
    ) {
        self.fileID = fileID
        self.state = state
        self.entry = entry
        self.host = host
        self.httpStatus = httpStatus
        self.error = error
    }
}

/// Takes files back from one server (gighive contract section 5, design section 4).
public struct Deleter: Sendable {
    let client: GigHiveClient
    let store: TokenStore
    let host: String

    /// Makes a deleter.
    ///
    /// - Parameter host: The scope whose entries are used; the client's own unless `--host` chose another.
    public init(client: GigHiveClient, store: TokenStore, host: String) {
        self.client = client
        self.store = store
        self.host = host
    }

    /// The entry that a deletion of `fileID` would use. With several rows for the id, the server is asked for the
    /// checksum and the row that matches is taken.
    ///
    /// - Throws: `GigHiveError`: `.noDeleteToken` (naming other hosts that know the id), `.idReused`, or what the server
    ///   answered.
    public func entry(for fileID: Int64) async throws(GigHiveError) -> TokenEntry {
        throw GigHiveError(.noDeleteToken)
    }

    /// Deletes by token. Reaches the server at most once; a lost answer is resolved by asking.
    ///
    /// - Parameter onInvalidToken: Asked only when the server rejects the token while the same file is still there.
    public func delete(
        _ entry: TokenEntry, onInvalidToken: @Sendable (TokenEntry) async -> InvalidTokenChoice
    ) async -> DeleteResult {
        DeleteResult(fileID: entry.fileID, state: .failed, host: host)
    }

    /// Deletes with admin credentials and the list keys, after comparing checksum and size with the stored entry
    /// (admin deletions check no token, trap T10).
    public func deleteAsAdmin(_ entry: TokenEntry) async -> DeleteResult {
        DeleteResult(fileID: entry.fileID, state: .failed, host: host)
    }
}
