internal import MediaCrypto
internal import MediaFiles
internal import MediaStore
internal import MediaSystem
internal import MediaTransport
internal import Synchronization

/// One request with a file, and its outcome.
struct UploadAttempt: Sendable {
    let began: ContinuousClock.Instant
    let response: RescuedResponse
    let verdict: UploadVerdict
    /// SHA-256 of the bytes sent; nil unless the whole file was sent.
    let checksum: String?
    /// Whether the file still had the sent bytes at the end of the attempt; later changes do not count. Unless the
    /// server has stored the file, only its status is compared.
    let isSourceUnchanged: Bool
    /// Time since the last byte of the file was read for sending.
    let timeSinceBody: Duration

    /// Sends the file once, under the control `transfer`, which is linked to the user's. Throws if nothing
    /// could be sent at all.
    static func send(
        _ upload: PreparedUpload,
        file: FileContent,
        rescue: RescueRecord,
        uploadID: String,
        uploader: Uploader,
        control: TransferControl,
        transfer: TransferControl,
        onEvent: @escaping @Sendable (UploadEvent) -> Void
    ) async throws(GigHiveError) -> UploadAttempt {
        let began = ContinuousClock.now
        let readingBegan = uploader.now()
        let tap: HashTap
        do {
            tap = HashTap(try HashPipeline(expecting: file.byteCount), expecting: file.byteCount)
        } catch {
            throw GigHiveError(.internalError, detail: error.detail)
        }
        let form = MultipartForm(
            fields: upload.details.fields.map { ($0.name, $0.value) },
            file: file,
            name: "file",
            fileName: upload.fileName,
            fileType: upload.contentType,
            tap: tap
        )
        let bodyEnd = BodyEnd(tap, uploadID: uploadID, store: uploader.store, bodyByteCount: form.byteCount)
        let observer = control.observeStop {
            if tap.completedAt != nil {
                onEvent(.waitingForToken)
            }
        }
        defer { control.endObserving(observer) }
        // Every dialect supports the oldest of the three paths (gighive contract 2.1); only JSON is accepted (trap T1).
        let request = HTTPRequest(
            .post,
            uploader.client.server.resource("/api/uploads.php"),
            headers: [HTTPHeader("Accept", "application/json"), HTTPHeader("Content-Type", form.contentType)],
            body: form,
            authorization: uploader.client.authorization,
            repeatability: .atMostOnce,
            timeouts: uploader.options.timeouts
        )
        let response = await uploader.execute(request, rescue: rescue, control: transfer) { progress in
            if progress.phase == .processing {
                bodyEnd.reach()
            }
            onEvent(.progress(progress))
        }
        let checksum = await bodyEnd.checksum()
        let verdict = UploadVerdict.of(response.outcome)
        let isUnchanged =
            if let checksum {
                await uploader.isUnchanged(
                    upload,
                    file,
                    sent: checksum,
                    since: readingBegan,
                    mayReadAgain: verdict.isStored
                )
            } else { file.isUnchanged }
        return UploadAttempt(
            began: began,
            response: response,
            verdict: verdict,
            checksum: checksum,
            isSourceUnchanged: isUnchanged,
            timeSinceBody: tap.completedAt.map { .now - $0 } ?? .zero
        )
    }
}

/// Runs once, when the whole body has been sent: finishes the digest and records it in the journal with the state
/// `sent`, so a later process can query the server for the file without reading it again.
private final class BodyEnd: Sendable {
    /// Below this size a later process reads the file again; a write to disk would cost more than the upload.
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

    /// Starts the work once.
    func reach() {
        _ = begun()
    }

    /// The digest of the whole file; nil unless all of it was sent.
    func checksum() async -> String? {
        guard tap.completedAt != nil else { return nil }
        if !isNoted, task.withLock({ $0 == nil }) {
            // A small file is hashed here: a task would take longer.
            return await finish()
        }
        return await begun().value
    }

    private func finish() async -> String? {
        let checksum = try? await tap.digest()
        if isNoted, let checksum {
            // This only helps later queries; the end of the upload reports a failing store.
            try? store.update(uploadID, UploadChange(state: .sent, checksumSHA256: checksum))
        }
        UploadFailpoint.afterBody.reach()
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

/// The meaning of a response to an upload, or of its absence (gighive contract 2.5 and section 3).
indirect enum UploadVerdict: Sendable {
    /// Now on the server, according to the response.
    case stored(UploadResponse)
    /// The server refused the bytes because it already has them; to be confirmed.
    case duplicate(UploadResponse)
    /// The database refused a row because another upload wrote the same key first (trap T19): the server has finished,
    /// and may or may not have the file.
    case collided(GigHiveError)
    /// Known not to be on the server.
    case refused(GigHiveError, mayRepeat: Bool)
    /// The file may or may not be on the server: a query determines which. `isServerFinished` is whether the server is
    /// no longer working on it; a few checks then suffice.
    case unknown(GigHiveError, isServerFinished: Bool)

    var isStored: Bool { if case .stored = self { true } else { false } }

    /// The 4xx statuses with which a server refuses an upload or a finalize request, except 409 (gighive contract 2.5,
    /// 4.3 and section 8). Any other 4xx may come from a proxy while the application is still processing the request.
    static let refusals: Set<Int> = [400, 401, 403, 404, 413, 415]

    /// `bodyComplete` is whether the whole body was handed to the network. If not, the server cannot have stored it.
    static func of(_ response: UploadResponse, head: HTTPResponseHead, bodyComplete: Bool) -> UploadVerdict {
        let isJSON = response.form == .json
        if (200..<300).contains(head.status) { return success(response, bodyComplete: bodyComplete) }
        let error = GigHiveError.ofResponse(head, message: response.message ?? response.error, isJSON: isJSON)
        if response.deleteToken != nil, bodyComplete, head.status != 409 {
            // The token contradicts the status: the server has finished, and is queried.
            return .unknown(error, isServerFinished: true)
        }
        switch head.status {
        case 300..<400:
            // Redirects are not followed. A web form stores its file before it redirects, so the server is queried.
            return bodyComplete ? .unknown(error, isServerFinished: true) : .refused(error, mayRepeat: false)
        case 409:
            return .duplicate(response)
        case 400 where !isJSON && !bodyComplete:
            // This comes from a web server or proxy that did not receive the whole request; the application responds in
            // JSON.
            return .refused(error, mayRepeat: !error.isOfHTTPSPort)
        case 400..<500 where !refusals.contains(head.status):
            // A proxy may send this while the application is still processing a complete body.
            return bodyComplete
                ? .unknown(error, isServerFinished: false) : .refused(error, mayRepeat: error.isRetryable)
        case 500 where error.code == .serverRace && bodyComplete:
            return .collided(error)
        case 500 where error.code == .payloadTooLarge:
            return .refused(error, mayRepeat: false)
        case 501:
            return .refused(error, mayRepeat: false)
        case 503:
            // The web server responds in place of an application that is not running (trap T24), or that was stopped
            // during the request. `UploadRun` queries for the file before it repeats the request.
            return .refused(error, mayRepeat: true)
        case 500...:
            guard bodyComplete else {
                return .refused(error, mayRepeat: head.status != 500)
            }
            // A 500 comes from a script that has finished, perhaps after storing the file (trap T7). Other codes come
            // from a proxy, while the script behind it may still be running.
            return .unknown(error, isServerFinished: head.status == 500)
        default:
            return .refused(error, mayRepeat: false)
        }
    }

    private static func success(_ response: UploadResponse, bodyComplete: Bool) -> UploadVerdict {
        if response.reportsStored {
            return .stored(response)
        }
        let error = response.asHollowSuccess
        return bodyComplete ? .unknown(error, isServerFinished: true) : .refused(error, mayRepeat: false)
    }

    /// A truncated response is judged by its status; only a success requires its body.
    static func of(_ outcome: RescuedResponse.Outcome) -> UploadVerdict {
        switch outcome {
        case .complete(let content, let response):
            return of(content, head: response.head, bodyComplete: response.metrics.bodyComplete)
        case .failed(let failure, let response):
            let bodyComplete = failure.metrics.bodyComplete
            let error = GigHiveError.transport(failure)
            guard let response, let head = failure.head else {
                return bodyComplete
                    ? .unknown(error, isServerFinished: false) : .refused(error, mayRepeat: error.isRetryable)
            }
            let verdict = of(response, head: head, bodyComplete: bodyComplete)
            if case .unknown(_, let isServerFinished) = verdict {
                return .unknown(error, isServerFinished: isServerFinished)
            }
            return verdict
        }
    }
}
