internal import Foundation
internal import MediaStore
internal import MediaTransport

extension Uploader {
    /// The digest of an upload's file where it is known without reading it.
    func knownDigest(_ upload: PreparedUpload) -> String? {
        upload.identity.flatMap { hashes?.digest(of: $0) }
    }

    /// Keeps the digest of an upload's file, which was read from start to end and is unchanged since it was checked.
    func keep(_ checksum: String, of upload: PreparedUpload) {
        guard let identity = upload.identity else { return }
        hashes?.keep(checksum, for: identity)
    }

    /// The row that an upload begins with.
    func record(of upload: PreparedUpload) -> UploadRecord {
        let now = Date()
        return UploadRecord(
            uploadID: TokenStore.newUploadID(),
            path: upload.journalPath,
            state: .sending,
            host: client.server.scope,
            baseURL: client.server.description,
            fields: upload.details.fields,
            identity: upload.identity,
            sizeBytes: upload.sizeBytes,
            createdAt: now,
            updatedAt: now
        )
    }
}
