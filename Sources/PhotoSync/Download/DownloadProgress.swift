/// Where a download stands.
public struct DownloadProgress: Sendable, Equatable {
    /// Photos to fetch.
    public var photos: Int64 = 0
    /// Photos that have ended.
    public var photosDone: Int64 = 0
    /// Bytes to fetch, as uploaded; the files may differ a little.
    public var bytes: Int64 = 0
    /// Bytes received.
    public var bytesReceived: Int64 = 0

    /// Makes a progress of nothing.
    package init() {}
}

/// What a download came to.
public struct DownloadResult: Sendable, Equatable {
    /// Photos by end.
    public var counts: [DownloadItem.State: Int] = [:]
    /// Bytes received.
    public var bytesReceived: Int64 = 0

    /// Makes a result of nothing.
    package init() {}
}
