internal import MediaStore
internal import MediaTransport
internal import Testing

@testable internal import GigHive

extension Uploader {
    init(
        client: GigHiveClient,
        store: TokenStore,
        directory: DataDirectory,
        options: UploadOptions,
        schedule: OutcomeInquiry.Schedule,
        finalizeRetry: RetryPolicy = .finalize,
        hashes: HashCache? = nil
    ) {
        self.init(client: client, store: store, directory: directory, options: options, hashes: hashes)
        self.schedule = schedule
        self.finalizeRetry = finalizeRetry
    }

    func inquiry(_ upload: PreparedUpload, checksum: String) -> OutcomeInquiry {
        inquiry(
            checksum: checksum,
            fileName: upload.fileName,
            sizeBytes: upload.sizeBytes,
            event: InventoryEvent(upload.details)
        )
    }
}

extension UploadFailpoint {
    static let ofMultipart: [UploadFailpoint] = [
        .afterIntent, .midBody, .afterBody, .responseInRescueFile, .beforeTokenCommit, .afterTokenCommit,
    ]
    static let ofTus: [UploadFailpoint] = [
        .afterIntent, .afterCreate, .afterTusID, .midPatch, .afterPatch, .afterAllBytes, .finalizeSent,
        .responseInRescueFile, .beforeTokenCommit, .afterTokenCommit,
    ]
}

extension Deleter {
    /// Deletes with a token that the server must not reject.
    func delete(_ entry: TokenEntry) async -> DeleteResult {
        await delete(entry) { _ in
            Issue.record("unexpected prompt about a token")
            return .keep
        }
    }

    func deleteAsAdmin(_ entry: TokenEntry) async -> DeleteResult { await deleteAsAdmin(AdminDeletion(entry)) }
}
