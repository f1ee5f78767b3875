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
    /// - Parameters:
    ///   - account: The user, the server, and what is known of both.
    ///   - hashes: Gets the digests of what is written.
    ///   - options: How it goes.
    public init(_ account: SyncAccount, hashes: HashCache, options: Options = Options()) {
        self.account = account
        self.hashes = hashes
        self.options = options
    }

    /// Fetches what is selected into `YYYY/MM/` below a directory, by the day it was taken.
    ///
    /// Each file is written beside its place under a temporary name, verified, synchronised, and renamed without
    /// replacing anything. A file that is broken off goes on where it stopped. A photo that failed keeps its name for the
    /// next run.
    ///
    /// Where the local copy of a photo has been changed since, it stays as it is, and the photo is told as `.present` with
    /// the error `.sourceChanged`; one that is asked for by its id is fetched under another name instead.
    ///
    /// - Parameters:
    ///   - selection: Which photos of the index.
    ///   - directory: Absolute path, as bytes; made if missing.
    ///   - control: Breaks off downloads under way and begins no other.
    ///   - onItem: Told the end of each photo; from any thread, one call at a time.
    ///   - progress: From any thread, one call at a time.
    /// - Returns: The tally. Failures of single photos are items, not errors.
    /// - Throws: `PhotoSyncError` for what ends the run as a whole: `.neverSynchronized`, `.targetUnusable`,
    ///   `.unauthorized`, `.cancelled` …
    public func run(
        _ selection: Selection,
        to directory: [UInt8],
        control: TransferControl = TransferControl(),
        onItem: @escaping @Sendable (DownloadItem) -> Void,
        progress: (@Sendable (DownloadProgress) -> Void)? = nil
    ) async throws(PhotoSyncError) -> DownloadResult {
        let teller = DownloadTeller(onItem: onItem, progress: progress)
        let run = DownloadRun(
            account: account,
            hashes: hashes,
            options: options,
            candidates: DownloadCandidates(account: account, selection: selection),
            control: control.linked(),
            teller: teller
        )
        try await run.perform(to: directory)
        return teller.result
    }
}
