public import CaptureSubmission
internal import Foundation
internal import Glibc
internal import MediaCore
internal import MediaCrypto
internal import MediaFiles
internal import MediaStore
internal import MediaSystem
public import MediaTransport

/// Uploads a photo with its depth map and the metadata that the settings allow (hash-only contract 7).
struct FullUpload: Sendable {
    static let photoLimit: Int64 = 10 << 20
    static let depthLimit = 5 << 20
    /// The body limit of the server's framework, which is lower than the server's own limits.
    static let frameworkLimit: Int64 = 2 << 20

    let photo: SourceFile
    let depthMap: [UInt8]
    let size: (width: Int, height: Int)
    let metadata: CaptureMetadata
    let capturedAt: String

    /// Checks the limits and compresses the depth map.
    ///
    /// - Throws: `.unknownMediaType` if the photo is not a JPEG; `.depthRequired`, `.depthMapInvalid`,
    ///   `.payloadTooLarge`.
    init(_ input: CaptureInput, metadata: CaptureMetadata, capturedAt: String) throws(CaptureError) {
        guard let file = input.file else {
            throw CaptureError(.fileNotFound, detail: "a full upload requires the file, not a digest")
        }
        guard let prefix = try? file.prefix(16), CaptureMediaType.isJPEG(prefix) else {
            throw CaptureError(.unknownMediaType, detail: "a full upload accepts only JPEG photos", path: file.path)
        }
        guard file.status.size <= Self.photoLimit else {
            throw CaptureError(.payloadTooLarge, detail: "the server accepts photos of up to 10 MiB", path: file.path)
        }
        guard let size = input.depthSize else {
            throw CaptureError(.depthRequired, detail: "a full upload requires a depth map")
        }
        guard size.width <= 1000, size.height <= 1000 else {
            throw CaptureError(.depthMapInvalid, detail: "the server accepts depth maps of up to 1000 × 1000 samples")
        }
        photo = file
        depthMap = try Gzip.compress(input.depthBytes)
        guard depthMap.count <= Self.depthLimit else {
            throw CaptureError(.payloadTooLarge, detail: "the server accepts compressed depth maps of up to 5 MiB")
        }
        self.size = size
        self.metadata = metadata
        self.capturedAt = capturedAt
    }

    /// The text signed by the assertion, as sent.
    func clientData(_ digest: SHA256Digest) -> [UInt8] { Array("\(digest.hex)|\(capturedAt)".utf8) }

    func metadataPart(_ digest: SHA256Digest, assertion: String) -> String {
        var members: JSONObject = [
            "captured_at": .string(capturedAt),
            // The member is required, even for an unknown camera.
            "device_model": .string(metadata.deviceModel ?? "unknown"),
            "photo_hash": .string(digest.hex),
            "depth_map_dimensions": .object(["width": JSONValue(size.width), "height": JSONValue(size.height)]),
        ]
        if case .coordinates(let latitude, let longitude)? = metadata.location {
            members["location"] = .object(["latitude": .double(latitude), "longitude": .double(longitude)])
        }
        members["assertion"] = .string(assertion)
        return members.json()
    }

    /// The body (hash-only contract section 7): the compressed depth map, then metadata and photo. The photo is read
    /// through a separate descriptor while it is sent.
    func form(metadata: String) throws(CaptureError) -> MultipartForm {
        let descriptor = try CaptureError.reading(photo.duplicateDescriptor())
        let boundary = MultipartForm.randomBoundary()
        let head =
            "--\(boundary)\r\nContent-Disposition: form-data; name=\"depth_map\"; filename=\"depth.gz\"\r\n"
            + "Content-Type: application/gzip\r\n\r\n"
        return MultipartForm(
            leading: Array(head.utf8) + depthMap + Array("\r\n".utf8),
            fields: [("metadata", metadata)],
            file: FileContent(owning: descriptor, byteCount: photo.status.size),
            name: "photo",
            // Does not disclose the photo's own name.
            fileName: "photo.jpg",
            fileType: "image/jpeg",
            boundary: boundary
        )
    }
}

extension MultipartForm {
    /// The digest of the whole body, which is covered by the request's signature. Reads the file an additional time.
    ///
    /// - Throws: `.sourceChanged`, `.fileUnreadable`.
    fileprivate func digest() async throws(CaptureError) -> SHA256Digest {
        try await BlockingWork.run { () throws(CaptureError) in
            do {
                var hasher = try SHA256Hasher()
                let reader = makeReader()
                let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 16, alignment: 16)
                defer { buffer.deallocate() }
                while true {
                    let count = try reader.read(into: buffer)
                    if count == 0 { return try hasher.snapshot() }
                    hasher.update(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
                }
            } catch FileContentError.shrank {
                throw CaptureError(.sourceChanged, detail: "the file was truncated while it was being hashed")
            } catch {
                throw CaptureError(.fileUnreadable, detail: "the file cannot be read")
            }
        }
    }
}

extension CaptureClient {
    /// `POST /api/v1/captures` (hash-only contract section 7), at most once: **sends the media**.
    ///
    /// This method is not part of `CaptureSubmission`, so the module that sends hash-only captures has no function that
    /// accepts other bodies.
    ///
    /// `headers` contains the header fields from `RequestSignature` for the whole form; `requestID` is a UUID that the
    /// server echoes. `progress` is called with the byte counts of the whole form.
    ///
    /// - Throws: As for `submit`.
    package func upload(
        _ form: MultipartForm,
        headers: [HTTPHeader],
        requestID: String,
        control: TransferControl,
        progress: (@Sendable (TransferProgress) -> Void)?
    ) async throws(CaptureError) -> SubmissionResponse {
        let content = [HTTPHeader("Accept", "application/json"), HTTPHeader("Content-Type", form.contentType)]
        let request = HTTPRequest(
            .post,
            server.resource("/api/v1/captures"),
            headers: content + headers + [HTTPHeader("X-Request-Id", requestID)],
            body: form,
            repeatability: .atMostOnce,
            timeouts: timeouts,
            destination: .memory(limit: Self.longestResponse)
        )
        return try SubmissionResponse(reading: await response(to: request, control: control, progress: progress))
    }
}

extension CaptureExchange {
    typealias Progressing = @Sendable (TransferProgress) -> Void

    /// Signs a full upload and sends it, at most once per attempt. `onProgress` is called with the byte counts of the
    /// whole body.
    ///
    /// - Throws: `CaptureError` if the store fails.
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
        CaptureFailpoint.countersTaken.reach()
        let signed = try SHA256Digest.of(upload.clientData(digest))
        let device = sender.device
        let assertion = try await Assertion.sign(signed, rpID: device.rpID, counter: counter + 1, with: device.signer)
        let metadata = upload.metadataPart(digest, assertion: assertion.base64)
        CaptureFailpoint.payloadSigned.reach()
        try keepSigned(&progress, body: Array(metadata.utf8), counter: counter + 1)
        let form = try upload.form(metadata: metadata)
        let formDigest = try await form.digest()
        guard (try? upload.photo.currentStatus()) == upload.photo.status else {
            throw CaptureError(.sourceChanged, detail: "the file changed before it was sent", path: upload.photo.path)
        }
        try await deliver(&progress, formDigest, counter: counter) { headers throws(CaptureError) in
            try await send(form, headers, onProgress)
        }
    }

    private func send(
        _ form: MultipartForm,
        _ headers: [HTTPHeader],
        _ onProgress: Progressing?
    ) async throws(CaptureError) -> SubmissionResponse {
        do throws(CaptureError) {
            return try await sender.client.upload(
                form,
                headers: headers,
                requestID: UUID().uuidString.lowercased(),
                control: control,
                progress: onProgress
            )
        } catch {
            throw Self.explained(error, byteCount: form.byteCount)
        }
    }

    /// Servers do not report their framework's limit of 2 MiB: they reject a larger photo with a 400. A refusal from a
    /// proxy, which is retryable, does not concern that limit.
    private static func explained(_ error: CaptureError, byteCount: Int64) -> CaptureError {
        guard error.code == .badRequest || error.code == .payloadTooLarge, !error.isRetryable,
            byteCount > FullUpload.frameworkLimit
        else {
            return error
        }
        var error = error
        error.code = .payloadTooLarge
        error.detail =
            "the body has \(byteCount) bytes, and this server accepts 2 MiB in total, although it documents 10 MiB "
            + "for a photo: \(error.detail)"
        return error
    }
}

extension CaptureSession {
    /// Uploads the media itself (contract section 7). Refused while privacy mode is enabled.
    ///
    /// The media, a JPEG photo of at most 10 MiB with a depth map, is also stored in the vault. The upload is repeated
    /// only by another call. `progress` is called with the byte counts of the whole body; `beforeSending`, with the
    /// notices about an upload that is about to start.
    ///
    /// - Returns: The current record. `error` is the reason why the upload was not accepted.
    /// - Throws: `CaptureError` `.privacyModeOn`, and other errors if there is no record.
    public func sendMedia(
        _ request: CaptureRequest,
        control: TransferControl = TransferControl(),
        progress: (@Sendable (TransferProgress) -> Void)? = nil,
        beforeSending: (@Sendable ([CaptureNotice]) -> Void)? = nil
    ) async throws(CaptureError) -> CaptureOutcome {
        guard !request.settings.isPrivacyModeEnabled else {
            throw CaptureError(.privacyModeOn, detail: "media is not uploaded while privacy mode is on")
        }
        let device = try device()
        let input = try await CaptureInput.read(request, profile: profile)
        let filter = filter(request)
        let upload = try FullUpload(
            input,
            metadata: filter.metadata(of: input.facts),
            capturedAt: filter.capturedAt(of: input.facts, now: dependencies.now())
        )
        switch try await keep(input, request, mode: .full, control, progress: nil) {
        case .ended(let outcome): return outcome
        case .open(let record, _):
            let notices = input.timeNotices(request) + input.notices(about: upload)
            beforeSending?(notices)
            var outcome = try await exchange(record.id, device, control) { exchange, record throws(CaptureError) in
                try await exchange.submit(record, upload, progress)
            }
            outcome.notices = notices + outcome.notices
            outcome.timeSource = input.facts.timeSource
            return outcome
        }
    }
}

extension CaptureInput {
    fileprivate func notices(about upload: FullUpload) -> [CaptureNotice] {
        // The server labels only hash-only evidence.
        var notices = notices.filter { $0 != .labeledByServer } + [.capturedAtIsPublic(upload.capturedAt)]
        if case .coordinates? = upload.metadata.location { notices.append(.coordinatesArePublic(decimals: 2)) }
        return notices
    }
}
