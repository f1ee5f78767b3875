public import MediaStore
public import MediaTransport

/// Rules of one run of uploads.
public struct UploadOptions: Sendable {
    /// Largest file in bytes (6 GiB unless the site says otherwise).
    public var maximumBytes: Int64
    /// Send unknown extensions and files already uploaded from here.
    public var force: Bool
    /// Tries after the first, where sending again is safe.
    public var retry: RetryPolicy
    /// Silence limits.
    public var timeouts: TransferTimeouts
    /// How long a server may go on working behind a lost answer, from the last body byte: its own limit of 300 s
    /// (gighive contract 2.6) and some more.
    public var settleTime: Duration

    /// Makes a set of rules; the defaults are those of the command line.
    public init(
        maximumBytes: Int64 = 6_442_450_944,
        force: Bool = false,
        retry: RetryPolicy = RetryPolicy(),
        timeouts: TransferTimeouts = TransferTimeouts(),
        settleTime: Duration = .seconds(330)
    ) {
        self.maximumBytes = maximumBytes
        self.force = force
        self.retry = retry
        self.timeouts = timeouts
        self.settleTime = settleTime
    }
}

/// What is uploaded.
public enum UploadSource: Sendable {
    /// A file.
    case file(path: [UInt8])
    /// Standard input, spooled already, under a name.
    case spooled(SpoolFile, name: String)
}
