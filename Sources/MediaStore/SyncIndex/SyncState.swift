public import Foundation

/// What is known of a server's photos.
public struct SyncState: Sendable, Equatable {
    /// Whose photos they are (the `account` of `SyncIndex.begin`).
    public var account: String
    /// When a run, of either kind, last came to its end; nil when none has. What was uploaded before is in the index.
    public var lastCompleteAt: Date?
    /// When the last full run that came to its end was begun: what was deleted before is marked as gone. What was deleted
    /// while it ran need not be.
    public var lastFullAt: Date?
    /// Whether a run has begun and not come to its end.
    public var hasUnfinishedRun: Bool
    /// The latest `uploadedAt` that a complete run has seen; the next incremental run begins before it.
    public var watermark: PhotoTime?
    /// The server's last `totalCount`.
    public var totalCount: Int64

    /// Makes a state.
    public init(
        account: String,
        lastCompleteAt: Date? = nil,
        lastFullAt: Date? = nil,
        hasUnfinishedRun: Bool = false,
        watermark: PhotoTime? = nil,
        totalCount: Int64 = 0
    ) {
        self.account = account
        self.lastCompleteAt = lastCompleteAt
        self.lastFullAt = lastFullAt
        self.hasUnfinishedRun = hasUnfinishedRun
        self.watermark = watermark
        self.totalCount = totalCount
    }
}

/// Photos of a server by origin.
public struct PhotoCounts: Sendable, Equatable {
    /// From this machine's device.
    public var thisDevice: Int64 = 0
    /// From other devices.
    public var otherDevices: Int64 = 0
    /// From no device.
    public var legacy: Int64 = 0
    /// No longer on the server, as far as a full run could tell; not in `total`.
    public var gone: Int64 = 0
    /// All that are there.
    public var total: Int64 { thisDevice + otherDevices + legacy }

    /// Makes counts of zero.
    public init() {}
}
