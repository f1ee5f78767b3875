internal import Foundation
internal import MediaCore
internal import MediaFiles
internal import MediaStore
internal import MediaTransport

/// What the store and the row know besides.
extension UploadSettlement {
    /// The entry for the token of a reply; nil without token or id.
    func entry(_ reply: UploadReply) -> TokenEntry? {
        guard let token = reply.deleteToken, let fileID = reply.fileID else { return nil }
        let field = { (name: String) in record.fields.first { $0.name == name }?.value }
        // The server normalizes text (trap T27): operators see and search for the normalized text.
        let stored = reply.stored
        let guessed = AcceptedMedia.kind(ofExtension: FileName.pathExtension(of: result.fileName))
        return TokenEntry(
            host: record.host,
            fileID: fileID,
            token: token,
            createdAt: Date(),
            eventDate: stored?.eventDate ?? field("event_date") ?? "",
            orgName: stored?.orgName ?? field("org_name") ?? "",
            eventType: stored?.eventType ?? field("event_type") ?? "",
            label: stored?.label ?? field("label"),
            fileName: result.fileName,
            fileType: reply.fileType ?? guessed ?? "",
            checksumSHA256: reply.checksumSHA256 ?? record.checksumSHA256 ?? "",
            sizeBytes: record.sizeBytes > 0 ? record.sizeBytes : reply.sizeBytes ?? 0,
            baseURL: record.baseURL
        )
    }

    /// The stored file that a response describes; nil if it has no event.
    func storedFile(_ reply: UploadReply) -> StoredFile? {
        guard let fileID = reply.fileID, let facts = reply.stored, facts.eventDate != nil || facts.orgName != nil else {
            return nil
        }
        let checksum = reply.checksumSHA256 ?? record.checksumSHA256 ?? ""
        return StoredFile(host: record.host, fileID: fileID, checksumSHA256: checksum, facts: facts)
    }

    /// Tokens of this machine for a stored file. The id is compared as well where it is known, because a rebuilt server
    /// gives the same bytes a new id and forgets old tokens (gighive contract section 0).
    func knownTokens(fileID: Int64?, checksum: String?) -> [TokenEntry] {
        guard let checksum, let rows = try? store.tokens(host: record.host, checksumSHA256: checksum) else { return [] }
        return rows.filter { !$0.isSuperseded && (fileID == nil || $0.fileID == fileID) }
    }

    /// Where the media is served: `/audio/` or `/video/`, then digest and extension (trap T16). What the server does not
    /// report is taken from the local name.
    func mediaURL(_ served: ServedName?) -> String? {
        let localExtension = FileName.pathExtension(of: result.fileName)
        let pathExtension = served?.pathExtension ?? localExtension
        guard result.fileID != nil, let checksum = record.checksumSHA256,
            let kind = served?.kind ?? AcceptedMedia.kind(ofExtension: localExtension),
            ["audio", "video"].contains(kind)
        else { return nil }
        let suffix = pathExtension.isEmpty ? "" : "." + PercentEncoding.encode(pathExtension)
        return "\(record.baseURL)/\(kind)/\(checksum)\(suffix)"
    }
}
