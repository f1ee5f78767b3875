internal import MediaCrypto
internal import MediaFiles
internal import MediaStore
internal import MediaSystem
internal import MediaTransport
internal import Synchronization

/// One request that carried a file, and what came of it.
struct UploadAttempt: Sendable {
    /// What it says about the upload.
    var verdict: UploadVerdict
    /// What went over the network.
    var metrics: TransferMetrics
    /// Status of the answer, if one had begun.
    var status: Int?
    /// What the response contains; nil if none had begun.
    var reply: UploadReply?
    /// SHA-256 of the bytes sent; nil unless the whole file was sent.
    var checksum: String?
    /// Since the last byte of the file was read for sending.
    var timeSinceBody: Duration
    /// Why the rescue log does not contain the whole response.
    var rescueError: StoreError?
    /// The server's release, if the response is about a file of the event.
    var dialect: UploadReply.Dialect? { reply?.dialect }

    /// Sends the file once, under the control `transfer`, which is linked to the user's. The response is in the rescue
    /// log, on the disk, before it is parsed.
    ///
    /// - Throws: `GigHiveError` when nothing could be sent at all.
    static func send(
        _ upload: PreparedUpload,
        file: OpenFile,
        rescue: RescueRecord,
        uploadID: String,
        uploader: Uploader,
        control: TransferControl,
        transfer: TransferControl,
        onEvent: @escaping @Sendable (UploadEvent) -> Void
    ) async throws(GigHiveError) -> UploadAttempt {
        let tap: HashTap
        do {
            tap = HashTap(try HashPipeline(), expecting: file.byteCount)
        } catch {
            throw GigHiveError(.internalError, detail: error.detail)
        }
        let form = MultipartForm(
            fields: upload.details.fields.map { ($0.name, $0.value) },
            file: MultipartForm.FilePart(
                name: "file",
                fileName: upload.fileName,
                contentType: upload.contentType,
                content: try file.content(path: upload.path)
            ),
            tap: tap
        )
        let collector = ReplyCollector(rescue)
        let bodyEnd = BodyEnd(tap, uploadID: uploadID, store: uploader.store, bodyByteCount: form.byteCount)
        let observer = control.observeStop {
            if tap.completedAt != nil {
                onEvent(.waitingForToken)
            }
        }
        defer { control.endObserving(observer) }
        let outcome: Result<HTTPResponse, TransportError>
        do {
            let response = try await uploader.client.http.execute(
                uploader.request(form, collector),
                control: transfer,
                progress: { progress in
                    if progress.phase == .processing {
                        bodyEnd.reach()
                    }
                    onEvent(.progress(progress))
                }
            )
            outcome = .success(response)
        } catch {
            outcome = .failure(error)
        }
        uploader.turn?.end()
        let (body, rescueError) = await collector.finished()
        KillPoint.replyInRescueFile.reach()
        let checksum = await bodyEnd.checksum()
        let timeSinceBody = tap.completedAt.map { .now - $0 } ?? .zero
        switch outcome {
        case .success(let response):
            let reply = UploadReply.parse(status: response.status, body: body, isComplete: true)
            return UploadAttempt(
                verdict: .of(reply, head: response.head, bodyComplete: response.metrics.bodyComplete),
                metrics: response.metrics,
                status: response.status,
                reply: reply,
                checksum: checksum,
                timeSinceBody: timeSinceBody,
                rescueError: rescueError
            )
        case .failure(let failure):
            let reply = failure.head.map { UploadReply.parse(status: $0.status, body: body) }
            return UploadAttempt(
                verdict: .of(failure, reply: reply),
                metrics: failure.metrics,
                status: failure.head?.status,
                reply: reply,
                checksum: checksum,
                timeSinceBody: timeSinceBody,
                rescueError: rescueError
            )
        }
    }
}

extension Uploader {
    /// The upload request of every dialect: the oldest of the three paths (gighive contract 2.1), JSON asked for and
    /// nothing else (trap T1).
    fileprivate func request(_ form: MultipartForm, _ collector: ReplyCollector) -> HTTPRequest {
        HTTPRequest(
            .post,
            client.server.resource("/api/uploads.php"),
            headers: [HTTPHeader("Accept", "application/json"), HTTPHeader("Content-Type", form.contentType)],
            body: form,
            authorization: client.authorization,
            repeatability: .atMostOnce,
            timeouts: options.timeouts,
            destination: .receiver(collector)
        )
    }
}

/// What happens once, when the whole body is out: the digest is finished and noted in the journal with the state `sent`,
/// so that a later process can ask for the file without reading it again.
private final class BodyEnd: Sendable {
    /// Below this a later process simply reads the file again; a write to the disk would cost more than the upload.
    private static let smallestNoted: Int64 = 1 << 20

    private let tap: HashTap
    private let uploadID: String
    private let store: TokenStore
    private let isNoted: Bool
    private let task = Mutex<Task<String?, Never>?>(nil)

    init(_ tap: HashTap, uploadID: String, store: TokenStore, bodyByteCount: Int64) {
        self.tap = tap
        self.uploadID = uploadID
        self.store = store
        isNoted = bodyByteCount >= Self.smallestNoted
    }

    /// Begins the work; later calls change nothing.
    func reach() {
        _ = begun()
    }

    /// The digest of the whole file; nil unless all of it was sent.
    func checksum() async -> String? {
        guard tap.completedAt != nil else { return nil }
        if !isNoted, task.withLock({ $0 == nil }) {
            // A small file is hashed here and now: a task would take longer than that.
            return await finish()
        }
        return await begun().value
    }

    private func finish() async -> String? {
        let checksum = try? await tap.digest()
        if isNoted, let checksum {
            // Only a help for later; the end of the upload reports a store that fails.
            try? store.update(uploadID, UploadChange(state: .sent, checksumSHA256: checksum))
        }
        KillPoint.afterBody.reach()
        return checksum
    }

    private func begun() -> Task<String?, Never> {
        task.withLock { task in
            if let task {
                return task
            }
            let new = Task { await finish() }
            task = new
            return new
        }
    }
}
