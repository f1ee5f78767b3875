import ArgumentParser

/// The three eras of the GigHive wire (gighive contract 0).
enum Dialect: String, Sendable, CaseIterable, ExpressibleByArgument {
    case d1
    case d2
    case d3

    /// D3 speaks of assets, the others of files.
    private var noun: String { self == .d3 ? "asset" : "file" }

    /// `file_id` or `asset_id`: how delete requests and results name an id.
    var idKey: String { noun + "_id" }
    /// `file_ids` or `asset_ids`: an administrator's list.
    var idListKey: String { noun + "_ids" }
    /// `existing_file_id` or `existing_asset_id`: the key in a 409.
    var existingIDKey: String { "existing_" + idKey }
}
