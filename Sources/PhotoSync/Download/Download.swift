public import MediaStore
public import MediaTransport

/// Fetches photos into a directory, verified (photosync contract section 6).
public struct Download: Sendable {
    /// Which photos.
    public enum Selection: Sendable, Equatable {
        /// Those that this machine has no copy of.
        case missing
        /// Those with these ids.
        case ids([String])
        /// Those uploaded at or after a time that this machine has no copy of.
        case since(PhotoTime)
    }

    /// How a download goes.
    public struct Options: Sendable, Equatable {
        /// Downloads at a time.
        public var jobs: Int
        /// Only say what would be fetched.
        public var isDryRun: Bool
        /// When a failed download is tried again; it goes on where it stopped.
        public var retry: RetryPolicy

        /// Makes options.
        public init(jobs: Int = 4, isDryRun: Bool = false, retry: RetryPolicy = RetryPolicy()) {
            self.jobs = jobs
            self.isDryRun = isDryRun
            self.retry = retry
        }
    }

    let account: SyncAccount
    let hashes: HashCache
    let options: Options

    /// Prepares a download.
    ///
    /// - Parameter hashes: Gets the digests of what is written.
    public init(_ account: SyncAccount, hashes: HashCache, options: Options = Options()) {
        self.account = account
        self.hashes = hashes
        self.options = options
    }

    /// Fetches what is selected into `YYYY/MM/` below a directory, by the day it was taken.
    ///
    /// Each file is written beside its place under a temporary name, verified, synchronised, and renamed without
    /// replacing anything. A file that is broken off goes on where it stopped.
    ///
    /// - Parameters:
    ///   - selection: Which photos of the index.
    ///   - directory: Absolute path, as bytes; made if missing.
    ///   - control: Breaks off downloads under way and begins no other.
    ///   - onItem: Told the end of each photo; from any thread, one call at a time.
    ///   - progress: From any thread, one call at a time.
    /// - Returns: The tally. Failures of single photos are items, not errors.
    /// - Throws: `PhotoSyncError` for what ends the run as a whole: `.neverSynchronized`, `.targetUnusable`,
    ///   `.invalidAPIKey`, `.cancelled` …
    public func run(
        _ selection: Selection,
        to directory: [UInt8],
        control: TransferControl = TransferControl(),
        onItem: @escaping @Sendable (DownloadItem) -> Void,
        progress: (@Sendable (DownloadProgress) -> Void)? = nil
    ) async throws(PhotoSyncError) -> DownloadResult { throw PhotoSyncError(.internalError) }
}

/// The end of one photo.
public struct DownloadItem: Sendable {
    /// What became of it.
    public enum State: String, Sendable, CaseIterable {
        /// Written; the bytes are those that were uploaded.
        case verified
        /// Written; the server has rewritten its file since it was uploaded (contract section 6, rule 3).
        case rewritten
        /// A copy was there already.
        case present
        /// A dry run: it would be fetched.
        case planned
        /// Failed; nothing stands under its name.
        case failed
        /// Not begun, or broken off, when the run was stopped.
        case cancelled
    }

    /// The photo, as the index has it; for an id that is unknown only `id` means something.
    public var id: String
    /// Its name as uploaded; nil for an unknown id.
    public var originalFilename: String?
    /// What became of it.
    public var state: State
    /// Where it is, or would be.
    public var path: [UInt8]?
    /// Bytes of the local file.
    public var sizeBytes: Int64?
    /// SHA-256 of the local bytes.
    public var sha256: String?
    /// SHA-256 of the uploaded bytes, as the server says.
    public var serverSHA256: String?
    /// Bytes that came over the network.
    public var bytesReceived: Int64
    /// Whether it went on where an earlier try had stopped.
    public var isResumed: Bool
    /// Tries.
    public var attempts: Int
    /// Why it failed.
    public var error: PhotoSyncError?

    /// Makes an item.
    public init(
        id: String,
        originalFilename: String? = nil,
        state: State,
        path: [UInt8]? = nil,
        sizeBytes: Int64? = nil,
        sha256: String? = nil,
        serverSHA256: String? = nil,
        bytesReceived: Int64 = 0,
        isResumed: Bool = false,
        attempts: Int = 0,
        error: PhotoSyncError? = nil
    ) {
        self.id = id
        self.originalFilename = originalFilename
        self.state = state
        self.path = path
        self.sizeBytes = sizeBytes
        self.sha256 = sha256
        self.serverSHA256 = serverSHA256
        self.bytesReceived = bytesReceived
        self.isResumed = isResumed
        self.attempts = attempts
        self.error = error
    }
}

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
    public init() {}
}

/// What a download came to.
public struct DownloadResult: Sendable, Equatable {
    /// Photos by end.
    public var counts: [DownloadItem.State: Int] = [:]
    /// Bytes received.
    public var bytesReceived: Int64 = 0

    /// Makes a result of nothing.
    public init() {}
}
