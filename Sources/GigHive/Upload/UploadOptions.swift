public import MediaStore
public import MediaTransport
public import Tus

/// Rules of one run of uploads.
public struct UploadOptions: Sendable {
    /// Largest file in bytes (6 GiB unless the site says otherwise).
    public var maximumBytes: Int64
    /// Send files with unknown extensions.
    public var anyExtension: Bool
    /// Upload files even if they are already in the event.
    public var again: Bool
    /// Tries after the first, where sending again is safe.
    public var retry: RetryPolicy
    /// Silence limits.
    public var timeouts: TransferTimeouts
    /// How long a server may go on working behind a lost answer, from the last body byte: its own limit of 300 s
    /// (gighive contract 2.6) and some more.
    public var settleTime: Duration
    /// How the bytes go.
    public var transport: TransportChoice
    /// Size and adaptation of tus chunks.
    public var chunks: TusSendOptions
    /// Parts that one file is sent in at once over tus; more than 1 needs the server's concatenation extension, and the
    /// file is then read once more for its hash.
    public var parallelParts: Int
    /// An event link instead of a login; uploads then go over tus only.
    public var guest: GuestAccess?
    /// From this size on, a file that travels slowly is hashed ahead of its transfer, so that a copy which the server
    /// has already is found before all of it was sent. Bytes.
    public var lookAheadBytes: Int64

    /// Which transport a file takes.
    public enum TransportChoice: String, Sendable, CaseIterable {
        /// tus from 64 MiB where the server offers it, else multipart.
        case auto
        /// One request, whatever the size.
        case multipart
        /// Resumable; an error where the server does not offer it.
        case tus
    }

    /// Makes a set of rules; the defaults are those of the command line.
    public init(
        maximumBytes: Int64 = 6_442_450_944,
        anyExtension: Bool = false,
        again: Bool = false,
        retry: RetryPolicy = RetryPolicy(),
        timeouts: TransferTimeouts = TransferTimeouts(),
        settleTime: Duration = .seconds(330),
        transport: TransportChoice = .auto,
        chunks: TusSendOptions = TusSendOptions(),
        parallelParts: Int = 1,
        guest: GuestAccess? = nil,
        lookAheadBytes: Int64 = 8 << 20
    ) {
        self.maximumBytes = maximumBytes
        self.anyExtension = anyExtension
        self.again = again
        self.retry = retry
        self.timeouts = timeouts
        self.settleTime = settleTime
        self.transport = transport
        self.chunks = chunks
        self.parallelParts = parallelParts
        self.guest = guest
        self.lookAheadBytes = lookAheadBytes
    }
}

/// What is uploaded.
public enum UploadSource: Sendable {
    /// A file.
    case file(path: [UInt8])
    /// Standard input, spooled already, under a name.
    case spooled(SpoolFile, name: String)
}
