package import Foundation

/// What a dead process had received.
package struct AbandonedReply: Sendable {
    /// The upload it belongs to.
    package var uploadID: String
    /// The status of the reply; nil when none had arrived.
    package var status: Int?
    /// The bytes received.
    package var body: [UInt8]
    /// The file, locked; release it when the content is committed.
    package var file: RescueFile
    /// When the last byte was written, or the file made when none was.
    package var receivedAt: Date

    /// Makes a value.
    package init(uploadID: String, status: Int?, body: [UInt8], file: RescueFile, receivedAt: Date = Date()) {
        self.uploadID = uploadID
        self.status = status
        self.body = body
        self.file = file
        self.receivedAt = receivedAt
    }
}
