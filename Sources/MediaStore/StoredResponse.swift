package import Foundation
internal import MediaSystem

/// A response on the disk whose process has ended. It belongs to the caller until it is released or let go.
package struct StoredResponse: Sendable {
    /// The upload it belongs to; empty if the file does not name one.
    package var uploadID: String
    /// The status of the response; nil if none had arrived, or if the file does not name one.
    package var status: Int?
    /// The bytes received.
    package var body: [UInt8]
    /// When the last byte was written.
    package var receivedAt: Date
    /// The file it is stored in.
    package var path: String
    /// Whether the file has the format of a response; others are only listed.
    package var isReadable = true

    private let remove: @Sendable () -> Void

    /// Makes a value.
    ///
    /// - Parameters:
    ///   - uploadID: The upload.
    ///   - status: The status.
    ///   - body: The bytes.
    ///   - receivedAt: When the last byte was written.
    ///   - path: The file.
    ///   - remove: Removes the response from the disk; it keeps the file locked while it exists.
    init(
        uploadID: String,
        status: Int?,
        body: [UInt8],
        receivedAt: Date,
        path: String,
        remove: @escaping @Sendable () -> Void
    ) {
        self.uploadID = uploadID
        self.status = status
        self.body = body
        self.receivedAt = receivedAt
        self.path = path
        self.remove = remove
    }

    /// `r-` and eight characters that follow from the content, so that it stays the same.
    package var id: String {
        let check = CyclicCheck.castagnoli.of("\(uploadID) \(status ?? 0) ".utf8)
        let digits = String(CyclicCheck.castagnoli.of(body, after: check), radix: 16)
        return "r-" + String(repeating: "0", count: max(0, 8 - digits.count)) + digits
    }

    /// Removes the response from the disk: its token is stored elsewhere, or is not needed.
    package func release() { remove() }
}

extension StoredResponse {
    /// All responses that ended processes have left, readable ones first.
    ///
    /// - Parameter directory: The data directory.
    /// - Returns: The responses, each locked until it is let go.
    /// - Throws: `StoreError`.
    package static func abandoned(in directory: DataDirectory) throws(StoreError) -> [StoredResponse] {
        var responses = try RescueFile.abandoned(in: directory).map { StoredResponse($0) }
        for path in try RescueFile.unreadable(in: directory) {
            guard let file = try LockedFile.existing(path) else { continue }
            var response = StoredResponse(
                uploadID: "",
                status: nil,
                body: try file.readAll(),
                receivedAt: Date(timeIntervalSince1970: FileStatus(descriptor: file.descriptor)?.modifiedAt ?? 0),
                path: path,
                remove: { file.remove() }
            )
            response.isReadable = false
            responses.append(response)
        }
        return responses
    }

    private init(_ reply: AbandonedReply) {
        self.init(
            uploadID: reply.uploadID,
            status: reply.status,
            body: reply.body,
            receivedAt: reply.receivedAt,
            path: reply.file.path,
            remove: { reply.file.release() }
        )
    }
}
