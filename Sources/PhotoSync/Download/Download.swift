public import MediaStore
public import MediaTransport

/// Downloads photos into a directory and verifies them (photosync contract section 6).
public struct Download: Sendable {
    /// The photos to download.
    public enum Selection: Sendable, Equatable {
        /// Photos without a copy on this machine.
        case missing
        /// Photos with these IDs.
        case ids([String])
        /// Photos uploaded at or after a time, without a copy on this machine.
        case since(PhotoTime)
    }

    /// Options of a download.
    public struct Options: Sendable, Equatable {
        /// Number of parallel downloads.
        public var jobs: Int
        /// Whether to only plan the downloads.
        public var isDryRun: Bool
        /// When to retry a failed download; a retry resumes where the download stopped.
        public var retry: RetryPolicy

        public init(jobs: Int = 4, isDryRun: Bool = false, retry: RetryPolicy = RetryPolicy()) {
            self.jobs = jobs
            self.isDryRun = isDryRun
            self.retry = retry
        }
    }

    let account: SyncAccount
    let hashes: HashCache
    let options: Options

    /// `hashes` gets the digests of the written files.
    public init(_ account: SyncAccount, hashes: HashCache, options: Options = Options()) {
        self.account = account
        self.hashes = hashes
        self.options = options
    }

    /// Downloads the selected photos to `YYYY/MM/` in a directory, by the date taken.
    ///
    /// Each file is written under a temporary name in its directory, verified, synced to disk, and renamed without
    /// replacing anything. A file that cannot be verified gets a name ending in `.unverified`. The next run downloads
    /// it again and replaces that file unless it was modified. An interrupted download resumes where it stopped. A
    /// failed photo keeps its name for the next run.
    ///
    /// A modified local copy is kept, and its photo is reported as `.present` with the error `.changedSinceUpload`; a
    /// photo selected by its ID is instead downloaded under a different name.
    ///
    /// `directory` is an absolute path, as bytes; it is created if missing. A stop cancels running downloads. `onItem` is
    /// called with the result of each photo; it and `progress` are called from any thread, one call at a time. Failures
    /// of single photos are items, not errors.
    ///
    /// - Throws: `PhotoSyncError` for errors that end the whole run, such as `.neverSynchronized`, `.targetUnusable`,
    ///   `.unauthorized` and `.cancelled`.
    public func run(
        _ selection: Selection,
        to directory: [UInt8],
        control: TransferControl = TransferControl(),
        onItem: @escaping @Sendable (DownloadItem) -> Void,
        progress: (@Sendable (DownloadProgress) -> Void)? = nil
    ) async throws(PhotoSyncError) -> DownloadResult {
        let candidates = DownloadCandidates(
            account: account,
            hashes: hashes,
            selection: selection,
            control: control
        )
        let session = session(candidates, control, onItem, progress)
        try await DownloadRun(session: session, hashes: hashes).perform(to: directory)
        return session.report.result
    }

    /// Downloads the server's thumbnails of the selected photos to `YYYY/MM/ID.thumbnail.jpg` in a directory, by the
    /// date the photos were taken.
    ///
    /// A thumbnail is not a copy of its photo: it is not recorded in the library, and push excludes it from
    /// directories. If its file exists, it is `.present` and not requested again. Each file is written under a
    /// temporary name, checked to be a complete JPEG, and renamed without replacing anything.
    ///
    /// `includesPresent` is whether `.missing` and `.since` include photos that have a copy on this machine. The other
    /// parameters and the errors are as for `run`.
    public func runThumbnails(
        _ selection: Selection,
        includesPresent: Bool = true,
        to directory: [UInt8],
        control: TransferControl = TransferControl(),
        onItem: @escaping @Sendable (DownloadItem) -> Void,
        progress: (@Sendable (DownloadProgress) -> Void)? = nil
    ) async throws(PhotoSyncError) -> DownloadResult {
        var isOfIDs = false
        if case .ids = selection { isOfIDs = true }
        let candidates = DownloadCandidates(
            account: account,
            hashes: hashes,
            selection: selection,
            control: control,
            includesPresent: includesPresent || isOfIDs
        )
        let session = session(candidates, control, onItem, progress)
        try await ThumbnailRun(session: session, isOfIDs: isOfIDs).perform(to: directory)
        return session.report.result
    }

    private func session(
        _ candidates: DownloadCandidates,
        _ control: TransferControl,
        _ onItem: @escaping @Sendable (DownloadItem) -> Void,
        _ progress: (@Sendable (DownloadProgress) -> Void)?
    ) -> DownloadSession {
        DownloadSession(
            account: account,
            options: options,
            candidates: candidates,
            control: control.linked(),
            report: DownloadReport(onItem: onItem, onProgress: progress)
        )
    }
}

/// The result for one photo.
public struct DownloadItem: Sendable {
    /// The state of a photo.
    public enum State: String, Sendable, CaseIterable {
        /// Written; the bytes match the upload.
        case verified
        /// Written; the server has rewritten its file since the upload. Structure, dimensions, length and the ID that
        /// the server writes into the file were checked (contract, new fact 1).
        case rewritten
        /// A copy, or the thumbnail, already existed.
        case present
        /// Dry run: would be downloaded.
        case planned
        /// Written under a name ending in `.unverified`, since the file could not be identified as the photo.
        case unverified
        /// The server lists the photo but does not have its file.
        case undeliverable
        /// Written: the server's thumbnail, not the photo itself.
        case thumbnail
        /// The server has no thumbnail for the photo.
        case unavailable
        /// Failed; no file was stored under its name.
        case failed
        /// Not started or interrupted, because the run was stopped or ended with `error`.
        case cancelled
    }

    /// ID of the photo; for an unknown ID, only the ID, `state` and `error` are set.
    public var id: String
    /// The photo's original name; nil for an unknown ID.
    public var originalFilename: String?
    public var state: State
    /// The existing or planned path.
    public var path: [UInt8]?
    /// Size of the local file in bytes.
    public var sizeBytes: Int64?
    /// SHA-256 of the local bytes.
    public var sha256: String?
    /// SHA-256 of the uploaded bytes, from the listing.
    public var serverSHA256: String?
    /// Bytes received over the network.
    public var bytesReceived: Int64 = 0
    /// Whether this resumed an earlier download.
    public var isResumed: Bool = false
    public var attempts: Int = 0
    public var error: PhotoSyncError?
    /// Whether the error ended the run, which then throws it.
    public var endsRun = false
}

/// Progress of a download.
public struct DownloadProgress: Sendable, Equatable {
    public var photos: Int64 = 0
    /// Number of finished photos.
    public var photosDone: Int64 = 0
    /// Bytes to download, according to the uploaded sizes; the sizes of the stored files may differ slightly.
    public var bytes: Int64 = 0
    public var bytesReceived: Int64 = 0

    package init() {}
}

/// The result of a download.
public struct DownloadResult: Sendable, Equatable {
    /// Number of photos by state.
    public var counts: [DownloadItem.State: Int] = [:]
    public var bytesReceived: Int64 = 0

    package init() {}
}

extension DownloadResult: ReportedResult {
    static var nothing: (result: DownloadResult, progress: DownloadProgress) { (DownloadResult(), DownloadProgress()) }

    mutating func count(_ item: DownloadItem) {
        counts[item.state, default: 0] += 1
        bytesReceived += item.bytesReceived
    }
}

typealias DownloadReport = RunReport<DownloadResult>

extension DownloadReport {
    func received(_ byteCount: Int64) {
        if byteCount > 0 { progress { $0.bytesReceived += byteCount } }
    }

    /// Reports the result of a photo to download.
    func endWanted(_ item: DownloadItem) {
        end(item)
        progress { $0.photosDone += 1 }
    }
}

/// A photo to download, with its planned name.
struct PlannedDownload: Sendable {
    let photo: PhotoRecord
    var place: DownloadPlace
    var copy: PhotoCopy
    /// The temporary file of an earlier run whose name can no longer be used.
    var abandoned: String?
    /// The file that an earlier run could not verify.
    var unverified: UnverifiedFile?

    var temporaryName: String { copy.temporaryName ?? "" }
}
