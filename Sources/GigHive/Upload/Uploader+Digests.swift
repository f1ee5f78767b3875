internal import Foundation
internal import MediaStore
internal import MediaSystem
internal import MediaTransport

extension Uploader {
    /// The digest of an upload's file where it is known without reading it.
    func knownDigest(_ upload: PreparedUpload) -> String? {
        askedDigest ?? upload.identity.flatMap { hashes?.digest(of: $0) }
    }

    /// The same for the items of a batch, in their order.
    func knownDigests(_ items: [UploadBatch.Item]) -> [String?] {
        let identities = items.map { item -> FileIdentity? in
            if case .ready(let upload) = item { upload.identity } else { nil }
        }
        var known = (hashes?.digests(of: identities.compactMap(\.self)) ?? []).makeIterator()
        return identities.map { identity in identity == nil ? nil : known.next() ?? nil }
    }

    /// Keeps the digest of an upload's file, which is unchanged since it was checked.
    ///
    /// - Parameters:
    ///   - checksum: SHA-256 of the whole file.
    ///   - upload: The file.
    ///   - readingBegan: When its first byte was read.
    func keep(_ checksum: String, of upload: PreparedUpload, readingBegan: Date) {
        guard let identity = upload.identity else { return }
        hashes?.keep(checksum, for: identity, readingBegan: readingBegan)
    }

    /// Reads the whole file for its digest, on a thread of its own, and keeps it.
    ///
    /// - Returns: nil when the file is gone or changed, or the task was cancelled.
    func readDigest(of upload: PreparedUpload) async -> String? {
        guard case .file(let path) = upload.source, let identity = upload.identity else { return nil }
        let readingBegan = Date()
        guard let checksum = await FileDigest.hex(path: path, identity: identity) else { return nil }
        keep(checksum, of: upload, readingBegan: readingBegan)
        return checksum
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
