public import MediaFiles
public import MediaStore
public import MediaTransport

/// Sends the photos of this machine that the server has not (photosync contract section 3 and section 10).
public struct Push: Sendable {
    /// How a push goes.
    public struct Options: Sendable, Equatable {
        /// Which files of directories are meant.
        public var filter: PathFilter
        /// Whether directories are walked into.
        public var isRecursive: Bool
        /// Uploads at a time.
        public var jobs: Int
        /// Threads that read and hash; nil for one a core.
        public var hashers: Int?
        /// Largest file in bytes (contract 3.2).
        public var maximumBytes: Int64
        /// Only say what would be sent. Asks the server, changes nothing there.
        public var isDryRun: Bool
        /// When a failed upload is tried again.
        public var retry: RetryPolicy

        /// Makes options.
        public init(
            filter: PathFilter = PathFilter(),
            isRecursive: Bool = true,
            jobs: Int = 2,
            hashers: Int? = nil,
            maximumBytes: Int64 = 50 << 20,
            isDryRun: Bool = false,
            retry: RetryPolicy = RetryPolicy()
        ) {
            self.filter = filter
            self.isRecursive = isRecursive
            self.jobs = jobs
            self.hashers = hashers
            self.maximumBytes = maximumBytes
            self.isDryRun = isDryRun
            self.retry = retry
        }
    }

    let account: SyncAccount
    let hashes: HashCache
    let options: Options

    /// Prepares a push.
    ///
    /// - Parameter hashes: Spares unchanged files from being read.
    public init(_ account: SyncAccount, hashes: HashCache, options: Options = Options()) {
        self.account = account
        self.hashes = hashes
        self.options = options
    }

    /// Walks, hashes, asks, sends what is missing, and confirms by the own listing that what was sent is owned. Local files
    /// are only ever read.
    ///
    /// - Parameters:
    ///   - paths: Files and directories, as bytes.
    ///   - control: Lets uploads under way break off and takes no further file.
    ///   - onItem: Told the end of each file, as soon as it is known; from any thread, one call at a time.
    ///   - progress: From any thread, one call at a time.
    /// - Returns: The tally. Failures of single files are items, not errors.
    /// - Throws: `PhotoSyncError` for what ends the run as a whole: `.ownershipDefect` after the first upload to a server
    ///   that does not record who sent it, `.noDevice`, `.invalidAPIKey`, `.setupRequired`, `.cancelled` …
    public func run(
        _ paths: [[UInt8]],
        control: TransferControl = TransferControl(),
        onItem: @escaping @Sendable (PushItem) -> Void,
        progress: (@Sendable (PushProgress) -> Void)? = nil
    ) async throws(PhotoSyncError) -> PushResult { throw PhotoSyncError(.internalError) }
}

/// The end of one local file.
public struct PushItem: Sendable {
    /// What became of it.
    public enum State: String, Sendable, CaseIterable {
        /// Sent, and seen in the user's own listing.
        case uploaded
        /// Sent with success; the listing did not show it (yet).
        case unconfirmed
        /// It was there already, and is the user's own.
        case present
        /// The server has the bytes, but not for this user: another user's or nobody's (trap 11).
        case foreign
        /// A dry run: it would be sent.
        case planned
        /// Not a photo that the server takes; never tried.
        case skipped
        /// Failed.
        case failed
        /// Not begun, or broken off, when the run was stopped.
        case cancelled
    }

    /// The file.
    public var path: [UInt8]
    /// What became of it.
    public var state: State
    /// Its length in bytes; nil when unknown.
    public var sizeBytes: Int64?
    /// Its SHA-256; nil when it was not read.
    public var sha256: String?
    /// The server's id of the photo.
    public var photoID: String?
    /// What was, or would be, sent as `dateTaken`.
    public var takenAt: PhotoTime?
    /// Body bytes that were sent.
    public var bytesSent: Int64
    /// Tries.
    public var attempts: Int
    /// Why it failed or was skipped.
    public var error: PhotoSyncError?

    /// Makes an item.
    public init(
        path: [UInt8],
        state: State,
        sizeBytes: Int64? = nil,
        sha256: String? = nil,
        photoID: String? = nil,
        takenAt: PhotoTime? = nil,
        bytesSent: Int64 = 0,
        attempts: Int = 0,
        error: PhotoSyncError? = nil
    ) {
        self.path = path
        self.state = state
        self.sizeBytes = sizeBytes
        self.sha256 = sha256
        self.photoID = photoID
        self.takenAt = takenAt
        self.bytesSent = bytesSent
        self.attempts = attempts
        self.error = error
    }
}

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
    public init() {}
}

/// What a push came to.
public struct PushResult: Sendable, Equatable {
    /// Files by end.
    public var counts: [PushItem.State: Int] = [:]
    /// Body bytes sent.
    public var bytesSent: Int64 = 0

    /// Makes a result of nothing.
    public init() {}
}
