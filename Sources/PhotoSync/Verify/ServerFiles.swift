internal import Dispatch
internal import Foundation
internal import MediaCore
internal import MediaCrypto
internal import MediaFiles
internal import MediaStore
internal import MediaSystem
internal import MediaTransport
internal import Synchronization

/// Blocks a thread while tasks do its work.
enum QueueThread {
    static func wait<Value: Sendable>(for work: @escaping @Sendable () async -> Value) -> Value? {
        let value = Mutex<Value?>(nil)
        let done = DispatchSemaphore(value: 0)
        Task {
            let found = await work()
            value.withLock { $0 = found }
            done.signal()
        }
        done.wait()
        return value.withLock { $0 }
    }
}

/// The checks that `Verification` runs on the server's stored files. The server's listing, counts and `/check` do not
/// access files (photosync contract, new fact 2).
public enum ServerCheck: Sendable, Equatable {
    case none
    /// Each file exists and has a plausible length; sends one request for one byte of each file.
    case lengths
    /// All bytes: each file is downloaded into this directory, verified like any download, and removed. The directory
    /// is an absolute path, as bytes; created if missing.
    case contents(scratch: [UInt8])
}

/// Checks the server's files for the photos in a listing.
struct ServerFiles: Sendable {
    /// Number of photos checked in parallel.
    private static let jobs = 4

    let account: SyncAccount
    let extent: ServerCheck
    let control: TransferControl

    /// Blocks, as `Verification.look` does.
    ///
    /// - Throws: `PhotoSyncError` for the first file that could not be checked, and `.cancelled`.
    func check(_ index: SyncIndex, onBlock: (_ photos: Int, [SyncDifference]) -> Void) throws {
        try index.forEachBlock(of: account.server, where: PhotoFilter()) { block in
            let copies = try account.library.copies(ofPhotos: block.map(\.id), server: account.server)
            let byPhoto = Dictionary(grouping: copies, by: \.photoID)
            // Small enough for frequent progress updates.
            for part in block.chunks(of: 50) {
                let (differences, failure) = examine(Array(part), byPhoto)
                onBlock(part.count, differences)
                if let failure { throw failure }
                if control.isStopRequested { throw PhotoSyncError(.cancelled) }
            }
        }
    }

    private func examine(
        _ photos: [PhotoRecord],
        _ copies: [String: [PhotoCopy]]
    ) -> (differences: [SyncDifference], failure: PhotoSyncError?) {
        let results = QueueThread.wait(for: {
            await withBoundedTasks(photos, limit: Self.jobs) { photo -> Result<SyncDifference?, PhotoSyncError> in
                if control.isStopRequested { return .success(nil) }
                return await Result(awaiting: { () async throws(PhotoSyncError) in
                    try await difference(of: photo, copies[photo.id] ?? [])
                })
            }
        })
        var differences: [SyncDifference] = []
        for result in results ?? [] {
            switch result {
            case .success(let difference): differences += difference.map { [$0] } ?? []
            case .failure(let error): return (differences, error)
            }
        }
        return (differences, nil)
    }

    // MARK: One photo

    /// nil for a photo that the server can deliver. `copies` are its local copies; downloaded copies have the length
    /// and digest that the server's file had when it was downloaded.
    private func difference(
        of photo: PhotoRecord,
        _ copies: [PhotoCopy]
    ) async throws(PhotoSyncError) -> SyncDifference? {
        let first = try await differenceOnce(photo, copies)
        // The bytes may have been damaged in transfer, not in the file: check again.
        guard let first, [.serverDamaged, .uploadedDamaged].contains(first.kind) else { return first }
        return try await differenceOnce(photo, copies)
    }

    private func differenceOnce(
        _ photo: PhotoRecord,
        _ copies: [PhotoCopy]
    ) async throws(PhotoSyncError) -> SyncDifference? {
        do throws(PhotoSyncError) {
            switch extent {
            case .none: return nil
            case .lengths: return try await differenceOfLength(photo, copies)
            case .contents(let scratch): return try await differenceOfContent(photo, copies, scratch)
            }
        } catch {
            switch error.code {
            case .undeliverable: return SyncDifference(photo, .serverEmpty, found: "0 bytes")
            case .notFound:
                guard case .missing = try await account.client.storedFile(of: photo.id, control: control.linked())
                else {
                    throw error
                }
                return SyncDifference(photo, .serverMissing)
            case .checksumMismatch, .wrongPhoto: return SyncDifference(photo, .serverDamaged, found: error.detail)
            default: throw error.at(photo: photo.id)
            }
        }
    }

    /// The damage that another upload would repair. An unverifiable file may be intact, and a file that was damaged
    /// before its upload would be damaged again.
    func damage(of photo: PhotoRecord, _ copies: [PhotoCopy]) async throws(PhotoSyncError) -> SyncDifference? {
        try await difference(of: photo, copies).flatMap {
            [.serverUnverified, .uploadedDamaged].contains($0.kind) ? nil : $0
        }
    }

    private func differenceOfLength(
        _ photo: PhotoRecord,
        _ copies: [PhotoCopy]
    ) async throws(PhotoSyncError) -> SyncDifference? {
        switch try await account.client.storedFile(of: photo.id, control: control.linked()) {
        case .missing: return SyncDifference(photo, .serverMissing)
        case .present(let byteCount):
            guard byteCount > 0 else { return SyncDifference(photo, .serverEmpty, found: "0 bytes") }
            if byteCount == photo.fileSize { return nil }
            // The server rewrites a file only once, so a downloaded rewritten copy has the expected length.
            let known = Self.rewritten(copies).compactMap { $0.identity?.size }
            let isRight = known.isEmpty ? PhotoEvidence.isPlausible(byteCount, for: photo) : known.contains(byteCount)
            if isRight { return nil }
            return SyncDifference(
                photo,
                .serverLength,
                expected: "\(known.first ?? photo.fileSize) bytes",
                found: "\(byteCount) bytes"
            )
        }
    }

    /// Excludes unverified downloads, whose records describe the damaged file.
    private static func rewritten(_ copies: [PhotoCopy]) -> [PhotoCopy] {
        copies.filter {
            [.present, .replaced].contains($0.state) && $0.source == .downloaded && $0.sha256 != nil
                && $0.sha256 != $0.serverSHA256
        }
    }

    private func differenceOfContent(
        _ photo: PhotoRecord,
        _ copies: [PhotoCopy],
        _ scratch: [UInt8]
    ) async throws(PhotoSyncError) -> SyncDifference? {
        let digests = Self.rewritten(copies).compactMap(\.sha256)
        let opened = try PhotoSyncError.writing { () throws(FileWriteError) in
            try TargetDirectory.open(scratch, creating: true)
                .map { directory throws(FileWriteError) in
                    try PartialFile.open("verify-\(UUID().uuidString).part", in: directory)
                }
        }
        guard let file = opened else { return nil }
        // If the file cannot be removed, it stays in the scratch directory.
        defer { try? file.discard() }
        let download = PhotoContent(client: account.client, photo: photo, file: file, control: control)
        return switch try await download.read(knownDigests: digests) {
        case .photo: nil
        case .otherPhoto(let stamp): SyncDifference(photo, .serverDamaged, found: "it contains the ID \(stamp)")
        case .unverified(let reason):
            SyncDifference(
                photo,
                try await wasUploadedDamaged(photo) ? .uploadedDamaged : .serverDamaged,
                found: reason
            )
        case .unchecked(let reason): SyncDifference(photo, .serverUnverified, found: reason)
        }
    }

    /// Whether a file on this machine has exactly the uploaded bytes, and is damaged.
    private func wasUploadedDamaged(_ photo: PhotoRecord) async throws(PhotoSyncError) -> Bool {
        let copies = try PhotoSyncError.stored(
            account.library.copies(withDigests: [photo.sha256], server: account.server)
        )
        for copy in copies {
            guard let file = try? SourceFile(path: copy.path),
                let digest = try? await SHA256Digest.ofFile(descriptor: file.descriptor, byteCount: file.status.size),
                digest.hex == photo.sha256
            else { continue }
            return await BlockingWork.run {
                if case .damaged = PhotoStructure(of: file).integrity { true } else { false }
            }
        }
        return false
    }
}

extension SyncDifference {
    fileprivate init(_ photo: PhotoRecord, _ kind: Kind, expected: String? = nil, found: String? = nil) {
        self.init(kind: kind, photoID: photo.id, expected: expected ?? photo.originalFilename, found: found)
    }
}

/// Downloads the server's file for a photo to a temporary file and examines it.
private struct PhotoContent {
    let client: PhotoSyncClient
    let photo: PhotoRecord
    let file: PartialFile
    let control: TransferControl

    func read(knownDigests: [String]) async throws(PhotoSyncError) -> PhotoEvidence {
        var backoff = Backoff(RetryPolicy())
        return try await backoff.run(
            pausing: control.waitForStop(upTo:),
            canceled: PhotoSyncError(.cancelled),
            retryAfter: { $0.isRetryable ? .zero : nil }
        ) { () async throws(PhotoSyncError) in
            try await readOnce(knownDigests)
        }
    }

    private func readOnce(_ knownDigests: [String]) async throws(PhotoSyncError) -> PhotoEvidence {
        try PhotoSyncError.writing { () throws(FileWriteError) in try file.truncate(to: 0) }
        let pipeline: HashPipeline
        do { pipeline = try HashPipeline() } catch { throw PhotoSyncError(.internalError, detail: "\(error)") }
        let receiver = DownloadReceiver(photo, to: file, from: 0, pipeline: pipeline)
        _ = try await client.download(id: photo.id, receiver: receiver, control: control.linked())
        return try await receiver.judge(knownDigests: knownDigests).evidence
    }
}
