/// Where a push stands.
public struct PushProgress: Sendable, Equatable {
    /// Files found so far.
    public var filesFound: Int = 0
    /// Files whose digest is known.
    public var filesHashed: Int = 0
    /// Files that are to be sent, as far as known.
    public var filesToSend: Int = 0
    /// Files that have been sent.
    public var filesSent: Int = 0
    /// Bytes read for hashing.
    public var bytesHashed: Int64 = 0
    /// Bytes of the files to send.
    public var bytesToSend: Int64 = 0
    /// Bytes that the server's kernel has acknowledged.
    public var bytesSent: Int64 = 0

    /// Makes a progress of nothing.
    package init() {}
}

/// What a push came to.
public struct PushResult: Sendable, Equatable {
    /// Files by end.
    public var counts: [PushItem.State: Int] = [:]
    /// Body bytes sent.
    public var bytesSent: Int64 = 0

    /// Makes a result of nothing.
    package init() {}
}
