internal import Foundation
internal import MediaCore
internal import MediaTransport
internal import Synchronization

/// One file on its way to the server (tapes contract 6.3, 2).
struct ImmichUpload {
    /// What became of it.
    enum Outcome {
        /// The server has it, from now on or for long.
        case asset([UInt8])
        /// This file is refused for good.
        case refused(String)
        /// The file could not be read to its end.
        case unreadable(String)
        /// Not now. `endsSending`: it would not go better with another file.
        case failed(AlbumError, endsSending: Bool)
    }

    /// `deviceAssetId`: required by version 2, ignored by version 3.
    var deviceAssetID: String
    /// The true name, without directories.
    var fileName: String
    /// Of the content.
    var checksum: ImmichChecksum
    /// When the file was last modified; the server looks into the file for a better one.
    var modifiedAt: Date
    /// The video of a live picture, sent before.
    var livePhotoVideoID: String?
    /// The bytes.
    var content: FileContent

    /// The body. The fields stand before the file, or the server would not see them (trap 13).
    func form() -> MultipartForm {
        let time = RFC3339.text(milliseconds: Int64((modifiedAt.timeIntervalSince1970 * 1000).rounded(.down)))
        var fields = [
            (name: "deviceAssetId", value: deviceAssetID), (name: "deviceId", value: "mediactl"),
            (name: "fileCreatedAt", value: time), (name: "fileModifiedAt", value: time),
            (name: "filename", value: fileName),
        ]
        if let livePhotoVideoID { fields.append(("livePhotoVideoId", livePhotoVideoID)) }
        let file = MultipartForm.FilePart(
            name: "assetData",
            fileName: fileName,
            contentType: "application/octet-stream",
            content: content
        )
        return MultipartForm(fields: fields, file: file)
    }
}

extension ImmichLibrary {
    /// `POST /assets`, once. Sending the same bytes again is safe: the server knows them by their checksum, which is also
    /// how an answer that was lost is made good.
    func upload(
        _ upload: ImmichUpload,
        progress: (@Sendable (TransferProgress) -> Void)?
    ) async throws(AlbumError) -> ImmichUpload.Outcome {
        let form = upload.form()
        let answer = AnswerKeeper()
        var request = client.request(.post, "/assets", repeatability: .atMostOnce)
        request.headers += [
            HTTPHeader("Content-Type", form.contentType), HTTPHeader("x-immich-checksum", upload.checksum.base64),
        ]
        request.body = form
        request.destination = .receiver(answer)
        do {
            let response = answer.completed(try await client.http.execute(request, progress: progress))
            guard (200..<300).contains(response.status) else { return try outcome(of: client.refusal(response)) }
            if let id = Self.assetID(in: response.body) { return .asset(id) }
            let unread = AlbumError(.unreachable(retryAfter: nil), detail: "no id in the answer")
            return try await confirmed(upload, or: unread)
        } catch let error as TransportError {
            return try await outcome(of: error, answer, upload)
        } catch {
            throw error as? AlbumError ?? AlbumError(.unreachable(retryAfter: nil), detail: "\(error)")
        }
    }

    private func outcome(of refusal: ImmichRefusal) throws(AlbumError) -> ImmichUpload.Outcome {
        let error = refusal.error(needing: .addOnly)
        noteRefusal(error)
        switch error.kind {
        case .rejected, .albumMissing: return .refused(error.detail)
        case .unauthorized: throw error
        case .quota:
            session.learn { $0.isFull = true }
            return .failed(error, endsSending: true)
        default: return .failed(error, endsSending: ![408, 500, 502, 504].contains(refusal.status))
        }
    }

    /// No answer. One that came whole before the connection broke counts: a server that knows the checksum answers without
    /// reading the body (trap 12).
    private func outcome(
        of error: TransportError,
        _ answer: AnswerKeeper,
        _ upload: ImmichUpload
    ) async throws(AlbumError) -> ImmichUpload.Outcome {
        if let head = error.head {
            let early = answer.completed(HTTPResponse(head: head, body: [], metrics: error.metrics))
            if (200..<300).contains(head.status), let id = Self.assetID(in: early.body) { return .asset(id) }
        }
        switch error.kind {
        case .cancelled: throw AlbumError(error)
        case .bodyUnreadable: return .unreadable(error.underlying.map { "\($0)" } ?? error.detail)
        case _ where error.isBeforeRequest: return .failed(AlbumError(error), endsSending: true)
        default: return try await confirmed(upload, or: AlbumError(error))
        }
    }

    /// What the server says of the checksum when it is not known whether the file has arrived.
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

/// Keeps the bytes of an answer, also of one that is followed by an error.
private final class AnswerKeeper: ResponseReceiver {
    private let bytes = Mutex<[UInt8]>([])

    func begin(_ head: HTTPResponseHead) {}

    func receive(_ bytes: UnsafeRawBufferPointer) {
        self.bytes.withLock { $0 += bytes.prefix(ImmichRefusal.longestBody - $0.count) }
    }

    /// An answer with the bytes.
    func completed(_ response: HTTPResponse) -> HTTPResponse {
        var response = response
        response.body = bytes.withLock { $0 }
        return response
    }
}
