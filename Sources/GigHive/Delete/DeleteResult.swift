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
    /// Why it failed; set with `.deleted` and `.gone` only when the local entry could not be removed.
    public var error: GigHiveError?

    /// Makes a result.
    package init(
        fileID: Int64,
        state: State,
        entry: TokenEntry? = nil,
        host: String,
        httpStatus: Int? = nil,
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
