public import MediaStore
public import MediaTransport
internal import Synchronization

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
    public var bytesReceived: Int64 = 0
    /// Whether it went on where an earlier try had stopped.
    public var isResumed: Bool = false
    /// Tries.
    public var attempts: Int = 0
    /// Why it failed.
    public var error: PhotoSyncError?
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

    package init() {}
}

/// What a download came to.
public struct DownloadResult: Sendable, Equatable {
    /// Photos by end.
    public var counts: [DownloadItem.State: Int] = [:]
    /// Bytes received.
    public var bytesReceived: Int64 = 0

    package init() {}
}

/// Tells what happens to whoever called, one call at a time, and keeps the tally.
final class DownloadTeller: Sendable {
    private struct State {
        var result = DownloadResult()
        var progress = DownloadProgress()
    }

    private let state = Mutex(State())
    private let onItem: @Sendable (DownloadItem) -> Void
    private let progress: (@Sendable (DownloadProgress) -> Void)?

    init(
        onItem: @escaping @Sendable (DownloadItem) -> Void,
        progress: (@Sendable (DownloadProgress) -> Void)?
    ) {
        self.onItem = onItem
        self.progress = progress
    }

    /// Whether anybody wants to know how much there is to do.
    var wantsProgress: Bool { progress != nil }

    var result: DownloadResult { state.withLock { $0.result } }

    /// What there is to fetch.
    func expect(photos: Int64, bytes: Int64) {
        tell { progress in
            progress.photos = photos
            progress.bytes = bytes
        }
    }

    /// Bytes that have come.
    func received(_ byteCount: Int64) {
        guard byteCount > 0 else { return }
        tell { $0.bytesReceived += byteCount }
    }

    /// The end of a photo.
    ///
    /// - Parameters:
    ///   - item: The end.
    ///   - isCounted: Whether it is one of those that were to be fetched.
    func ended(_ item: DownloadItem, isCounted: Bool) {
        state.withLock { state in
            state.result.counts[item.state, default: 0] += 1
            state.result.bytesReceived += item.bytesReceived
            onItem(item)
            guard isCounted else { return }
            state.progress.photosDone += 1
            progress?(state.progress)
        }
    }

    /// The lock is held while the caller is told: that is what makes it one call at a time.
    private func tell(_ change: (inout DownloadProgress) -> Void) {
        state.withLock { state in
            change(&state.progress)
            progress?(state.progress)
        }
    }
}

/// A photo that is going to be fetched, with the name that it has been given.
struct PlannedDownload: Sendable {
    let photo: PhotoRecord
    var place: DownloadPlace
    /// As the library has it.
    var copy: PhotoCopy
    /// What an earlier run left under a name that cannot be used any more.
    var abandoned: String?

    var temporaryName: String { copy.temporaryName ?? "" }
}
