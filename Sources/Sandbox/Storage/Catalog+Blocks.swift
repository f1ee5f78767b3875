import GRDB

extension Catalog {
    /// Stores a complete tus upload of D4 (gighive-d4 contract 4.6, 6).
    ///
    /// The file is moved first, so a refused event leaves it without a row: readable, but in no listing.
    /// - Returns: The asset's id; the existing one when the bytes are known.
    /// - Throws: ``UploadFields/Refusal`` for event fields that the database does not accept, ``SystemError``.
    func store(_ file: FinishedUpload, _ metadata: BlockMetadata) throws -> Int {
        let path = folder.mediaPath(metadata.kind, "\(file.checksum).\(metadata.fileExtension)")
        try file.keep(at: path)
        return try queue.write { db in
            let asset = try Asset.find(checksum: file.checksum, db) ?? insert(file, metadata, path, db)
            guard let fields = try metadata.eventFields() else { return asset.id }
            let event = try ensureEvent(fields, db)
            if try !isLinked(asset, to: event, db) {
                _ = try insertItem(asset, event: event, position: nextPosition(in: event, db), fields, db)
            }
            return asset.id
        }
    }

    /// The row has the duration at once; on the real server a job adds it later.
    private func insert(
        _ file: FinishedUpload,
        _ metadata: BlockMetadata,
        _ path: String,
        _ db: Database
    ) throws -> Asset {
        try Asset.insert(
            checksum: file.checksum,
            fileExtension: metadata.fileExtension,
            kind: metadata.kind,
            mimeType: metadata.mimeType,
            size: file.size,
            duration: MovieDuration.seconds(ofFileAt: path),
            sourceName: "\(metadata.kind.rawValue)/\(file.checksum).\(metadata.fileExtension)",
            tokenHash: nil,
            db
        )
    }
}
