internal import Foundation
internal import Glibc
public import MediaFiles
public import MediaStore
internal import MediaSystem
public import MediaTransport
internal import Synchronization

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
    public var bytesSent: Int64 = 0
    /// Tries.
    public var attempts: Int = 0
    /// Why it failed or was skipped.
    public var error: PhotoSyncError?
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

    package init() {}
}

/// What a push came to.
public struct PushResult: Sendable, Equatable {
    /// Files by end.
    public var counts: [PushItem.State: Int] = [:]
    /// Body bytes sent.
    public var bytesSent: Int64 = 0

    package init() {}
}

/// Counts what ends, and tells whoever watches, one call at a time.
final class PushReport: Sendable {
    private struct State {
        var result = PushResult()
        var progress = PushProgress()
    }

    private let state = Mutex(State())
    private let onItem: @Sendable (PushItem) -> Void
    private let onProgress: (@Sendable (PushProgress) -> Void)?

    init(onItem: @escaping @Sendable (PushItem) -> Void, onProgress: (@Sendable (PushProgress) -> Void)?) {
        self.onItem = onItem
        self.onProgress = onProgress
    }

    /// The tally so far.
    var result: PushResult { state.withLock { $0.result } }

    /// A file has ended.
    func end(_ item: PushItem) {
        state.withLock { state in
            state.result.counts[item.state, default: 0] += 1
            state.result.bytesSent += item.bytesSent
            onItem(item)
        }
    }

    /// Something has moved.
    func progress(_ change: (inout PushProgress) -> Void) {
        state.withLock { state in
            change(&state.progress)
            onProgress?(state.progress)
        }
    }
}

/// A file that may be a photo to send.
struct PushCandidate: Sendable {
    /// As it was named or found.
    var path: [UInt8]
    /// Whether the user named it: what is unsuitable then is a failure, while a walk passes over it.
    var isNamed: Bool

    /// Extensions that servers take, in lower case (photosync contract 3.2).
    private static let extensions: Set<String> = ["jpg", "jpeg", "png", "gif", "webp", "heic", "heif"]

    /// The last component. What is no UTF-8 in it becomes U+FFFD, since the server's names are text.
    var fileName: String { path.fileName }

    /// Why the server would not take it, as far as its name tells.
    var objection: PhotoSyncError? {
        let pathExtension = MediaType.pathExtension(of: fileName).lowercased()
        guard !Self.extensions.contains(pathExtension) else { return nil }
        return PhotoSyncError(.unknownExtension, path: path, value: pathExtension)
    }

    /// Why the server would not take a file of that length.
    func objection(toBytes byteCount: Int64, maximum: Int64) -> PhotoSyncError? {
        if byteCount == 0 { return PhotoSyncError(.emptyFile, path: path) }
        guard byteCount > maximum else { return nil }
        return PhotoSyncError(.fileTooLarge, path: path, value: String(byteCount), limit: maximum)
    }

    /// How a file ends that was never tried.
    func refused(_ error: PhotoSyncError, sizeBytes: Int64? = nil) -> PushItem {
        PushItem(path: path, state: isNamed ? .failed : .skipped, sizeBytes: sizeBytes, error: error)
    }

    /// The path from the root, without `.` and empty components; `..` stays, since what lies before it may be a link.
    var absolutePath: [UInt8] {
        let slash = UInt8(ascii: "/")
        let start = path.first == slash ? [] : Self.workingDirectory
        let components = (start + [slash] + path).split(separator: slash).filter { $0 != [UInt8(ascii: ".")] }
        return components.reduce(into: []) { $0 += [slash] + $1 }
    }

    private static var workingDirectory: [UInt8] {
        guard let path = getcwd(nil, 0) else { return [] }
        defer { free(path) }
        return Array(UnsafeRawBufferPointer(start: path, count: strlen(path)))
    }
}

/// What a push has to deal with.
struct PushPlan: Sendable {
    /// Files to hash, each path once.
    var candidates: [PushCandidate] = []
    /// What needs no further look.
    var ended: [PushItem] = []

    /// Looks at the paths, and walks directories, on a thread that may wait.
    static func make(_ paths: [[UInt8]], options: Push.Options) async -> PushPlan {
        await BlockingWork.run {
            var plan = PushPlan()
            var walked: Set<[UInt8]> = []
            for path in paths where walked.insert(path).inserted { plan.add(path, options) }
            plan.removeRepeats(isNeeded: walked.count > 1)
            return plan
        }
    }

    private mutating func add(_ path: [UInt8], _ options: Push.Options) {
        guard FileWalk.isDirectory(path) else {
            add(PushCandidate(path: path, isNamed: true), byteCount: nil, options)
            return
        }
        guard options.isRecursive else {
            ended.append(
                PushItem(
                    path: path,
                    state: .failed,
                    error: PhotoSyncError(.notRegularFile, detail: "it is a directory", path: path)
                )
            )
            return
        }
        let found = FileWalk(filter: options.filter).files(below: path)
        for file in found.files {
            add(PushCandidate(path: file.path, isNamed: false), byteCount: file.byteCount, options)
        }
        for skipped in found.skipped {
            let error = PhotoSyncError(.fileUnreadable, detail: skipped.reason, path: skipped.path)
            ended.append(PushItem(path: skipped.path, state: .failed, error: error))
        }
    }

    private mutating func add(_ candidate: PushCandidate, byteCount: Int64?, _ options: Push.Options) {
        let byteCount = byteCount ?? FileIdentity(ofRegularFile: candidate.path)?.size
        // A file that cannot be looked at has another fault than its name.
        let byName = candidate.isNamed && byteCount == nil ? nil : candidate.objection
        let bySize = byteCount.flatMap { candidate.objection(toBytes: $0, maximum: options.maximumBytes) }
        if let objection = byName ?? bySize {
            ended.append(candidate.refused(objection, sizeBytes: byteCount))
        } else {
            candidates.append(candidate)
        }
    }

    /// A file that is named, and found again below a directory that is named too, is one file.
    private mutating func removeRepeats(isNeeded: Bool) {
        guard isNeeded else { return }
        var seen: Set<[UInt8]> = []
        candidates = candidates.filter { seen.insert($0.path).inserted }
    }
}
