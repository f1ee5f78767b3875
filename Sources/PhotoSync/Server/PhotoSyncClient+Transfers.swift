internal import MediaCore
public import MediaTransport

extension PhotoSyncClient {
    /// `POST /api/photos/upload` (contract section 3), streamed from the file, once: nothing is repeated here. Sending the
    /// same bytes again is safe, since the server knows them by their hash.
    ///
    /// - Parameters:
    ///   - photo: What to send.
    ///   - control: Breaks the upload off.
    ///   - progress: Bytes of the whole body, envelope included.
    /// - Returns: What the server says of it.
    /// - Throws: `PhotoSyncError`; `.bodyTooSlow` when the server's 30 seconds were over (contract 3.4), `.invalidDevice`
    ///   when it knows no such device, `.sourceChanged` when the file became shorter, `.invalidDate` for a time outside
    ///   the years 0000 to 9999.
    public func upload(
        _ photo: PhotoUpload,
        control: TransferControl = TransferControl(),
        progress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws(PhotoSyncError) -> PhotoReceipt {
        let form = MultipartForm(
            fields: try photo.fields(),
            file: MultipartForm.FilePart(
                name: "file",
                fileName: photo.partName,
                contentType: "application/octet-stream",
                content: photo.content
            ),
            tap: photo.tap
        )
        var request = try request(.post, "/api/photos/upload", repeatability: .atMostOnce)
        request.headers.append(HTTPHeader("Content-Type", form.contentType))
        request.body = form
        let call = ServerRefusal.Call.upload(namesDevice: photo.deviceID != nil)
        return try PhotoReceipt(reading: await json(of: request, call: call, control: control, progress: progress))
    }

    /// `GET /api/photos/{id}/download` (contract section 6), once: going on after a failure is the caller's.
    ///
    /// Only the bytes of a 200 or a 206 reach the receiver, whose `begin` comes first with the answer's head
    /// (`DownloadHead` reads it); it may refuse by throwing a `PhotoSyncError`, which is then thrown here.
    ///
    /// - Parameters:
    ///   - id: The photo.
    ///   - offset: Bytes that are there already; 0 asks for the whole file.
    ///   - ifRange: `Last-Modified` of the answer that those bytes came from. When the file is another one now, the
    ///     answer is a 200 with all of it.
    ///   - receiver: Takes the bytes, on the transfer loop's thread.
    ///   - control: Breaks the download off.
    ///   - progress: Bytes of this answer.
    /// - Returns: The answer: 200, 206, or 416 with an untouched receiver when nothing lies beyond the offset.
    /// - Throws: `PhotoSyncError`, with the photo's id. An answer cut short is `.transport` and worth repeating.
    public func download(
        id: String,
        from offset: Int64 = 0,
        ifRange: String? = nil,
        receiver: any ResponseReceiver,
        control: TransferControl = TransferControl(),
        progress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws(PhotoSyncError) -> DownloadAnswer {
        do {
            return try await fetch(
                id,
                DownloadGate(offset: offset, receiver: receiver),
                ifRange: ifRange,
                control: control,
                progress: progress
            )
        } catch {
            var error = error
            error.photoID = id
            throw error
        }
    }

    private func fetch(
        _ id: String,
        _ gate: DownloadGate,
        ifRange: String?,
        control: TransferControl,
        progress: (@Sendable (TransferProgress) -> Void)?
    ) async throws(PhotoSyncError) -> DownloadAnswer {
        // A path segment of dots would lead elsewhere on the server (RFC 3986 section 5.2.4).
        guard !["", ".", ".."].contains(id) else { throw PhotoSyncError(.unknownPhoto, detail: "no id of a photo") }
        var request = try request(
            .get,
            "/api/photos/\(PercentEncoding.encode(id))/download",
            headers: gate.rangeHeaders(ifRange: ifRange),
            repeatability: .resumable
        )
        request.destination = .receiver(gate)
        request.verdict = { ServerRefusal.verdict(gate.completed($0)) }
        let response = try await answer(to: request, control: control, progress: progress)
        guard let head = gate.head else { throw ServerRefusal(gate.completed(response)).error() }
        return DownloadAnswer(head: head, metrics: response.metrics)
    }
}
