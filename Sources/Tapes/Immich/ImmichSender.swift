internal import Foundation
internal import MediaCrypto
internal import MediaFiles
internal import MediaStore
internal import MediaTransport

/// The video of a live picture, which is sent before its still.
struct PairedVideo {
    /// Of its content.
    var checksum: ImmichChecksum
    /// The server's name for it; nil while it has none.
    var assetID: [UInt8]?
}

/// Sends originals that the server has not, one after the other: what the server takes (tapes contract 6.3), until the
/// account is full or the server goes away (6.4).
struct ImmichSender {
    private let library: ImmichLibrary
    /// By clip.
    private var videos: [String: Result<PairedVideo, ClipOriginal.Trouble>]
    /// What became of files that were sent for another clip, by checksum.
    private var sent: [ImmichChecksum: [UInt8]] = [:]
    /// Why nothing more is sent.
    private var stoppedBy: AlbumError?

    init(_ library: ImmichLibrary, videos: [String: Result<PairedVideo, ClipOriginal.Trouble>]) {
        self.library = library
        self.videos = videos
    }

    /// Sends the original of a clip, the video of a live picture first.
    ///
    /// - Throws: `AlbumError` that ends the whole operation.
    mutating func send(_ clip: ClipRecord, _ checksum: ImmichChecksum) async throws(AlbumError) -> AssetResolution {
        guard let source = clip.source else { return .unavailable("no file is known") }
        if let id = sent[checksum] { return .asset(id) }
        var videoID: [UInt8]?
        if let video = videos[clip.id] {
            let resolution = try await resolution(of: video, clip)
            guard case .asset(let id, _) = resolution else { return resolution }
            videoID = id
        }
        return try await send(source, checksum, as: clip.id, videoID: videoID)
    }

    private mutating func resolution(
        of video: Result<PairedVideo, ClipOriginal.Trouble>,
        _ clip: ClipRecord
    ) async throws(AlbumError) -> AssetResolution {
        switch video {
        case .failure(let trouble): return try AssetResolution(trouble)
        case .success(let video):
            if let id = video.assetID ?? sent[video.checksum] { return .asset(id) }
            guard let source = clip.pairedSource else { return .unavailable("no file is known") }
            return try await send(source, video.checksum, as: ImmichLibrary.videoID(of: clip), videoID: nil)
        }
    }

    private mutating func send(
        _ path: [UInt8],
        _ checksum: ImmichChecksum,
        as deviceAssetID: String,
        videoID: [UInt8]?
    ) async throws(AlbumError) -> AssetResolution {
        if library.session.known.isFull { return .failed(AlbumError(.quota, detail: "the account is full")) }
        if let stoppedBy { return .failed(stoppedBy) }
        let name = String(decoding: path.nameOfPath, as: UTF8.self)
        let type = "." + MediaType.pathExtension(of: name).lowercased()
        if let taken = try await library.takenExtensions(), !taken.contains(type) {
            return .rejected("the server does not take \(type)")
        }
        let original: ClipOriginal
        let content: FileContent
        do throws(ClipOriginal.Trouble) {
            original = try await ClipOriginal(path)
            content = try original.content()
        } catch {
            return try AssetResolution(error)
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
            if endsSending { stoppedBy = error }
            return .failed(error)
        case .asset(let id):
            // What arrived may be neither the file of before nor that of now; the next try finds out.
            guard original.isUnchanged else { return .unavailable("the file changed while it was being sent") }
            sent[checksum] = id
            return .asset(id)
        }
    }
}

extension ImmichLibrary {
    /// The videos of live pictures, with what the server knows of them, by clip: one check for all.
    func pairedVideos(
        of clips: [ClipRecord]
    ) async throws(AlbumError) -> [String: Result<PairedVideo, ClipOriginal.Trouble>] {
        var videos: [String: Result<PairedVideo, ClipOriginal.Trouble>] = [:]
        var files: [CheckedFile] = []
        for clip in clips {
            guard clip.kind == .live, let source = clip.pairedSource else { continue }
            do throws(ClipOriginal.Trouble) {
                let video = try await ClipOriginal(source) { _ in true }
                guard let checksum = video.digests.map({ ImmichChecksum($0.sha1) }) else { continue }
                videos[clip.id] = .success(PairedVideo(checksum: checksum))
                files.append(CheckedFile(id: Self.videoID(of: clip), checksum: checksum))
            } catch {
                videos[clip.id] = .failure(error)
            }
        }
        let found = try await check(files)
        for clip in clips {
            guard case .success(var video)? = videos[clip.id],
                case .asset(let id, _)? = found[Self.videoID(of: clip)]
            else { continue }
            video.assetID = id
            videos[clip.id] = .success(video)
        }
        return videos
    }

    /// Our name for the video of a live picture.
    static func videoID(of clip: ClipRecord) -> String { clip.id + "-video" }
}
