public import MediaTransport

/// How a download was answered.
public struct DownloadAnswer: Sendable {
    /// What the answer says of the file.
    public var head: DownloadHead
    /// What the transfer did.
    public var metrics: TransferMetrics

    /// Makes an answer.
    package init(head: DownloadHead, metrics: TransferMetrics) {
        self.head = head
        self.metrics = metrics
    }
}
