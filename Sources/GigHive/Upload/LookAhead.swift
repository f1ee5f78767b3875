internal import MediaStore
internal import MediaTransport
internal import Synchronization

/// Finds out, while a large file travels slowly, that the event has its bytes already, and stops the transfer.
///
/// After a second of sending, if less than a quarter has gone, the file is hashed on a thread of its own, and the journal
/// and the server are asked by digest. What is found stops the transfer gently: only while body bytes remain, so never a
/// finalize in flight. A question that fails changes nothing.
///
/// For any transport: send under `control` between `begin` and `finish`, with `observing` as the event handler, and take
/// `end` when the transfer was cancelled.
final class LookAhead: Sendable {
    private struct State {
        var hasBegun = false
        var task: Task<Void, Never>?
        var bytesSent: Int64 = 0
        var end: UploadResult?
    }

    /// Stops with the upload's own control, and when the file need not be sent.
    let control: TransferControl
    private let uploader: Uploader
    private let upload: PreparedUpload
    /// Ends the questions with the transfer.
    private let questions = TransferControl()
    private let state = Mutex(State())

    /// - Returns: nil where it cannot pay: a small file, one whose digest was known before, or one that is sent by force
    ///   or by a guest.
    init?(_ uploader: Uploader, _ upload: PreparedUpload, control: TransferControl) {
        guard upload.sizeBytes >= uploader.options.lookAheadBytes, upload.identity != nil, !uploader.options.again,
            uploader.options.guest == nil, uploader.knownDigest(upload) == nil
        else { return nil }
        self.uploader = uploader
        self.upload = upload
        self.control = control.linked()
    }

    /// The end of the upload, when the file was found.
    var end: UploadResult? { state.withLock { $0.end } }

    /// The transfer begins. Only the first try is looked ahead of.
    func begin() {
        state.withLock { state in
            guard !state.hasBegun else { return }
            state.hasBegun = true
            state.task = Task { await look() }
        }
    }

    /// The transfer has ended.
    func finish() async {
        questions.abandon()
        let task = state.withLock { state in
            defer { state.task = nil }
            return state.task
        }
        task?.cancel()
        await task?.value
    }

    /// A handler that notes how much has gone.
    func observing(_ onEvent: @escaping @Sendable (UploadEvent) -> Void) -> @Sendable (UploadEvent) -> Void {
        { event in
            if case .progress(let progress) = event {
                self.state.withLock { $0.bytesSent = progress.bytesAcknowledged }
            }
            onEvent(event)
        }
    }

    private func look() async {
        guard await isSlow(), let checksum = await uploader.readDigest(of: upload) else { return }
        let earlier = EarlierUploads(uploader: uploader, upload: upload, control: questions, onEvent: { _ in })
        guard let end = try? await earlier.known(checksum), !Task.isCancelled else { return }
        state.withLock { $0.end = end }
        control.stop()
    }

    /// Without a delay every transfer counts as slow.
    private func isSlow() async -> Bool {
        guard uploader.lookAheadDelay > .zero else { return true }
        guard (try? await Task.sleep(for: uploader.lookAheadDelay)) != nil else { return false }
        return state.withLock { $0.bytesSent } < upload.sizeBytes / 4
    }
}
