public import MediaStore

/// What to do with a local entry whose token the server rejects although the file is still there.
public enum InvalidTokenChoice: String, Sendable, CaseIterable {
    /// Keep the entry.
    case keep
    /// Remove the entry; the file stays on the server.
    case remove
}

/// A file that is deleted with admin rights: its id and what is known of its content. An admin's request carries no token,
/// so the content alone tells the file from another that has its id now (trap T10).
public struct AdminDeletion: Sendable, Equatable {
    /// The server's id.
    public var fileID: Int64
    /// 64 lower-case hexadecimal characters.
    public var checksumSHA256: String
    /// Length in bytes; nil when it is not known.
    public var sizeBytes: Int64?
    /// The local entry, if any.
    public var entry: TokenEntry?

    /// Makes a deletion.
    public init(fileID: Int64, checksumSHA256: String, sizeBytes: Int64? = nil, entry: TokenEntry? = nil) {
        self.fileID = fileID
        self.checksumSHA256 = checksumSHA256
        self.sizeBytes = sizeBytes
        self.entry = entry
    }

    /// The deletion of an entry's file.
    public init(_ entry: TokenEntry) {
        self.init(
            fileID: entry.fileID,
            checksumSHA256: entry.checksumSHA256,
            sizeBytes: entry.sizeBytes > 0 ? entry.sizeBytes : nil,
            entry: entry
        )
    }
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
    /// Whether the deletion used admin rights instead of the token.
    public var usedAdminRights = false
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
