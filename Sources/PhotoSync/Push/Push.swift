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
    /// - Parameters:
    ///   - account: The user, as the device that photos come from.
    ///   - hashes: Spares unchanged files from being read.
    ///   - options: How it goes.
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
    ///   that does not record who sent it, `.noDevice`, `.unauthorized`, `.setupRequired`, `.cancelled` …
    public func run(
        _ paths: [[UInt8]],
        control: TransferControl = TransferControl(),
        onItem: @escaping @Sendable (PushItem) -> Void,
        progress: (@Sendable (PushProgress) -> Void)? = nil
    ) async throws(PhotoSyncError) -> PushResult {
        // Cancelling the task is a stop like any other.
        let control = control.linked()
        let report = PushReport(onItem: onItem, onProgress: progress)
        let run = PushRun(account: account, hashes: hashes, options: options, control: control, report: report)
        do {
            return try await withTaskCancellationHandler {
                try await run.run(paths)
            } onCancel: {
                control.abandon()
            }
        } catch {
            throw PhotoSyncError.ofStore(error)
        }
    }
}
