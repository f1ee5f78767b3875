internal import MediaTransport

/// A file that an upload reported as stored.
public struct StoredUpload: Sendable, Equatable {
    /// The ID on the server.
    public var fileID: Int64
    /// SHA-256, 64 lowercase hexadecimal characters.
    public var checksumSHA256: String
    /// `YYYY-MM-DD`.
    public var eventDate: String
    /// Organization of the event.
    public var orgName: String

    /// Creates a value to verify.
    public init(fileID: Int64, checksumSHA256: String, eventDate: String, orgName: String) {
        self.fileID = fileID
        self.checksumSHA256 = checksumSHA256
        self.eventDate = eventDate
        self.orgName = orgName
    }
}

extension GigHiveClient {
    /// Compares uploads with the server's listing (gighive contract section 7): reads it once, and looks up every upload
    /// by checksum, ID and event. The user must be allowed to read the listing, which an event link does not permit.
    ///
    /// Canceling the task stops the listing.
    ///
    /// - Returns: The indexes of the uploads that the listing does not contain in their event under their ID.
    /// - Throws: `GigHiveError` if the listing cannot be read completely.
    public func missing(among uploads: [StoredUpload]) async throws(GigHiveError) -> [Int] {
        let index = try await InventoryIndex.fetch(self, control: TransferControl())
        guard index.isComplete else { throw .incompleteListing }
        return uploads.indices.filter { position in
            let upload = uploads[position]
            let event = InventoryEvent(date: upload.eventDate, orgName: upload.orgName)
            guard let stored = index.find(upload.checksumSHA256, in: event) else { return true }
            return stored.fileID != upload.fileID || !stored.isInEvent
        }
    }
}
