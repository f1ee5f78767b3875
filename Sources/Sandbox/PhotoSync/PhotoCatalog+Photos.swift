import Foundation
import GRDB

/// Photos one by one (photosync contract 3 and 8).
extension PhotoCatalog {
    func photo(_ id: String) throws -> PhotoRecord? {
        try queue.read { db in
            try Row.fetchOne(db, sql: "SELECT * FROM photo WHERE id = ?", arguments: [id]).map(PhotoRecord.init)
        }
    }

    /// Of all users.
    func photo(hash: String) throws -> PhotoRecord? {
        try queue.read { db in
            try Row.fetchOne(db, sql: "SELECT * FROM photo WHERE hash = ?", arguments: [hash]).map(PhotoRecord.init)
        }
    }

    /// Stores a file and its row in one transaction, so of identical uploads at one moment exactly one is new.
    ///
    /// - Returns: The row, or the one that has the same bytes already.
    func store(_ upload: PhotoUpload, of user: UserRecord) throws -> (photo: PhotoRecord, isDuplicate: Bool) {
        try queue.write { db in
            let known = try Row.fetchOne(db, sql: "SELECT * FROM photo WHERE hash = ?", arguments: [upload.hash])
            if let known { return (PhotoRecord(known), true) }
            let path = try freePath(PhotoName.stored(upload.partName), in: upload.takenAt.folder, db)
            let photo = PhotoRecord(
                id: Self.newID(),
                userID: settings.build == .published ? nil : user.id,
                deviceID: upload.deviceID,
                hash: upload.hash,
                name: upload.originalName,
                path: path,
                size: upload.file.size,
                takenAt: upload.takenAt,
                uploadedAt: .now(),
                pixels: upload.pixels
            )
            try photo.insert(db)
            try keep(upload.file, at: path)
            return (photo, false)
        }
    }

    private func keep(_ file: IncomingFile, at path: String) throws {
        try file.keep(at: folder.makePhotoPath(path))
    }

    /// `_001`, `_002` … before the extension where the name is taken.
    private func freePath(_ name: String, in folder: String, _ db: Database) throws -> String {
        let dot = name.lastIndex(of: ".") ?? name.endIndex
        var number = 0
        while true {
            let suffix = number == 0 ? "" : "_" + padded(number, 3)
            let path = "\(folder)/\(name[..<dot])\(suffix)\(name[dot...])"
            let isTaken = try Bool.fetchOne(
                db,
                sql: "SELECT EXISTS (SELECT 1 FROM photo WHERE path = ?)",
                arguments: [path]
            )
            if isTaken != true { return path }
            number += 1
        }
    }

    /// Removes row and file; false when there is no such photo.
    func delete(_ id: String) throws -> Bool {
        let path = try queue.write { db in
            try String.fetchOne(db, sql: "DELETE FROM photo WHERE id = ? RETURNING path", arguments: [id])
        }
        guard let path else { return false }
        if PhotoName.isSafe(path) { unlink(folder.photoPath(path)) }
        return true
    }

    /// What the published server does hourly and at its start: up to 100 photos without an owner go.
    @discardableResult
    func purge() throws -> Int {
        let ids = try queue.read { db in
            try String.fetchAll(db, sql: "SELECT id FROM photo WHERE user_id IS NULL LIMIT 100")
        }
        for id in ids { _ = try delete(id) }
        return ids.count
    }

    /// Which of these hashes some photo of some user has.
    func known(_ hashes: [String]) throws -> Set<String> {
        let list = GoJSONEncoder.encode(.array(hashes.map(JSONValue.string)))
        return try queue.read { db in
            try String.fetchSet(
                db,
                sql: "SELECT hash FROM photo WHERE hash IN (SELECT value FROM json_each(?))",
                arguments: [list]
            )
        }
    }

    /// Of all users, the latest capture first.
    func browse(skip: Int, take: Int) throws -> (photos: [PhotoRecord], total: Int) {
        try queue.read { db in
            let rows = try Row.fetchAll(
                db,
                sql: "SELECT * FROM photo ORDER BY taken_at DESC LIMIT ? OFFSET ?",
                arguments: [take, skip]
            )
            return (rows.map(PhotoRecord.init), try Int.fetchOne(db, sql: "SELECT count(*) FROM photo") ?? 0)
        }
    }
}
