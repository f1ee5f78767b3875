internal import CaptureSubmission
internal import Foundation
internal import MediaCrypto
internal import MediaFiles
internal import MediaStore
internal import MediaSystem
internal import MediaTransport

extension CaptureExchange {
    typealias Progressing = @Sendable (TransferProgress) -> Void

    /// Signs a full upload and sends it, at most once an attempt.
    ///
    /// - Parameters:
    ///   - record: Of the upload.
    ///   - upload: What leaves.
    ///   - onProgress: Bytes of the whole body.
    /// - Returns: Where the record has got to.
    /// - Throws: `CaptureError` when the store cannot keep what happened.
    func submit(
        _ record: CaptureRecord,
        _ upload: FullUpload,
        _ onProgress: Progressing?
    ) async throws(CaptureError) -> CaptureOutcome {
        try await run(record) { progress throws(CaptureError) in try await attempt(&progress, upload, onProgress) }
    }

    private func attempt(
        _ progress: inout Progress,
        _ upload: FullUpload,
        _ onProgress: Progressing?
    ) async throws(CaptureError) {
        try checkStop()
        guard let digest = SHA256Digest(hex: progress.record.mediaHash) else {
            throw CaptureError(.recordUnusable, value: progress.record.id)
        }
        let counter = try sender.take(2)
        CaptureKillPoint.countersTaken.reach()
        let metadata = upload.metadataPart(
            digest,
            assertion: upload.isAsserted ? try await assertion(upload, digest, counter + 1) : nil
        )
        CaptureKillPoint.payloadSigned.reach()
        try keepSigned(&progress, body: Array(metadata.utf8), counter: counter + 1)
        let form = try upload.form(metadata: metadata)
        let formDigest = try await form.digest()
        guard (try? upload.photo.currentStatus()) == upload.photo.status else {
            throw CaptureError(.sourceChanged, detail: "the file changed before it was sent", path: upload.photo.path)
        }
        try checkStop()
        let sentAt = clock()
        let headers = try await RequestSignature.headers(
            bodyDigest: formDigest,
            device: sender.device,
            counter: counter,
            milliseconds: CaptureSender.milliseconds(time(progress))
        )
        CaptureKillPoint.requestSigned.reach()
        try keepSubmitted(&progress, at: sentAt)
        let reply = try await send(form, headers, onProgress)
        CaptureKillPoint.answered.reach()
        try settle(&progress, reply)
        CaptureKillPoint.settled.reach()
    }

    private func assertion(
        _ upload: FullUpload,
        _ digest: SHA256Digest,
        _ counter: UInt32
    ) async throws(CaptureError) -> String {
        let signed = try SHA256Digest.of(upload.clientData(digest))
        let device = sender.device
        return try await Assertion.sign(signed, rpID: device.rpID, counter: counter, with: device.signer).base64
    }

    /// `POST /api/v1/captures`.
    private func send(
        _ form: FullCaptureForm,
        _ headers: [HTTPHeader],
        _ onProgress: Progressing?
    ) async throws(CaptureError) -> SubmissionReply {
        do throws(CaptureError) {
            return try await sender.client.upload(
                form,
                contentType: form.contentType,
                headers: headers,
                requestID: UUID().uuidString.lowercased(),
                control: control,
                progress: onProgress
            )
        } catch {
            throw Self.explained(error, byteCount: form.byteCount)
        }
    }

    /// The 2 MiB that the server's framework takes in all are told by nobody: a real photo is simply refused with 400.
    private static func explained(_ error: CaptureError, byteCount: Int64) -> CaptureError {
        guard error.code == .badRequest || error.code == .payloadTooLarge, byteCount > FullUpload.frameworkLimit else {
            return error
        }
        var error = error
        error.code = .payloadTooLarge
        error.detail =
            "the body has \(byteCount) bytes, and this server takes no more than 2 MiB in all, though it promises 10 MiB "
            + "for a photo: \(error.detail)"
        return error
    }
}
