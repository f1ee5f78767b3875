internal import Foundation
internal import MediaCore
internal import MediaCrypto
internal import MediaFiles
internal import MediaStore
internal import MediaSystem
internal import MediaTransport

/// Upload of one file (tapes contract 6.3, no. 2).
struct ImmichUpload {
    enum Outcome {
        /// The file is on the server, newly uploaded or already stored.
        case asset([UInt8])
        /// Rejected permanently.
        case refused(String)
        /// The file could not be read completely.
        case unreadable(String)
        /// Temporary failure. `endsSending` is whether other files would fail with the same error.
        case failed(AlbumError, endsSending: Bool)
    }

    /// `deviceAssetId`: required by version 2, ignored by version 3.
    var deviceAssetID: String
    /// The original name, without directories.
    var fileName: String
    var checksum: ImmichChecksum
    /// Modification time of the file; the server prefers a date inside the file.
    var modifiedAt: Date
    var livePhotoVideoID: String?
    var content: FileContent

    /// The fields must precede the file, otherwise the server ignores them (trap 13).
    func form() -> MultipartForm {
        let time = RFC3339.text(milliseconds: Int64((modifiedAt.timeIntervalSince1970 * 1000).rounded(.down)))
        var fields = [
            (name: "deviceAssetId", value: deviceAssetID), (name: "deviceId", value: "mediactl"),
            (name: "fileCreatedAt", value: time), (name: "fileModifiedAt", value: time),
            (name: "filename", value: fileName),
        ]
        if let livePhotoVideoID { fields.append(("livePhotoVideoId", livePhotoVideoID)) }
        return MultipartForm(
            fields: fields,
            file: content,
            name: "assetData",
            fileName: fileName,
            fileType: "application/octet-stream"
        )
    }
}

extension ImmichLibrary {
    /// `POST /assets`, without retries. Repeating an upload is safe: the server identifies the bytes by their checksum,
    /// which also resolves a lost response.
    func upload(
        _ upload: ImmichUpload,
        progress: (@Sendable (TransferProgress) -> Void)?
    ) async throws(AlbumError) -> ImmichUpload.Outcome {
        let form = upload.form()
        let keeper = BodyPrefix()
        var request = client.request(.post, "/assets", repeatability: .atMostOnce)
        request.headers += [
            HTTPHeader("Content-Type", form.contentType), HTTPHeader("x-immich-checksum", upload.checksum.base64),
        ]
        request.body = form
        request.destination = .receiver(keeper)
        let response: HTTPResponse
        do throws(TransportError) {
            response = keeper.completed(try await client.http.execute(request, progress: progress))
        } catch {
            return try await outcome(of: error, keeper, upload)
        }
        guard (200..<300).contains(response.status) else {
            return try outcome(of: ImmichRefusal(response), byteCount: upload.content.byteCount)
        }
        if let id = Self.assetID(in: response.body) { return .asset(id) }
        return try await confirmed(
            upload,
            or: AlbumError(.unreachable(retryAfter: nil), detail: "no ID in the response")
        )
    }

    /// Only the server's own refusal of the file is permanent: any other refusal may be caused by a proxy setting.
    private func outcome(of refusal: ImmichRefusal, byteCount: Int64) throws(AlbumError) -> ImmichUpload.Outcome {
        if refusal.status == 413 {
            return .failed(tooLarge(byteCount, refusal.detail), endsSending: false)
        }
        let error = refusal.error
        noteRefusal(error)
        switch error.kind {
        case .rejected, .albumMissing:
            guard refusal.isOfContent else {
                let failure = AlbumError.Kind.unreachable(retryAfter: refusal.retryAfter)
                return .failed(
                    AlbumError(failure, detail: error.detail, httpStatus: error.httpStatus),
                    endsSending: false
                )
            }
            return .refused(error.detail)
        case .unauthorized: throw error
        case .quota:
            session.learn { $0.isFull = true }
            return .failed(error, endsSending: true)
        default: return .failed(error, endsSending: ![408, 423, 500, 502, 504].contains(refusal.status))
        }
    }

    /// Stores the size of a file that was refused as too large, by the server or a proxy in front of it.
    private func tooLarge(_ byteCount: Int64, _ detail: String) -> AlbumError {
        session.learn { $0.refusedByteCount = min($0.refusedByteCount ?? byteCount, byteCount) }
        return AlbumError(.tooLarge(byteCount: byteCount), detail: detail, httpStatus: 413)
    }

    /// The outcome of an incomplete exchange. A response received before the connection broke counts: a server that has
    /// the checksum responds without reading the body (trap 12).
    private func outcome(
        of error: TransportError,
        _ response: BodyPrefix,
        _ upload: ImmichUpload
    ) async throws(AlbumError) -> ImmichUpload.Outcome {
        if let head = error.head {
            let early = response.completed(HTTPResponse(head: head, body: [], metrics: error.metrics))
            if (200..<300).contains(head.status), let id = Self.assetID(in: early.body) { return .asset(id) }
            // A proxy responds based on the length alone, and closes the connection before it has read the file.
            if head.status == 413 {
                return .failed(tooLarge(upload.content.byteCount, ImmichRefusal(early).detail), endsSending: false)
            }
        }
        switch error.kind {
        case .cancelled: throw AlbumError(error)
        case .bodyUnreadable: return .unreadable(error.underlying.map { "\($0)" } ?? error.detail)
        case _ where error.isBeforeRequest: return .failed(AlbumError(error), endsSending: true)
        default: return try await confirmed(upload, or: AlbumError(error))
        }
    }

    /// Looks up the checksum on the server if it is unknown whether the file has arrived.
    private func confirmed(
        _ upload: ImmichUpload,
        or failure: AlbumError
    ) async throws(AlbumError) -> ImmichUpload.Outcome {
        let file = CheckedFile(id: upload.deviceAssetID, checksum: upload.checksum)
        if Task.isCancelled { throw AlbumError(.cancelled) }
        guard let found = try? await check([file])[file.id], case .asset(let id, _) = found else {
            return .failed(failure, endsSending: false)
        }
        return .asset(id)
    }

    private static func assetID(in body: [UInt8]) -> [UInt8]? {
        guard let id = JSONValue.object(in: body[...])?["id"]?.text, UUID(uuidString: id) != nil else { return nil }
        return Array(id.utf8)
    }
}

/// The video of a live photo, which is uploaded before its still.
struct PairedVideo {
    var checksum: ImmichChecksum
    /// The ID on the server; nil if the video is not on the server.
    var assetID: [UInt8]?
}

extension ImmichLibrary {
    /// The videos of live photos by clip, checked on the server in one request.
    func pairedVideos(
        of clips: [ClipRecord]
    ) async throws(AlbumError) -> [String: Result<PairedVideo, ClipOriginal.Failure>] {
        var videos: [String: Result<PairedVideo, ClipOriginal.Failure>] = [:]
        var files: [CheckedFile] = []
        for clip in clips {
            guard clip.kind == .live, let source = clip.pairedSource else { continue }
            do throws(ClipOriginal.Failure) {
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

    static func videoID(of clip: ClipRecord) -> String { clip.id + "-video" }
}

/// SHA-1 of a file, by which the server identifies files (tapes contract 6.3, trap 14).
struct ImmichChecksum: Sendable, Hashable {
    /// 28 characters; the server parses any other length as hexadecimal digits.
    let base64: String

    init(_ digest: [UInt8]) {
        base64 = Data(digest).base64EncodedString()
    }

    /// Parses 40 hexadecimal digits; nil for anything else.
    init?(hex: String) {
        guard hex.utf8.count == 40, let digest = HexText.bytes(hex) else { return nil }
        self.init(digest)
    }
}

/// SHA-1 of the originals of clips: the clip's stored checksum if the size and time of the file are unchanged,
/// otherwise computed from the file (rule R14, trap 14).
struct ClipChecksums {
    let store: LibraryStore
    private var made: [ClipRecord] = []
    /// Files read for other clips.
    private var known: [[UInt8]: ClipRecord] = [:]
    /// Directories whose file systems did not respond: their other files are skipped.
    var silent: Set<[UInt8]> = []

    init(store: LibraryStore) {
        self.store = store
    }

    mutating func checksum(of clip: ClipRecord) async throws(ClipOriginal.Failure) -> ImmichChecksum {
        guard let source = clip.source else { throw .away("the clip has no file") }
        let directory = source.directoryOfPath
        guard !silent.contains(directory) else { throw .silent }
        let candidates = [clip, known[source]].compactMap { $0 }
        let original: ClipOriginal
        do {
            original = try await ClipOriginal(source) { status in
                !candidates.contains { $0.checksum(of: status) != nil }
            }
        } catch {
            if case .silent = error { silent.insert(directory) }
            throw error
        }
        guard let digests = original.digests else {
            guard let known = candidates.lazy.compactMap({ $0.checksum(of: original.file.status) }).first else {
                throw .away("the checksum could not be computed")
            }
            return known
        }
        var clip = clip
        clip.size = original.file.status.size
        clip.modifiedNanoseconds = original.file.status.modificationNanoseconds
        clip.sha1 = digests.sha1Hex
        clip.sha256 = digests.sha256.hex
        known[source] = clip
        made.append(clip)
        return ImmichChecksum(digests.sha1)
    }

    /// Stores all new checksums at once. Their only purpose is to avoid reading files again, so a store failure is
    /// ignored here.
    mutating func keep() {
        guard !made.isEmpty else { return }
        try? store.keepChecksums(of: made)
        made = []
    }
}

extension ClipRecord {
    /// The stored checksum, if the file is unchanged since then.
    fileprivate func checksum(of status: FileIdentity) -> ImmichChecksum? {
        guard isUnchanged(status) else { return nil }
        return sha1.flatMap(ImmichChecksum.init(hex:))
    }
}
