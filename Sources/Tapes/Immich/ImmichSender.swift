internal import MediaCore
internal import MediaFiles
internal import MediaStore
internal import MediaSystem
internal import MediaTransport
internal import Synchronization

/// Uploads missing originals, several in parallel, and each only once, if the server accepts their type (tapes contract
/// 6.3), until the account is full or the server fails (6.4).
final class ImmichSender: Sendable {
    /// A clip whose original is to be uploaded.
    struct File: Sendable {
        /// Identifies the file in the results.
        var index: Int
        var clip: ClipRecord
        var checksum: ImmichChecksum
    }

    private typealias Sent = Result<AssetResolution, AlbumError>

    private struct State {
        /// Asset IDs of uploaded files, by checksum.
        var sent: [ImmichChecksum: [UInt8]] = [:]
        /// The error after which nothing else is uploaded.
        var stoppedBy: AlbumError?
        /// The error that ends the whole operation.
        var failure: AlbumError?
    }

    private let library: ImmichLibrary
    /// Videos of live photos, by clip ID.
    private let videos: [String: Result<PairedVideo, ClipOriginal.Failure>]
    private let state = Mutex(State())

    init(_ library: ImmichLibrary, videos: [String: Result<PairedVideo, ClipOriginal.Failure>]) {
        self.library = library
        self.videos = videos
    }

    /// Uploads originals in order, with at most `jobs` in parallel; the video of a live photo is uploaded before its
    /// still. Returns the results by index.
    ///
    /// - Throws: `AlbumError` that ends the whole operation, after the uploads in progress have finished.
    func send(_ files: [File]) async throws(AlbumError) -> [Int: AssetResolution] {
        let types = try await library.takenExtensions()
        var claimed: Set<ImmichChecksum> = []
        var first: [File] = []
        // Files with the same bytes as an earlier file are resolved after it.
        var repeated: [File] = []
        for file in files {
            let needed = [file.checksum] + (video(of: file).map { [$0.checksum] } ?? [])
            if claimed.isDisjoint(with: needed) { first.append(file) } else { repeated.append(file) }
            claimed.formUnion(needed)
        }
        var resolutions: [Int: AssetResolution] = [:]
        for (files, jobs) in [(first, max(1, library.jobs)), (repeated, 1)] {
            var rest = files[...]
            await withBoundedTasks(
                limit: jobs,
                next: { [self] in isEnded ? nil : rest.popFirst() },
                ended: { (index: Int, result: Sent) in
                    switch result {
                    case .success(let resolution): resolutions[index] = resolution
                    case .failure(let error): end(error)
                    }
                },
                { [self] file in
                    (file.index, await Result(awaiting: { () async throws(AlbumError) in try await send(file, types) }))
                }
            )
        }
        if Task.isCancelled { throw AlbumError(.cancelled) }
        if let failure = state.withLock({ $0.failure }) { throw failure }
        return resolutions
    }

    private var isEnded: Bool { Task.isCancelled || state.withLock { $0.failure != nil } }

    private func end(_ error: AlbumError) { state.withLock { $0.failure = $0.failure ?? error } }

    private func video(of file: File) -> PairedVideo? {
        guard case .success(let video)? = videos[file.clip.id] else { return nil }
        return video
    }

    private func sentID(_ checksum: ImmichChecksum) -> [UInt8]? { state.withLock { $0.sent[checksum] } }

    // MARK: One clip

    private func send(_ file: File, _ types: Set<String>?) async throws(AlbumError) -> AssetResolution {
        guard let source = file.clip.source else { return .unavailable("the clip has no file") }
        if let id = sentID(file.checksum) { return .asset(id) }
        var videoID: [UInt8]?
        if let video = videos[file.clip.id] {
            let resolution = try await resolution(of: video, file.clip, types)
            guard case .asset(let id, _) = resolution else { return resolution }
            videoID = id
        }
        return try await send(source, file.checksum, as: file.clip.id, videoID: videoID, types)
    }

    private func resolution(
        of video: Result<PairedVideo, ClipOriginal.Failure>,
        _ clip: ClipRecord,
        _ types: Set<String>?
    ) async throws(AlbumError) -> AssetResolution {
        switch video {
        case .failure(let failure): return try AssetResolution(failure)
        case .success(let video):
            if let id = video.assetID ?? sentID(video.checksum) { return .asset(id) }
            guard let source = clip.pairedSource else { return .unavailable("the clip has no file") }
            return try await send(source, video.checksum, as: ImmichLibrary.videoID(of: clip), videoID: nil, types)
        }
    }

    private func send(
        _ path: [UInt8],
        _ checksum: ImmichChecksum,
        as deviceAssetID: String,
        videoID: [UInt8]?,
        _ types: Set<String>?
    ) async throws(AlbumError) -> AssetResolution {
        if library.session.known.isFull { return .failed(AlbumError(.quota, detail: "the account is full")) }
        if let error = state.withLock({ $0.stoppedBy }) { return .failed(error) }
        let name = String(decoding: path.nameOfPath, as: UTF8.self)
        let type = "." + MediaType.pathExtension(of: name).lowercased()
        if let types, !types.contains(type) { return .rejected("the server does not accept \(type)") }
        let original: ClipOriginal
        let content: FileContent
        do throws(ClipOriginal.Failure) {
            original = try await ClipOriginal(path)
            content = try original.content()
        } catch {
            return try AssetResolution(error)
        }
        if let limit = library.session.known.refusedByteCount, content.byteCount >= limit {
            let detail = "a file of \(limit) bytes was refused as too large"
            return .failed(AlbumError(.tooLarge(byteCount: limit), detail: detail, httpStatus: 413))
        }
        let upload = ImmichUpload(
            deviceAssetID: deviceAssetID,
            fileName: name,
            checksum: checksum,
            modifiedAt: original.modifiedAt,
            livePhotoVideoID: videoID.map { String(decoding: $0, as: UTF8.self) },
            content: content
        )
        let report = library.progress.map { report in
            { @Sendable (step: TransferProgress) in report(path, step.bytesAcknowledged, step.bodyByteCount) }
        }
        switch try await library.upload(upload, progress: report) {
        case .refused(let reason): return .rejected(reason)
        case .unreadable(let reason): return .unavailable(reason)
        case .failed(let error, let endsSending):
            if endsSending { state.withLock { $0.stoppedBy = $0.stoppedBy ?? error } }
            return .failed(error)
        case .asset(let id):
            // The uploaded bytes may match neither version; the next attempt determines it.
            guard original.isUnchanged else { return .unavailable("the file changed while it was being uploaded") }
            state.withLock { $0.sent[checksum] = id }
            return .asset(id)
        }
    }
}
