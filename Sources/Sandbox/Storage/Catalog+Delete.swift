import Foundation
import GRDB

/// What became of one id in a delete request.
enum DeleteOutcome: Sendable {
    case deleted(Int)
    case failed(Int, message: String)
}

extension Catalog {
    /// Whether an asset exists and a token belongs to it.
    func tokenIsValid(_ token: String, forAsset id: Int) throws -> Bool {
        try queue.read { db in
            guard let hash = try Asset.find(id, db)?.tokenHash else { return false }
            return hash == Digest.hex(of: token)
        }
    }

    /// Removes an asset from disk and from every event; the events stay (gighive contract 5.4).
    func delete(_ id: Int) throws -> DeleteOutcome {
        try queue.write { db in
            guard let asset = try Asset.find(id, db) else { return .failed(id, message: "Not found") }
            let path = folder.mediaPath(asset.kind, asset.fileName)
            guard unlink(path) == 0 || errno == ENOENT else {
                return .failed(id, message: "Failed to delete media file on disk")
            }
            try db.execute(sql: "DELETE FROM asset WHERE id = ?", arguments: [id])
            try db.execute(
                sql: "UPDATE guest_job SET state = 'rejected' WHERE asset_id = ? AND state = 'approved'",
                arguments: [id]
            )
            return .deleted(id)
        }
    }
}
