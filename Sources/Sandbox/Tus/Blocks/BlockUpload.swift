import GRDB

/// One upload of the tus endpoint in PHP (gighive-d4 contract 4.2).
struct BlockUpload: Sendable {
    enum State: String, Sendable {
        case pending
        case complete
        /// Permanent: no PATCH is accepted any more.
        case failed
    }

    var id: String
    /// The event link of a guest; nil for all users with a password, who share one number.
    var guestToken: String?
    var state = State.pending
    /// In bytes.
    var length: Int
    var metadata: BlockMetadata
    /// Bytes of the first PATCH; 0 before it.
    var blockSize = 0
    /// PATCH requests that were accepted.
    var blockCount = 0
    var assetID: Int?

    /// What the server reports: not the size of the file, but a product.
    var claimedOffset: Int { state == .complete ? length : blockCount * blockSize }

    init(id: String, guestToken: String?, length: Int, metadata: BlockMetadata) {
        self.id = id
        self.guestToken = guestToken
        self.length = length
        self.metadata = metadata
    }

    init(_ row: Row) {
        id = row["id"]
        guestToken = row["guest_token"]
        state = State(rawValue: row["state"]) ?? .failed
        length = row["length"]
        metadata = BlockMetadata(row)
        blockSize = row["block_size"]
        blockCount = row["block_count"]
        assetID = row["asset_id"]
    }
}
