public import Foundation
import GRDB

/// A photo that a server had, and that a complete listing no longer contains. No server remembers deletions (photosync
/// contract, new facts, 3), and the index can be lost, so they are stored here.
public struct PhotoDeletion: Sendable, Equatable {
    /// The state of a deletion.
    public enum State: String, Sendable, CaseIterable, Codable {
        /// The photo is not uploaded again, and each push counts it.
        case deleted
        /// The user has accepted the deletion: it is no longer counted, until the photo is on the server again and then
        /// deleted again.
        case accepted
        /// The server may have deleted the photo on its own, because of its ownership defect, or a repair deleted it:
        /// the photo is uploaded again.
        case purged
    }

    /// Address of the server.
    public var server: String
    /// The photo's ID on the server.
    public var photoID: String
    /// SHA-256 of the bytes as uploaded, 64 lowercase hexadecimal characters.
    public var sha256: String
    /// The name as uploaded. Untrusted text; empty if unknown.
    public var name: String
    public var state: State
    /// When the deletion was found, by this machine's clock.
    public var foundAt: Date

    public init(
        server: String,
        photoID: String,
        sha256: String,
        name: String = "",
        state: State = .deleted,
        foundAt: Date
    ) {
        self.server = server
        self.photoID = photoID
        self.sha256 = sha256
        self.name = name
        self.state = state
        self.foundAt = foundAt
    }
}

extension PhotoDeletion: Storable {
    static let table = "photo_deletions"

    private enum CodingKeys: String, CodingKey {
        case server, sha256, name, state
        case photoID = "photo_id"
        case foundAt = "found_at"
    }
}

extension LibraryStore {
    /// The deletions of these photos, in no particular order.
    public func deletions(ofPhotos ids: [String], server: String) throws(StoreError) -> [PhotoDeletion] {
        try values(where: "photo_id = ? AND server = ?", ids, server)
    }

    /// The deletions of photos that had these bytes when they were uploaded, in no particular order.
    public func deletions(withDigests digests: [String], server: String) throws(StoreError) -> [PhotoDeletion] {
        try values(where: "sha256 = ? AND server = ?", digests, server)
    }

    /// The deletions on a server in this state, in no particular order.
    public func deletions(of server: String, state: PhotoDeletion.State) throws(StoreError) -> [PhotoDeletion] {
        try values(where: "state = ? AND server = ?", [state.rawValue], server)
    }

    /// Stores new deletions in one commit; existing ones are not changed. A new deletion of the same bytes ends the
    /// acceptance of earlier ones: the photo has since been uploaded again, and deleted again.
    public func add(_ deletions: [PhotoDeletion]) throws(StoreError) {
        guard !deletions.isEmpty else { return }
        try connection.write { db in
            let reopen = try db.cachedStatement(
                sql: """
                    UPDATE photo_deletions SET state = ?1 WHERE sha256 = ?2 AND server = ?3 AND state = ?4
                        AND NOT EXISTS (SELECT 1 FROM photo_deletions WHERE photo_id = ?5 AND server = ?3)
                    """
            )
            for deletion in deletions {
                try reopen.execute(
                    arguments: [
                        deletion.state.rawValue, deletion.sha256, deletion.server,
                        PhotoDeletion.State.accepted.rawValue, deletion.photoID,
                    ]
                )
                try Stored(deletion).insert(db, onConflict: .ignore)
            }
        }
    }

    /// Stores deletions, each replacing an earlier one of the same photo, in one commit.
    public func keep(_ deletions: [PhotoDeletion]) throws(StoreError) {
        guard !deletions.isEmpty else { return }
        try connection.write { db in
            for deletion in deletions { try Stored(deletion).upsert(db) }
        }
    }

    /// Removes the record of a photo's deletion.
    public func removeDeletion(ofPhoto id: String, server: String) throws(StoreError) {
        try connection.write { db in
            try db.execute(
                sql: "DELETE FROM photo_deletions WHERE photo_id = ? AND server = ?",
                arguments: [id, server]
            )
        }
    }

    /// Marks all unaccepted deletions on a server as possibly caused by a repair.
    public func invalidateDeletions(of server: String) throws(StoreError) {
        try connection.write { db in
            try db.execute(
                sql: "UPDATE photo_deletions SET state = ? WHERE server = ? AND state = ?",
                arguments: [PhotoDeletion.State.purged.rawValue, server, PhotoDeletion.State.deleted.rawValue]
            )
        }
    }
}
