internal import Dispatch
internal import Foundation
internal import Glibc
internal import MediaCore
internal import MediaCrypto
internal import MediaFiles
public import MediaStore
internal import MediaSystem
public import MediaTransport

/// Compares the index, the local copies and the server without modifying them.
public struct Verification: Sendable {
    let account: SyncAccount
    let check: CopyCheck
    let serverCheck: ServerCheck

    /// Files with a digest in `hashes` are not read again unless `readsContent` is true.
    public init(
        _ account: SyncAccount,
        hashes: HashCache,
        readsContent: Bool = false,
        serverCheck: ServerCheck = .none
    ) {
        self.account = account
        check = CopyCheck(hashes: hashes, readsContent: readsContent)
        self.serverCheck = serverCheck
    }

    /// Lists all photos on the server, and checks every copy and, if requested, every file on the server.
    /// `onDifference` is called from any thread, one call at a time.
    ///
    /// - Throws: `PhotoSyncError`: errors from `Pull.run` for an invalid listing, `.neverSynchronized`, `.cancelled`.
    public func run(
        control: TransferControl = TransferControl(),
        onDifference: @escaping @Sendable (SyncDifference) -> Void,
        progress: (@Sendable (PullProgress) -> Void)? = nil
    ) async throws(PhotoSyncError) -> VerificationResult {
        let state = try await StoreWork.run { [account] in try account.state() }
        guard state?.lastCompleteAt != nil else { throw PhotoSyncError(.neverSynchronized) }
        let report = VerificationReport(onItem: onDifference, onProgress: nil)
        // The copies are checked by tasks that are not children of this one.
        let stop = control.linked()
        let result = await withTaskCancellationHandler {
            await Result(awaiting: { () async throws(PhotoSyncError) in
                let live = try await LiveListing.make(of: account, control: control, progress: progress)
                try await StoreWork.run {
                    try compare(live, stop, report)
                    try compareCopies(live, stop, report)
                }
                guard serverCheck != .none else { return }
                let files = ServerFiles(account: account, extent: serverCheck, control: stop)
                let total = report.result.photos
                try await StoreWork.run {
                    try files.check(live.index) { photos, differences in
                        differences.forEach(report.end)
                        report.change { $0.serverFiles += Int64(photos) }
                        progress?(
                            PullProgress(photos: report.result.serverFiles, pages: 0, expected: total, attempt: 1)
                        )
                    }
                }
            })
        } onCancel: {
            stop.stop()
        }
        try result.get()
        return report.result
    }

    // MARK: Index and server

    private func compare(_ live: LiveListing, _ stop: TransferControl, _ report: VerificationReport) throws {
        let (index, server) = (account.index, account.server)
        try live.index.forEachBlock(of: server, where: PhotoFilter()) { block in
            if stop.isStopRequested { throw PhotoSyncError(.cancelled) }
            let known = try index.photosByID(block.map(\.id), of: server)
            for photo in block { photo.differences(from: known[photo.id]).forEach(report.end) }
            report.change { $0.photos += Int64(block.count) }
        }
        try index.forEachBlock(of: server, where: PhotoFilter()) { block in
            if stop.isStopRequested { throw PhotoSyncError(.cancelled) }
            let found = try live.photos(block.map(\.id))
            for photo in block where found[photo.id] == nil {
                report.end(SyncDifference(kind: .notOnServer, photoID: photo.id, expected: photo.originalFilename))
            }
        }
    }

    // MARK: Copies

    private func compareCopies(_ live: LiveListing, _ stop: TransferControl, _ report: VerificationReport) throws {
        try account.library.forEachBlockOfCopies(of: account.server) { block in
            let found = try live.photos(Array(Set(block.map(\.photoID))))
            let listed = block.filter { found[$0.photoID] != nil }
            // A replaced copy is not reported once its photo is deleted on the server.
            let others = block.filter { found[$0.photoID] == nil && $0.state != .replaced }
            let accepted = try account.acceptedDeletions(others.map(\.photoID))
            let orphaned = others.filter { !accepted.contains($0.photoID) && $0.hasFile }
            for copy in orphaned { report.end(SyncDifference(copy, .copyOrphaned)) }
            look(at: listed + orphaned.filter { $0.state == .present }, stop, report)
            if stop.isStopRequested { throw PhotoSyncError(.cancelled) }
        }
    }

    /// Blocks the thread while tasks read files on other threads.
    private func look(at copies: [PhotoCopy], _ stop: TransferControl, _ report: VerificationReport) {
        _ = QueueThread.wait(for: {
            let wanted = copies.lazy.filter { _ in !stop.isStopRequested }
            await withBoundedTasks(wanted, limit: ProcessInfo.processInfo.activeProcessorCount) { copy in
                let found = await check.difference(of: copy)
                // A missing or unreadable file was not compared.
                if copy.state == .present, found?.kind != .copyMissing, found?.kind != .copyUnreadable {
                    report.change { $0.copies += 1 }
                }
                guard var difference = found else { return }
                let isChanged = difference.kind == .copyChanged && copy.state == .present
                if difference.isOfAbsence || copy.state == .replaced, await isElsewhere(copy) { return }
                // The file has the bytes of another verified copy of the photo, for example one that the server has
                // rewritten.
                if isChanged, otherCopies(of: copy).contains(where: { $0.sha256 == found?.found }) { return }
                if isChanged { difference.hasIntactCopy = await hasIntactCopy(besides: copy) }
                if copy.state == .replaced { difference.uploadedAs = photo(at: copy.path, difference.found) }
                report.end(difference)
            }
        })
    }

    /// Whether the photo is stored on this machine under a different name, so a download would not fetch it again.
    private func isElsewhere(_ copy: PhotoCopy) async -> Bool {
        for other in otherCopies(of: copy) {
            if LocalCopies.condition(of: other) == .unchanged { return true }
            // The file was moved over an earlier copy.
            if let digest = copy.sha256, await check.difference(of: other)?.found == digest { return true }
        }
        return false
    }

    /// Whether the content of another copy of the photo is unchanged. It is read: the user may remove the changed copy.
    private func hasIntactCopy(besides copy: PhotoCopy) async -> Bool {
        let check = CopyCheck(hashes: check.hashes, readsContent: true)
        for other in otherCopies(of: copy) {
            if await check.difference(of: other) == nil { return true }
        }
        return false
    }

    private func otherCopies(of copy: PhotoCopy) -> [PhotoCopy] {
        let copies = (try? account.library.copies(ofPhotos: [copy.photoID], server: account.server)) ?? []
        return copies.filter { $0.path != copy.path && $0.state == .present }
    }

    /// The ID of the photo as which the bytes at a path were uploaded.
    private func photo(at path: [UInt8], _ digest: String?) -> String? {
        let copies = (try? account.library.copies(at: [path], server: account.server)) ?? []
        return copies.first { $0.state == .present && $0.sha256 == digest }?.photoID
    }
}

extension PhotoRecord {
    /// Differences of this photo between the server's listing and the index.
    fileprivate func differences(from known: PhotoRecord?) -> [SyncDifference] {
        guard let known else {
            return [SyncDifference(kind: .notIndexed, photoID: id, found: originalFilename)]
        }
        var differences: [SyncDifference] = []
        if let (expected, found) = Self.firstDifference(known, self) {
            differences.append(
                SyncDifference(kind: .changedOnServer, photoID: id, expected: expected, found: found)
            )
        }
        if known.originDevice?.id != originDevice?.id {
            differences.append(
                SyncDifference(
                    kind: .originChanged,
                    photoID: id,
                    expected: known.originDevice?.id,
                    found: originDevice?.id
                )
            )
        }
        return differences
    }

    private static func firstDifference(_ old: PhotoRecord, _ new: PhotoRecord) -> (String, String)? {
        if old.sha256 != new.sha256 { return (old.sha256, new.sha256) }
        if old.originalFilename != new.originalFilename { return (old.originalFilename, new.originalFilename) }
        if old.fileSize != new.fileSize { return ("\(old.fileSize) bytes", "\(new.fileSize) bytes") }
        if old.takenAt.microseconds != new.takenAt.microseconds { return (old.takenAt.text, new.takenAt.text) }
        if old.uploadedAt.microseconds != new.uploadedAt.microseconds {
            return (old.uploadedAt.text, new.uploadedAt.text)
        }
        if old.width != new.width || old.height != new.height { return (old.dimensions, new.dimensions) }
        return nil
    }

    private var dimensions: String {
        guard let width, let height else { return "unknown size in pixels" }
        return "\(width)×\(height)"
    }
}

extension SyncDifference {
    fileprivate init(_ copy: PhotoCopy, _ kind: Kind, expected: String? = nil, found: String? = nil) {
        self.init(kind: kind, photoID: copy.photoID, path: copy.storedPath, expected: expected, found: found)
    }

    fileprivate var isOfAbsence: Bool { [.copyMissing, .copyUnfinished, .copyUnverified].contains(kind) }
}

struct CopyCheck: Sendable {
    let hashes: HashCache
    let readsContent: Bool

    /// nil if the copy has the bytes that were downloaded or uploaded.
    func difference(of copy: PhotoCopy) async -> SyncDifference? {
        guard copy.state == .present || copy.state == .replaced else {
            return Self.differenceOfDownload(copy)
        }
        let file: SourceFile
        do {
            file = try SourceFile(path: copy.path)
        } catch {
            // A missing file is reported for the photo that replaced it.
            return copy.state == .replaced ? nil : difference(of: copy, because: error)
        }
        do {
            guard let expected = copy.sha256 else { return nil }
            let found = try await digest(of: file, copy)
            return found == expected ? nil : SyncDifference(copy, .copyChanged, expected: expected, found: found)
        } catch {
            return SyncDifference(copy, .copyUnreadable, found: "reading failed")
        }
    }

    /// nil for a name that is only reserved: the server delivered nothing, so neither the file nor a partial file ever
    /// existed.
    private static func differenceOfDownload(_ copy: PhotoCopy) -> SyncDifference? {
        if copy.state == .unverified {
            return SyncDifference(copy, copy.hasFile ? .copyUnverified : .copyMissing)
        }
        var file = copy.temporaryPath.flatMap { FileIdentity(ofRegularFile: $0) }
        // The run was interrupted between renaming the file and recording the rename.
        if file == nil, copy.state == .written { file = FileIdentity(ofRegularFile: copy.path) }
        guard let file else { return copy.sha256.map { SyncDifference(copy, .copyMissing, expected: $0) } }
        let total = copy.totalBytes.map { "\($0) bytes" }
        return SyncDifference(copy, .copyUnfinished, expected: total, found: "\(file.size) bytes")
    }

    /// Reads the file only if `readsContent` is set, or neither the copy's record nor the cache has its digest.
    private func digest(of file: SourceFile, _ copy: PhotoCopy) async throws -> String {
        let identity = file.status
        if !readsContent {
            if identity == copy.identity, let known = copy.sha256 { return known }
            if let known = hashes.digest(of: identity) { return known }
        }
        return try await SHA256Digest.ofFile(descriptor: file.descriptor, byteCount: file.status.size).hex
    }

    private func difference(of copy: PhotoCopy, because error: SourceFileError) -> SyncDifference {
        let (kind, found): (SyncDifference.Kind, String?) =
            switch error.kind {
            case .notFound, .io(errno: ENOTDIR): (.copyMissing, nil)
            case .permissionDenied, .io: (.copyUnreadable, error.reason)
            case .isDirectory: (.copyChanged, "a directory")
            case .notRegular: (.copyChanged, "not a regular file")
            case .empty: (.copyChanged, "an empty file")
            }
        return SyncDifference(copy, kind, expected: copy.sha256, found: found)
    }
}

/// A difference between the index, the local copies and the server.
public struct SyncDifference: Sendable, Equatable {
    /// The kind of difference.
    public enum Kind: String, Sendable, CaseIterable {
        /// On the server, but not in the index.
        case notIndexed = "not_indexed"
        /// In the index, but no longer on the server.
        case notOnServer = "not_on_server"
        /// In the index and on the server, but the hash, name, size, dates or dimensions differ.
        case changedOnServer = "changed_on_server"
        /// In the index and on the server, but the origin devices differ.
        case originChanged = "origin_changed"
        /// The copy no longer exists.
        case copyMissing = "copy_missing"
        /// The copy's bytes differ from those downloaded or uploaded, and from those of the photo's other copies. This
        /// is reported even after the bytes were uploaded as a different photo (`uploadedAs`), until the photo's own
        /// bytes are on this machine again.
        case copyChanged = "copy_changed"
        /// The copy cannot be read, so it is unknown whether it changed.
        case copyUnreadable = "copy_unreadable"
        /// The copy's photo is no longer on the server.
        case copyOrphaned = "copy_orphaned"
        /// A partial download on this machine.
        case copyUnfinished = "copy_unfinished"
        /// A download that could not be verified, stored under a name ending in `.unverified`.
        case copyUnverified = "copy_unverified"
        /// The server lists the photo but does not have its file.
        case serverMissing = "server_missing"
        /// The server's file for the photo is empty.
        case serverEmpty = "server_empty"
        /// The length of the server's file is not plausible for the photo.
        case serverLength = "server_length"
        /// The server's file is damaged, or is a different photo (`ServerCheck.contents`).
        case serverDamaged = "server_damaged"
        /// The server's file is damaged, as is a local file with the uploaded bytes: the photo was damaged before its
        /// upload (`ServerCheck.contents`).
        case uploadedDamaged = "uploaded_damaged"
        /// The server's file uses an unsupported feature of its format (`ServerCheck.contents`).
        case serverUnverified = "server_unverified"
    }

    public var kind: Kind
    public var photoID: String
    /// The local file, for a copy.
    public var path: [UInt8]?
    /// The value in the index or in the copy's record.
    public var expected: String?
    public var found: String?
    /// ID of the photo as which the changed bytes were uploaded.
    public var uploadedAs: String?
    /// For a changed copy: whether the photo's bytes are in another file on this machine.
    public var hasIntactCopy = false
}

/// The counts from a comparison.
public struct VerificationResult: Sendable, Equatable {
    /// Number of photos that the server listed.
    public var photos: Int64 = 0
    /// Number of compared copies, without those that are missing or unreadable.
    public var copies: Int64 = 0
    /// Number of photos whose files on the server were checked, including those with a difference.
    public var serverFiles: Int64 = 0
    public var counts: [SyncDifference.Kind: Int] = [:]

    package init() {}
}

extension VerificationResult: ReportedResult {
    static var nothing: (result: VerificationResult, progress: Void) { (VerificationResult(), ()) }

    mutating func count(_ difference: SyncDifference) { counts[difference.kind, default: 0] += 1 }
}

private typealias VerificationReport = RunReport<VerificationResult>
