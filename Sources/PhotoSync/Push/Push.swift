internal import Foundation
internal import MediaCore
public import MediaFiles
public import MediaStore
internal import MediaSystem
public import MediaTransport

/// Uploads the photos on this machine that are not on the server (photosync contract sections 3 and 10).
public struct Push: Sendable {
    /// Options of a push.
    public struct Options: Sendable, Equatable {
        /// Selects files in directories.
        public var filter: PathFilter
        /// Number of parallel uploads.
        public var jobs: Int
        /// Number of threads that read and hash; nil for one per core.
        public var hashers: Int?
        /// Maximum file size in bytes (contract 3.2).
        public var maximumBytes: Int64
        /// Whether to only plan the uploads. Queries the server without changing it.
        public var isDryRun: Bool
        /// When a failed upload is retried.
        public var retry: RetryPolicy
        /// Whether to upload files as new photos if they changed since they were uploaded or downloaded.
        public var sendsChanged: Bool
        /// Whether to upload photos again if they were deleted on the server; if the deletion was accepted, this
        /// applies only to specified files.
        public var restores: Bool
        /// Whether to exclude hidden directories, trash, thumbnails and system files in directories.
        public var usesDefaultExcludes: Bool
        /// How long to wait while another process pushes to this server.
        public var lockTimeout: Duration = .seconds(600)

        public init(
            filter: PathFilter = PathFilter(),
            jobs: Int = 2,
            hashers: Int? = nil,
            maximumBytes: Int64 = 50 << 20,
            isDryRun: Bool = false,
            retry: RetryPolicy = RetryPolicy(),
            sendsChanged: Bool = false,
            restores: Bool = false,
            usesDefaultExcludes: Bool = true
        ) {
            self.filter = filter
            self.jobs = jobs
            self.hashers = hashers
            self.maximumBytes = maximumBytes
            self.isDryRun = isDryRun
            self.retry = retry
            self.sendsChanged = sendsChanged
            self.restores = restores
            self.usesDefaultExcludes = usesDefaultExcludes
        }
    }

    let account: SyncAccount
    let hashes: HashCache
    let options: Options

    /// `account` contains the photos' origin device. Files with a digest in `hashes` are not read again.
    public init(_ account: SyncAccount, hashes: HashCache, options: Options = Options()) {
        self.account = account
        self.hashes = hashes
        self.options = options
    }

    /// Walks directories, hashes files, uploads missing photos, and confirms in the user's own listing that the user
    /// owns them. Local files are never modified.
    ///
    /// `paths` are files and directories, as bytes. A stop cancels running uploads. `onItem` is called with the result of
    /// each file as soon as it is known; it and `progress` are called from any thread, one call at a time. Failures of
    /// single files are items, not errors.
    ///
    /// - Throws: `PhotoSyncError` for errors that end the whole run, such as `.noDevice`, `.unauthorized`,
    ///   `.setupRequired` and `.cancelled`; `.ownershipDefect` after the first upload to a server that does not record
    ///   owners; `.busy` if another process pushes to this server for longer than `lockTimeout`.
    public func run(
        _ paths: [[UInt8]],
        control: TransferControl = TransferControl(),
        onItem: @escaping @Sendable (PushItem) -> Void,
        progress: (@Sendable (PushProgress) -> Void)? = nil
    ) async throws(PhotoSyncError) -> PushResult {
        // Canceling the task stops the run.
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

/// The result for one local file.
public struct PushItem: Sendable {
    /// The state of a file.
    public enum State: String, Sendable, CaseIterable {
        /// Uploaded, and in the user's own listing.
        case uploaded
        /// Uploaded successfully, but not in the listing (yet).
        case unconfirmed
        /// Already on the server and owned by the user.
        case present
        /// Has the same bytes as another file in the run, which was uploaded (in a dry run: would be uploaded).
        case duplicate
        /// On the server, but owned by another user or by no one (trap 11).
        case foreign
        /// Dry run: would be uploaded.
        case planned
        /// The file changed since it was uploaded or downloaded: edited or damaged. Not uploaded.
        case changed
        /// The photo was deleted on the server; not uploaded again.
        case deleted
        /// Like `deleted`, but the user has accepted the deletion.
        case forgotten
        /// Not a photo format that the server accepts, not a regular file, or a link to a directory; not attempted.
        case skipped
        /// Excluded by default, such as trash and thumbnails: a file, or a directory that was not entered.
        case excluded
        case failed
        /// Not started or interrupted, because the run was stopped or ended with `error`.
        case cancelled
    }

    public var path: [UInt8]
    public var state: State
    /// The file's size in bytes; nil if unknown.
    public var sizeBytes: Int64?
    /// The file's SHA-256; nil if the file was not read.
    public var sha256: String?
    /// The photo's ID on the server.
    public var photoID: String?
    /// The `dateTaken` value, sent or planned.
    public var takenAt: PhotoTime?
    /// Body bytes sent.
    public var bytesSent: Int64 = 0
    public var attempts: Int = 0
    /// Why the file failed, was skipped, or was not started.
    public var error: PhotoSyncError?
    /// Whether the error ended the run, which then throws it.
    public var endsRun = false
}

/// Progress of a push.
public struct PushProgress: Sendable, Equatable {
    /// Number of files found so far.
    public var filesFound: Int = 0
    /// Number of files with a known digest.
    public var filesHashed: Int = 0
    /// Number of files known so far that are to be uploaded.
    public var filesToSend: Int = 0
    /// Number of files uploaded.
    public var filesSent: Int = 0
    /// Bytes read for hashing.
    public var bytesHashed: Int64 = 0
    /// Total size in bytes of the files to upload.
    public var bytesToSend: Int64 = 0
    /// Bytes that the server's kernel has acknowledged.
    public var bytesSent: Int64 = 0
    /// ID of the process that is pushing to this server, 0 if unknown; nil if the push is not waiting for a process.
    public var waitsForProcess: Int32?

    package init() {}
}

/// The result of a push.
public struct PushResult: Sendable, Equatable {
    /// Number of files by state.
    public var counts: [PushItem.State: Int] = [:]
    /// Body bytes sent.
    public var bytesSent: Int64 = 0

    package init() {}
}

extension PushResult: ReportedResult {
    static var nothing: (result: PushResult, progress: PushProgress) { (PushResult(), PushProgress()) }

    mutating func count(_ item: PushItem) {
        counts[item.state, default: 0] += 1
        bytesSent += item.bytesSent
    }
}

typealias PushReport = RunReport<PushResult>

struct PushCandidate: Sendable {
    var path: [UInt8]
    /// Whether the user specified the file. If so, an unsuitable file is a failure; an unsuitable file found in a
    /// directory is skipped.
    var isNamed: Bool

    /// Extensions that servers accept, in lowercase (photosync contract 3.2).
    private static let extensions: Set<String> = ["jpg", "jpeg", "png", "gif", "webp", "heic", "heif"]

    /// The last component of the path. Invalid UTF-8 becomes U+FFFD, since the server stores names as text.
    var fileName: String { path.fileName }

    var objection: PhotoSyncError? {
        let pathExtension = MediaType.pathExtension(of: fileName).lowercased()
        guard !Self.extensions.contains(pathExtension) else { return nil }
        return PhotoSyncError(.unknownExtension, path: path, value: pathExtension)
    }

    func objection(toBytes byteCount: Int64, maximum: Int64) -> PhotoSyncError? {
        if byteCount == 0 { return PhotoSyncError(.emptyFile, path: path) }
        guard byteCount > maximum else { return nil }
        return PhotoSyncError(.fileTooLarge, path: path, value: String(byteCount), limit: maximum)
    }

    /// A photo that is too large is a failure even if found in a directory: it would not be backed up.
    func refused(_ error: PhotoSyncError, sizeBytes: Int64? = nil) -> PushItem {
        let isFailure = isNamed || error.code == .fileTooLarge
        return PushItem(path: path, state: isFailure ? .failed : .skipped, sizeBytes: sizeBytes, error: error)
    }

    /// The absolute path, as stored for copies.
    var absolutePath: [UInt8] { path.absolute(from: CurrentDirectory.path ?? []) }
}

struct PushPlan: Sendable {
    /// Files to hash; each path occurs once.
    var candidates: [PushCandidate] = []
    var ended: [PushItem] = []

    /// Checks the paths and walks directories, on a thread that may block.
    static func make(_ paths: [[UInt8]], options: Push.Options) async -> PushPlan {
        await BlockingWork.run {
            var plan = PushPlan()
            var walked: Set<[UInt8]> = []
            let walks = paths.compactMap { walked.insert($0).inserted ? plan.add($0, options) : nil }
            plan.ended += FileWalk.unreadLinks(of: walks).map { path in
                PushCandidate(path: path, isNamed: false).refused(PhotoSyncError(.isDirectory, path: path))
            }
            // A file may be specified and also found in a specified directory.
            if walked.count > 1 { plan.candidates = plan.candidates.uniqued(by: \.path) }
            return plan
        }
    }

    /// - Returns: The files in a directory; nil for a file.
    private mutating func add(_ path: [UInt8], _ options: Push.Options) -> FileWalk.Result? {
        guard FileWalk.isDirectory(path) else {
            add(PushCandidate(path: path, isNamed: true), byteCount: nil, options)
            return nil
        }
        let excludes = options.usesDefaultExcludes ? DefaultExcludes.patterns : []
        let found = FileWalk(filter: options.filter, reportedExcludes: excludes).files(below: path)
        for file in found.files {
            add(PushCandidate(path: file.path, isNamed: false), byteCount: file.byteCount, options)
        }
        ended += found.excluded.map { PushItem(path: $0, state: .excluded) }
        ended += found.irregular.map { path in
            PushCandidate(path: path, isNamed: false).refused(PhotoSyncError(.notRegularFile, path: path))
        }
        for skipped in found.skipped {
            let candidate = PushCandidate(path: skipped.path, isNamed: false)
            if !skipped.isDirectory, let objection = candidate.objection {
                ended.append(candidate.refused(objection))
            } else {
                let error = PhotoSyncError(.fileUnreadable, detail: skipped.reason, path: skipped.path)
                ended.append(PushItem(path: skipped.path, state: .failed, error: error))
            }
        }
        return found
    }

    private mutating func add(_ candidate: PushCandidate, byteCount: Int64?, _ options: Push.Options) {
        let byteCount = byteCount ?? FileIdentity(ofRegularFile: candidate.path)?.size
        // A file without metadata fails for a reason other than its name.
        let byName = candidate.isNamed && byteCount == nil ? nil : candidate.objection
        let bySize = byteCount.flatMap { candidate.objection(toBytes: $0, maximum: options.maximumBytes) }
        if let objection = byName ?? bySize {
            ended.append(candidate.refused(objection, sizeBytes: byteCount))
        } else {
            candidates.append(candidate)
        }
    }
}
