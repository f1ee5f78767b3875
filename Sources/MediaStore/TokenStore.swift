public import Foundation

/// `tokens.sqlite`: delete tokens and the upload journal. Safe for many processes and tasks at once.
///
/// Every method that changes something returns only when the change has reached the disk (`synchronous=FULL`).
public final class TokenStore: Sendable {
    /// What was put right while opening.
    public let warnings: [String]

    /// Opens, migrates and proves the store writable.
    ///
    /// - Throws: `StoreError`. A corrupt, empty or newer store is refused and left as it is.
    public init(in directory: DataDirectory) throws(StoreError) {
        warnings = []
    }

    // MARK: Journal

    /// A new id: `u-` and 16 random characters.
    public static func newUploadID() -> String { "u-" }

    /// Writes the intent row of an upload.
    public func insert(_ record: UploadRecord) throws(StoreError) {}

    /// Changes a row. Fields of `change` that are nil stay as they are.
    public func update(_ uploadID: String, _ change: UploadChange) throws(StoreError) {}

    /// One row.
    public func upload(_ uploadID: String) throws(StoreError) -> UploadRecord? { nil }

    /// Rows in any of these states, newest first; all states when `states` is empty.
    public func uploads(states: Set<UploadState>, host: String?) throws(StoreError) -> [UploadRecord] { [] }

    // MARK: Tokens

    /// Stores what a success answered, in one transaction: the upload's new state and, when there is one, the token.
    /// A row of the same host, id and checksum is superseded; a missing token never overwrites one.
    ///
    /// Calls of several tasks share one commit (group commit).
    public func commit(_ uploadID: String, _ change: UploadChange, token: TokenEntry?) async throws(StoreError) {}

    /// Adds an entry that did not come from an upload of this journal (an import). A tombstone keeps a removed entry
    /// from coming back.
    ///
    /// - Returns: false when a tombstone or an equal row stood in the way.
    public func add(_ entry: TokenEntry) throws(StoreError) -> Bool { false }

    /// Entries, newest first, without superseded ones unless asked for.
    public func tokens(host: String?, includeSuperseded: Bool = false) throws(StoreError) -> [TokenEntry] { [] }

    /// All rows, superseded ones included, for an id on a host; newest first.
    public func tokens(host: String, fileID: Int64) throws(StoreError) -> [TokenEntry] { [] }

    /// All rows for a checksum on a host; newest first.
    public func tokens(host: String, checksumSHA256: String) throws(StoreError) -> [TokenEntry] { [] }

    /// Removes an entry and its superseded rows (same host, id and checksum), leaving a tombstone without the token.
    public func remove(_ entry: TokenEntry) throws(StoreError) {}

    /// Purges all entries of a host, or of all hosts, tombstones and finished journal rows included
    /// (`secure_delete=ON`). Rows in flight stay.
    ///
    /// - Returns: The number of token entries purged.
    public func clear(host: String?) throws(StoreError) -> Int { 0 }
}

/// What changes in a journal row.
public struct UploadChange: Sendable, Equatable {
    /// The new state.
    public var state: UploadState?
    /// SHA-256 of the bytes sent.
    public var checksumSHA256: String?
    /// The server's id.
    public var fileID: Int64?
    /// Tries so far.
    public var attempts: Int?
    /// Status of the last answer.
    public var httpStatus: Int?
    /// Stable code of the failure.
    public var failureCode: String?

    /// Makes a change.
    public init(
        state: UploadState? = nil, checksumSHA256: String? = nil, fileID: Int64? = nil, attempts: Int? = nil,
        httpStatus: Int? = nil, failureCode: String? = nil
    ) {
        self.state = state
        self.checksumSHA256 = checksumSHA256
        self.fileID = fileID
        self.attempts = attempts
        self.httpStatus = httpStatus
        self.failureCode = failureCode
    }
}
