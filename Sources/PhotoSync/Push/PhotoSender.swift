internal import Foundation
internal import Glibc
internal import MediaCrypto
internal import MediaFiles
internal import MediaStore
internal import MediaSystem
internal import MediaTransport
internal import Synchronization

struct PhotoToSend: Sendable {
    var candidate: PushCandidate
    var digest: TreeHashing.Digest

    /// The result for this file, without the values that only an upload determines.
    func item(_ state: PushItem.State, photoID: String? = nil, error: PhotoSyncError? = nil) -> PushItem {
        PushItem(
            path: candidate.path,
            state: state,
            sizeBytes: digest.identity.size,
            sha256: digest.sha256,
            photoID: photoID,
            error: error
        )
    }

    func failed(_ error: PhotoSyncError, photoID: String? = nil) -> PushItem {
        error.code == .cancelled ? item(.cancelled, photoID: photoID) : item(.failed, photoID: photoID, error: error)
    }
}

struct SentPhoto: Sendable {
    var photo: PhotoToSend
    var takenAt: PhotoTime?
    var receipt: PhotoReceipt
    /// Body bytes sent in all attempts.
    var bytesSent: Int64
    var attempts: Int

    func item(_ state: PushItem.State, photoID: String?, error: PhotoSyncError? = nil) -> PushItem {
        var item = photo.item(state, photoID: photoID, error: error)
        (item.takenAt, item.bytesSent, item.attempts) = (takenAt, bytesSent, attempts)
        return item
    }
}

struct SendFailure: Error {
    var error: PhotoSyncError
    var takenAt: PhotoTime?
    var bytesSent: Int64
    var attempts: Int
}

/// Uploads one file, with retries where appropriate (photosync contract section 10).
struct PhotoSender: Sendable {
    let client: PhotoSyncClient
    let deviceID: String
    let retry: RetryPolicy
    let control: TransferControl
    let report: PushReport

    /// Uploads a file that has not changed since it was hashed.
    ///
    /// An upload whose response was lost is repeated as well: the server identifies the bytes by their hash.
    func send(_ photo: PhotoToSend) async -> Result<SentPhoto, SendFailure> {
        var failure = SendFailure(error: PhotoSyncError(.cancelled), takenAt: nil, bytesSent: 0, attempts: 0)
        do throws(PhotoSyncError) {
            let file = try open(photo)
            failure.takenAt = try PhotoDate.of(file)
            let receipt = try await send(photo, file, &failure)
            guard (try? file.currentStatus()) == file.status else {
                // The server may have received bytes that differ from those of this file.
                throw changed(photo, while: "it was being sent")
            }
            return .success(
                SentPhoto(
                    photo: photo,
                    takenAt: failure.takenAt,
                    receipt: receipt,
                    bytesSent: failure.bytesSent,
                    attempts: failure.attempts
                )
            )
        } catch {
            failure.error = error
            return .failure(failure)
        }
    }

    private func open(_ photo: PhotoToSend) throws(PhotoSyncError) -> SourceFile {
        let file = try PhotoSyncError.reading(SourceFile(path: photo.candidate.path))
        guard file.status == photo.digest.identity else { throw changed(photo, while: "it was queued") }
        return file
    }

    private func changed(_ photo: PhotoToSend, while happening: String) -> PhotoSyncError {
        PhotoSyncError(.sourceChanged, detail: "the file changed while \(happening)", path: photo.candidate.path)
    }

    private func send(
        _ photo: PhotoToSend,
        _ file: SourceFile,
        _ account: inout SendFailure
    ) async throws(PhotoSyncError) -> PhotoReceipt {
        let canceled = PhotoSyncError(.cancelled, path: photo.candidate.path)
        var backoff = Backoff(retry)
        var slowPhoto = Backoff(.slowPhoto)
        return try await backoff.run(
            pausing: control.waitForStop(upTo:),
            canceled: canceled,
            retryAfter: { error in
                if error.code == .bodyTooSlow, slowPhoto.next() == nil { return nil }
                return client.mayRetry(after: error) ? .zero : nil
            },
            onRetry: { (_, delay, error) throws(PhotoSyncError) in client.noteRetry(after: error, delay: delay) }
        ) { () async throws(PhotoSyncError) in
            if control.isStopRequested { throw canceled }
            account.attempts += 1
            let gauge = SendGauge(report: report)
            defer { account.bytesSent += gauge.bytes }
            do throws(PhotoSyncError) {
                return try await sendOnce(photo, file, takenAt: account.takenAt, gauge)
            } catch {
                gauge.subtract()
                throw error.at(photo.candidate.path)
            }
        }
    }

    private func sendOnce(
        _ photo: PhotoToSend,
        _ file: SourceFile,
        takenAt: PhotoTime?,
        _ gauge: SendGauge
    ) async throws(PhotoSyncError) -> PhotoReceipt {
        let upload = PhotoUpload(
            content: try PhotoSyncError.reading(
                FileContent(owning: file.duplicateDescriptor(), byteCount: file.status.size)
            ),
            fileName: photo.candidate.fileName,
            takenAt: takenAt,
            deviceID: deviceID
        )
        return try await client.upload(upload, control: control) { gauge.note($0.bytesAcknowledged) }
    }
}

/// The bytes of one attempt, as part of the total progress.
private final class SendGauge: Sendable {
    private let report: PushReport
    private let sent = Mutex<Int64>(0)

    init(report: PushReport) {
        self.report = report
    }

    var bytes: Int64 { sent.withLock { $0 } }

    func note(_ total: Int64) {
        let more = sent.withLock { sent in
            defer { sent = max(sent, total) }
            return max(0, total - sent)
        }
        if more > 0 { report.progress { $0.bytesSent += more } }
    }

    /// Subtracts the bytes of a failed attempt, which must be sent again.
    func subtract() {
        let bytes = bytes
        if bytes > 0 { report.progress { $0.bytesSent -= bytes } }
    }
}

/// Hashes files sequentially with one buffer. Used by one thread.
final class FileReader {
    /// Fits into a core's cache, and keeps system calls infrequent.
    private static let bufferSize = 256 << 10

    private let control: TransferControl
    private let onRead: @Sendable (Int) -> Void
    private let buffer: UnsafeMutableRawBufferPointer
    private var hasher: SHA256Hasher

    init(control: TransferControl, onRead: @escaping @Sendable (Int) -> Void) throws(PhotoSyncError) {
        do {
            hasher = try SHA256Hasher()
        } catch {
            throw PhotoSyncError(.internalError, detail: error.detail)
        }
        self.control = control
        self.onRead = onRead
        // Owned: freed in `deinit`, never exposed.
        buffer = .allocate(byteCount: Self.bufferSize, alignment: 4_096)
    }

    deinit {
        buffer.deallocate()
    }

    /// Throws if the file changes while it is read.
    func digest(of path: [UInt8]) throws(PhotoSyncError) -> TreeHashing.Digest {
        let file = try PhotoSyncError.reading(SourceFile(path: path))
        hasher.reset()
        try read(file)
        guard let status = try? file.currentStatus(), status == file.status else {
            throw PhotoSyncError(.sourceChanged, detail: "the file changed while it was being read", path: path)
        }
        do {
            return TreeHashing.Digest(sha256: try hasher.snapshot().hex, identity: file.status)
        } catch {
            throw PhotoSyncError(.internalError, detail: error.detail, path: path)
        }
    }

    private func read(_ file: SourceFile) throws(PhotoSyncError) {
        var done: Int64 = 0
        while done < file.status.size {
            if control.isStopRequested { throw PhotoSyncError(.cancelled, path: file.path) }
            let wanted = Int(min(Int64(buffer.count), file.status.size - done))
            let got: Int
            do {
                let window = UnsafeMutableRawBufferPointer(rebasing: buffer[..<wanted])
                got = try FileBytes.read(file.descriptor, at: done, into: window)
            } catch {
                throw PhotoSyncError(SourceFileError(.io(errno: error.code), path: file.path))
            }
            guard got > 0 else {
                throw PhotoSyncError(.sourceChanged, detail: "the file was truncated", path: file.path)
            }
            hasher.update(UnsafeRawBufferPointer(rebasing: buffer[..<got]))
            done += Int64(got)
            onRead(got)
        }
    }
}

enum PhotoDate {
    /// The date taken from the Exif data, or else the modification time in UTC.
    ///
    /// - Throws: `PhotoSyncError`: `.invalidDate` outside the years 0000 to 9999. The server would replace an invalid
    ///   or missing date with the current time (photosync contract 3.1, trap 5), which cannot be corrected later.
    static func of(_ file: SourceFile) throws(PhotoSyncError) -> PhotoTime {
        if let taken = PhotoExif(of: file)?.captureTime.flatMap({ PhotoTime(microseconds: $0.microseconds) }) {
            return taken
        }
        if let changed = modification(of: file.descriptor).flatMap(PhotoTime.init(microseconds:)) { return changed }
        throw PhotoSyncError(
            .invalidDate,
            detail: "it contains no date, and its modification time is not in the years 0000 to 9999",
            path: file.path
        )
    }

    /// - Throws: `PhotoSyncError`, including for a file that cannot be opened.
    static func of(path: [UInt8]) throws(PhotoSyncError) -> PhotoTime {
        try of(PhotoSyncError.reading(SourceFile(path: path)))
    }

    /// Does not use 64-bit nanoseconds, which overflow in the year 2262.
    private static func modification(of descriptor: Int32) -> Int64? {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return nil }
        let (seconds, isTooFar) = Int64(status.st_mtim.tv_sec).multipliedReportingOverflow(by: 1_000_000)
        let (microseconds, overflows) = seconds.addingReportingOverflow(Int64(status.st_mtim.tv_nsec) / 1_000)
        return isTooFar || overflows ? nil : microseconds
    }
}

/// Determines which photos are the user's own. The responses to uploads and `/check` do not show ownership (photosync
/// contract 3.3 and 3.7, trap 11); only the user's own listing does, which is in the index.
struct OwnPhotos: Sendable {
    let account: SyncAccount

    init(_ account: SyncAccount) {
        self.account = account
    }

    /// Photos in the index with these bytes, and photos with a downloaded copy that has these bytes: servers rewrite
    /// files, and such a copy must not be uploaded as a new photo (trap 12).
    ///
    /// - Returns: Photos by requested digest.
    func known(_ digests: [String]) async throws(PhotoSyncError) -> [String: PhotoRecord] {
        try await StoreWork.run { [account] in
            // A dry run does not pull, so the index may have another user's photos.
            guard try account.state() != nil else { return [:] }
            var known = Self.bySHA256(try account.index.photos(withDigests: digests, of: account.server))
            let others = digests.filter { known[$0] == nil }
            let copies = try account.library.copies(withDigests: others, server: account.server)
                .filter { [.present, .replaced].contains($0.state) && $0.sha256 != $0.serverSHA256 }
            let byID = try account.photosByID(copies.map(\.photoID))
            // After a repair, the photo has a new ID.
            let lost = copies.filter { byID[$0.photoID] == nil }.map(\.serverSHA256)
            let replacing = Self.bySHA256(try account.index.photos(withDigests: lost, of: account.server))
            for copy in copies {
                if let digest = copy.sha256, let photo = byID[copy.photoID] ?? replacing[copy.serverSHA256] {
                    known[digest] = photo
                }
            }
            return known
        }
    }

    func uploaded(_ digests: [String]) async throws(PhotoSyncError) -> [String: PhotoRecord] {
        try await StoreWork.run { [account] in
            Self.bySHA256(try account.index.photos(withDigests: digests, of: account.server))
        }
    }

    func withIDs(_ ids: [String]) async throws(PhotoSyncError) -> [String: PhotoRecord] {
        try await StoreWork.run { [account] in try account.photosByID(ids) }
    }

    /// Records which local files are copies of which photos, one per path, unless already recorded. An earlier copy
    /// with different bytes is kept as replaced, so `Verification` still reports that the file has changed.
    func record(_ copies: [PhotoCopy]) async throws(PhotoSyncError) {
        let (library, server) = (account.library, account.server)
        let (new, replaced) = try await StoreWork.run {
            let recorded = try library.copies(at: copies.map(\.path), server: server)
            let byPath = Dictionary(grouping: recorded, by: \.path)
            let current = Dictionary(copies.map { ($0.path, $0) }) { first, _ in first }
            // The file is no longer a copy of the earlier photo.
            let outdated = recorded.filter { $0.state == .present && $0.photoID != current[$0.path]?.photoID }
            let same = outdated.filter { $0.sha256 == nil || $0.sha256 == current[$0.path]?.sha256 }
            if !same.isEmpty { try library.remove(same) }
            let replaced = outdated.filter { $0.sha256 != nil && $0.sha256 != current[$0.path]?.sha256 }
            let new = copies.filter { copy in !(byPath[copy.path] ?? []).contains { $0.isSameFile(as: copy) } }
            return (new, replaced.map { $0.replaced })
        }
        guard !new.isEmpty || !replaced.isEmpty else { return }
        do {
            try await library.keep(replaced + new)
        } catch {
            throw PhotoSyncError.ofStore(error)
        }
    }

    /// Stores, for `sync status`, whether an upload in this run was in the user's own listing.
    ///
    /// A server that does not record owners may have deleted photos by itself, so earlier deletions become uncertain.
    func remember(isOwned: Bool) async throws(PhotoSyncError) {
        try await StoreWork.run { [account] in
            try account.index.setOwnsUploads(isOwned, at: account.server)
            if !isOwned { try account.library.invalidateDeletions(of: account.server) }
        }
    }

    /// The photos by digest. If several have the same bytes, the last uploaded one is used: a server stores the same
    /// bytes only once, so the others were deleted.
    private static func bySHA256(_ photos: [PhotoRecord]) -> [String: PhotoRecord] {
        Dictionary(photos.map { ($0.sha256, $0) }) { one, other in
            one.uploadedAt.microseconds < other.uploadedAt.microseconds ? other : one
        }
    }

    /// Photos with these bytes in the current listing. Changes neither the index nor the server; sending a device would
    /// update its `lastSyncAt` (contract section 4).
    ///
    /// - Throws: `PhotoSyncError`, as a pull does for an invalid listing.
    func listed(_ digests: [String], control: TransferControl) async throws(PhotoSyncError) -> [String: PhotoRecord] {
        guard !digests.isEmpty else { return [:] }
        let live = try await LiveListing.ofNews(for: account, control)
        return try await StoreWork.run { Self.bySHA256(try live.index.photos(withDigests: digests, of: live.server)) }
    }
}

extension PhotoCopy {
    /// A copy of a photo that mediactl did not download: a file with the uploaded bytes, or one that the server has
    /// rewritten.
    init(of photo: PhotoRecord, at path: [UInt8], _ digest: TreeHashing.Digest, server: String) {
        self.init(
            server: server,
            photoID: photo.id,
            path: path,
            state: .present,
            source: .pushed,
            sha256: digest.sha256,
            serverSHA256: photo.sha256,
            identity: digest.identity
        )
    }

    fileprivate var replaced: PhotoCopy {
        var copy = self
        copy.state = .replaced
        return copy
    }

    fileprivate func isSameFile(as other: PhotoCopy) -> Bool {
        photoID == other.photoID && state == other.state && sha256 == other.sha256 && identity == other.identity
    }
}
