import GRDB

/// One upload of the tus endpoint.
struct TusUpload: Sendable {
    var id: String
    /// Nil until it is declared (creation-defer-length).
    var length: Int?
    var metadata: TusMetadata
    var isPartial = false
    /// Ids of which a final upload was put together; empty for others.
    var parts: [String] = []
    /// When its last byte was in place, seconds since 1970; the post-finish hook starts then.
    var finishedAt: Double?
    var isExpired = false
    /// Bytes on disk; nil when the file is gone.
    var offset: Int?

    var isFinal: Bool { !parts.isEmpty }
    var isComplete: Bool { length != nil && offset == length }

    init(id: String, length: Int?, metadata: TusMetadata) {
        self.id = id
        self.length = length
        self.metadata = metadata
    }

    init(_ row: Row, offset: Int?) {
        id = row["id"]
        length = row["length"]
        metadata = TusMetadata(row["metadata"])
        isPartial = row["is_partial"]
        parts = (row["parts"] as String).split(separator: " ").map(String.init)
        finishedAt = row["finished_at"]
        isExpired = row["is_expired"]
        self.offset = offset
    }
}
