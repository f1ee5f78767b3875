import GRDB

/// What one guest uploaded.
struct GuestJob: Sendable {
    enum State: String, Sendable {
        case pending
        case approved
        case rejected
    }

    var id: Int
    var nonce: String
    var token: String
    var assetID: Int
    var label: String
    var displayName: String?
    var state: State
    var approvedAt: String?
    /// Second at which it was hidden; nil while it is shown.
    var hiddenAt: Int?

    init(_ row: Row) {
        id = row["id"]
        nonce = row["nonce"]
        token = row["token"]
        assetID = row["asset_id"]
        label = row["label"]
        displayName = row["display_name"]
        state = State(rawValue: row["state"]) ?? .pending
        approvedAt = row["approved_at"]
        hiddenAt = row["hidden_at"]
    }
}
