internal import Dispatch
internal import Foundation
internal import MediaCrypto
internal import MediaFiles
internal import MediaStore
internal import MediaSystem
internal import MediaTransport
internal import Synchronization

/// What `Verification` checks of the files that the server stores. Its listing, counts and `/check` do not look at files
/// (photosync contract, new fact 2).
public enum ServerCheck: Sendable, Equatable {
    /// Nothing.
    case none
    /// That each file exists and has a plausible length: one request for one byte each.
    case lengths
    /// All bytes: each file is downloaded into this directory, verified as a download is, and removed. The directory is an
    /// absolute path, as bytes; created if missing.
    case contents(scratch: [UInt8])
}

/// Checks the server's files of the photos in a listing.
struct ServerFiles: Sendable {
    /// As many as a download has by default.
    private static let jobs = 4

    let account: SyncAccount
    let extent: ServerCheck
    let control: TransferControl

    /// Blocks, like `Verification.look`.
    ///
    /// - Throws: `PhotoSyncError` for the first file that could not be checked, and `.cancelled`.
    func check(_ index: SyncIndex, onBlock: (_ photos: Int, [SyncDifference]) -> Void) throws {
        try index.forEachBlock(of: account.server, where: PhotoFilter()) { block in
            let copies = try account.library.copies(ofPhotos: block.map(\.id), server: account.server)
            let byPhoto = Dictionary(grouping: copies, by: \.photoID)
            // Small enough that progress moves.
            for start in stride(from: 0, to: block.count, by: 50) {
                let part = block[start..<min(block.count, start + 50)]
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
        let results = Results()
        let done = DispatchSemaphore(value: 0)
        Task {
            await withBoundedTasks(photos, limit: Self.jobs) { photo in
                if control.isStopRequested { return }
                do throws(PhotoSyncError) {
                    results.add(.success(try await difference(of: photo, copies[photo.id] ?? [])), of: photo.id)
                } catch {
                    results.add(.failure(error), of: photo.id)
                }
            }
            done.signal()
        }
        done.wait()
        var differences: [SyncDifference] = []
        for photo in photos {
            switch results[photo.id] {
            case .success(let difference?): differences.append(difference)
            case .failure(let error): return (differences, error)
            default: break
            }
        }
        return (differences, nil)
    }

    private final class Results: Sendable {
        private let all = Mutex<[String: Result<SyncDifference?, PhotoSyncError>]>([:])

        func add(_ result: Result<SyncDifference?, PhotoSyncError>, of id: String) {
            all.withLock { $0[id] = result }
        }

        subscript(id: String) -> Result<SyncDifference?, PhotoSyncError>? { all.withLock { $0[id] } }
    }

    // MARK: One photo

    /// Nil for a photo that the server can deliver. `copies` are its copies on this machine: downloaded ones have the length and
    /// the digest that the server's file had then.
    private func difference(
        of photo: PhotoRecord,
        _ copies: [PhotoCopy]
    ) async throws(PhotoSyncError) -> SyncDifference? {
        let first = try await differenceOnce(photo, copies)
        // Damage of one transfer is not damage of the file.
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
            default: throw error
            }
        }
    }

    /// What another upload would repair: a file that cannot be verified may be intact, and one that was damaged before its
    /// upload would be again.
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
            // The server rewrites a file once, so that a downloaded rewritten copy tells its length.
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

    /// What is recorded of an unverified download describes the damaged file.
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
        let file: PartialFile
        do throws(FileWriteError) {
            guard let directory = try TargetDirectory.open(scratch, creating: true) else { return nil }
            file = try PartialFile.open("verify-\(UUID().uuidString).part", in: directory)
        } catch {
            throw PhotoSyncError(error)
        }
        // A file that cannot be removed stays in the cache.
        defer { try? file.discard() }
        let download = PhotoContent(client: account.client, photo: photo, file: file, control: control)
        return switch try await download.read(knownDigests: digests) {
        case .photo: nil
        case .otherPhoto(let stamp): SyncDifference(photo, .serverDamaged, found: "it carries the ID \(stamp)")
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
        let copies: [PhotoCopy]
        do throws(StoreError) {
            copies = try account.library.copies(withDigests: [photo.sha256], server: account.server)
        } catch {
            throw PhotoSyncError(error)
        }
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

/// The server's file of a photo, read once and kept nowhere.
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
        let (pipeline, receiver) = try prepare()
        _ = try await client.download(id: photo.id, receiver: receiver, control: control.linked())
        let state = receiver.result
        guard let total = state.head?.totalBytes, state.position == total else {
            throw PhotoSyncError(.lengthMismatch, isRetryable: true, photoID: photo.id)
        }
        let digest: String
        do {
            digest = try await pipeline.finish().digest.hex
        } catch {
            throw PhotoSyncError(.internalError, detail: "\(error)")
        }
        if digest == photo.sha256 || knownDigests.contains(digest) { return .photo }
        guard state.isGenuine else {
            throw PhotoSyncError(.unexpectedAnswer, detail: "an answer without X-PhotoSync-Hash", photoID: photo.id)
        }
        guard total > 0 else { throw PhotoSyncError(.undeliverable, photoID: photo.id) }
        return try await PhotoEvidence.of(file, photo)
    }

    private func prepare() throws(PhotoSyncError) -> (HashPipeline, DownloadReceiver) {
        do {
            try file.truncate(to: 0)
            let pipeline = try HashPipeline()
            let receiver = DownloadReceiver(
                photo,
                to: file,
                from: 0,
                expectedTotal: nil,
                pipeline: pipeline,
                onBegin: { _ in }
            )
            return (pipeline, receiver)
        } catch let error as FileWriteError {
            throw PhotoSyncError(error)
        } catch {
            throw PhotoSyncError(.internalError, detail: "\(error)")
        }
    }
}
