import ArgumentParser

/// The four eras of the GigHive wire, oldest first (gighive contract 0, gighive-d4 contract 9).
enum Dialect: String, Sendable, CaseIterable, Comparable, ExpressibleByArgument {
    case d1
    case d2
    case d3
    /// D3 with tus in PHP.
    case d4

    static func < (left: Dialect, right: Dialect) -> Bool { left.rawValue < right.rawValue }

    /// D3 and D4 speak of assets, the others of files.
    private var noun: String { self >= .d3 ? "asset" : "file" }

    /// `file_id` or `asset_id`: how delete requests and results name an id.
    var idKey: String { noun + "_id" }
    /// `file_ids` or `asset_ids`: an administrator's list.
    var idListKey: String { noun + "_ids" }
    /// `existing_file_id` or `existing_asset_id`: the key in a 409.
    var existingIDKey: String { "existing_" + idKey }
}
