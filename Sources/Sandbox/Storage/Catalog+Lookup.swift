import GRDB

/// A stored asset with its first place in an event.
struct AssetPlace: Sendable {
    var asset: Asset
    var eventID: Int?
    var position: Int?
}

extension Catalog {
    /// The asset of a number, as `GET /api/uploads/<id>` shows it.
    func asset(_ id: Int) throws -> AssetPlace? {
        try queue.read { db in
            guard let asset = try Asset.find(id, db) else { return nil }
            let item = try Row.fetchOne(
                db,
                sql: "SELECT event_id, position FROM event_item WHERE asset_id = ? ORDER BY id LIMIT 1",
                arguments: [id]
            )
            return AssetPlace(asset: asset, eventID: item?["event_id"], position: item?["position"])
        }
    }

    /// The asset served under a file name.
    func asset(kind: MediaKind, fileName: String) throws -> Asset? {
        let checksum = String(fileName.prefix { $0 != "." })
        let asset = try queue.read { db in try Asset.find(checksum: checksum, db) }
        guard let asset, asset.kind == kind, asset.fileName == fileName else { return nil }
        return asset
    }
}
