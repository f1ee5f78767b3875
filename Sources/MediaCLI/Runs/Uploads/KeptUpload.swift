internal import Foundation
internal import MediaFiles
internal import MediaStore

/// A file on a server that can be taken back from here: by its delete token, or as a guest.
struct KeptUpload: Sendable {
    var host: String
    var fileID: Int64
    var createdAt: Date
    var eventDate: String
    var orgName: String
    var eventType: String
    var label: String?
    var fileName: String
    var fileType: String?
    var checksumSHA256: String?
    var sizeBytes: Int64
    var server: String
    var isSuperseded: Bool
    /// Nil for what a guest has uploaded.
    var token: DeleteToken?
    /// How its bytes went; nil when the journal was not asked or does not know.
    var transport: UploadTransport?
    var isGuest = false

    /// The label, or the file's name when there is none.
    var title: String { label.flatMap { $0.isEmpty ? nil : $0 } ?? fileName }

    init(_ entry: TokenEntry) {
        host = entry.host
        fileID = entry.fileID
        createdAt = entry.createdAt
        eventDate = entry.eventDate
        orgName = entry.orgName
        eventType = entry.eventType
        label = entry.label
        fileName = entry.fileName
        fileType = entry.fileType
        checksumSHA256 = entry.checksumSHA256.isEmpty ? nil : entry.checksumSHA256
        sizeBytes = entry.sizeBytes
        server = entry.baseURL
        isSuperseded = entry.isSuperseded
        token = entry.token
    }

    /// A guest's upload of the journal; nil when the server has given it no number.
    init?(guest record: UploadRecord) {
        guard let fileID = record.fileID else { return nil }
        let fields = Dictionary(record.fields.map { ($0.name, $0.value) }) { $1 }
        self.fileID = fileID
        host = record.host
        createdAt = record.createdAt
        eventDate = fields["event_date"] ?? ""
        orgName = fields["org_name"] ?? ""
        eventType = fields["event_type"] ?? ""
        label = fields["label"]
        fileName = record.path.fileName
        checksumSHA256 = record.checksumSHA256
        sizeBytes = record.sizeBytes
        server = record.baseURL
        isSuperseded = false
        transport = record.transport
        isGuest = true
    }
}

extension StoreSession {
    /// Everything that can be taken back, newest first.
    ///
    /// - Throws: `StoreError`.
    func keptUploads(host: String?) throws -> [KeptUpload] {
        let guests = try store.guestUploads(host: host).filter(\.isHeldForGuest)
        let tokens = try store.tokens(host: host).map { KeptUpload($0) }
        return guests.isEmpty ? tokens : Self.merged(tokens, guests)
    }

    /// What is known of a number, older entries included, with the way its bytes went.
    ///
    /// - Throws: `StoreError`.
    func keptUploads(host: String?, fileID: Int64) throws -> [KeptUpload] {
        let guests = try store.guestUploads(host: host).filter { $0.fileID == fileID && $0.isHeldForGuest }
        let entries = try store.tokens(host: host, includeSuperseded: true).filter { $0.fileID == fileID }
        var uploads = Self.merged(entries.map { KeptUpload($0) }, guests)
        for index in uploads.indices where uploads[index].transport == nil {
            guard let checksum = uploads[index].checksumSHA256 else { continue }
            uploads[index].transport = try store.uploads(checksumSHA256: checksum, host: uploads[index].host)
                .first { $0.fileID == fileID && $0.state == .done }?.transport
        }
        return uploads
    }

    /// A guest may have been given a token as well; that is one upload, not two.
    private static func merged(_ tokens: [KeptUpload], _ guests: [UploadRecord]) -> [KeptUpload] {
        var uploads = tokens
        for guest in guests.compactMap({ KeptUpload(guest: $0) }) {
            let known = uploads.firstIndex {
                $0.host == guest.host && $0.fileID == guest.fileID && $0.checksumSHA256 == guest.checksumSHA256
            }
            if let known {
                uploads[known].isGuest = true
                uploads[known].transport = guest.transport
            } else {
                uploads.append(guest)
            }
        }
        return uploads.sorted { $0.createdAt > $1.createdAt }
    }
}
