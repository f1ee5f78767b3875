public import Foundation

/// What a dead process had received.
public struct AbandonedReply: Sendable {
    /// The upload it belongs to.
    public var uploadID: String
    /// The status of the reply; nil when none had arrived.
    public var status: Int?
    /// The bytes received.
    public var body: [UInt8]
    /// The file, locked; release it when the content is committed.
    public var file: RescueFile
    /// When the last byte was written, or the file made when none was.
    public var receivedAt: Date

    /// Makes a value.
    public init(uploadID: String, status: Int?, body: [UInt8], file: RescueFile, receivedAt: Date = Date()) {
        self.uploadID = uploadID
        self.status = status
        self.body = body
        self.file = file
        self.receivedAt = receivedAt
    }
}
