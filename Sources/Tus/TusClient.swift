internal import Foundation
internal import MediaCore
public import MediaCrypto
public import MediaTransport

/// A client of one tus 1.0.0 server (https://tus.io/protocols/resumable-upload): its requests, and sending a file in
/// chunks. Independent of any media server.
///
/// An upload is identified by its ID, the last segment of the `Location` of its creation. Addresses are always built
/// from the configured server and path, so a foreign `Location` never receives credentials.
public struct TusClient: Sendable {
    let http: HTTPClient
    let server: ServerURL
    let path: String
    let authorization: Authorization?
    let headers: [HTTPHeader]
    let timeouts: TransferTimeouts
    /// How long a graceful stop waits for the response to a creation.
    private static let creationGrace = Duration.seconds(2)

    /// Creates a client. `path` is the address at which uploads are created, with a slash at its end (`/files/`).
    /// `headers` are sent with every request in addition to those of tus, for example a secret that the media server
    /// requires.
    public init(
        http: HTTPClient,
        server: ServerURL,
        path: String,
        authorization: Authorization?,
        headers: [HTTPHeader] = [],
        timeouts: TransferTimeouts = TransferTimeouts()
    ) {
        self.http = http
        self.server = server
        self.path = path
        self.authorization = authorization
        self.headers = headers
        self.timeouts = timeouts
    }

    /// Queries the server's features (`OPTIONS`, tus 1.0.0 section "OPTIONS"). With `repeatsUnavailable`, a 503 is
    /// retried here and not left to the caller.
    ///
    /// - Throws: `TusError`; `.unsupported` if there is no tus 1.0.0 server.
    public func features(
        repeatsUnavailable: Bool = true,
        control: TransferControl = TransferControl()
    ) async throws(TusError) -> TusFeatures {
        let response = try await exchange(request(.options, repeatsUnavailable: repeatsUnavailable), control)
        return try TusFeatures(response.head)
    }

    /// Creates an upload (`POST`, extension "creation").
    ///
    /// A lost response leaves an empty upload on the server, which is harmless if the number of uploads is not
    /// limited; creation is therefore retried like a safe request, unless `isRepeatable` is false. `isPartial` uploads
    /// are joined with others (extension "concatenation"). With `repeatsUnavailable`, a 503 is retried here and not
    /// left to the caller. A graceful stop waits for the response to a request that was sent, at most 2 seconds unless
    /// `isRepeatable` is false.
    ///
    /// - Throws: `TusError`; `.tooLarge` if the server does not accept an upload of this length.
    public func create(
        byteCount: Int64,
        metadata: [TusMetadata],
        isPartial: Bool = false,
        repeatsUnavailable: Bool = true,
        isRepeatable: Bool = true,
        control: TransferControl = TransferControl()
    ) async throws(TusError) -> TusCreation {
        var headers = [HTTPHeader("Upload-Length", String(byteCount))]
        if isPartial { headers.append(HTTPHeader("Upload-Concat", "partial")) }
        return try await create(
            headers,
            metadata,
            repeatsUnavailable: repeatsUnavailable,
            isRepeatable: isRepeatable,
            control
        )
    }

    /// Joins finished partial uploads, in order (extension "concatenation"). Waits up to five minutes for an upload
    /// that is locked (423).
    public func concatenate(
        _ ids: [String],
        metadata: [TusMetadata],
        control: TransferControl = TransferControl()
    ) async throws(TusError) -> TusCreation {
        var parts: [String] = []
        for id in ids { parts.append(try resource(id)) }
        let headers = [HTTPHeader("Upload-Concat", "final;" + parts.joined(separator: " "))]
        return try await waitingForLocks(control) { () async throws(TusError) in
            try await create(headers, metadata, control)
        }
    }

    /// Queries the progress of an upload (`HEAD`). Waits up to five minutes for an upload that another request has
    /// locked (423).
    ///
    /// - Throws: `TusError`; `.gone` if the server does not have it, or no longer has it.
    public func status(
        of id: String,
        control: TransferControl = TransferControl()
    ) async throws(TusError) -> TusStatus {
        try await waitingForLocks(control) { () async throws(TusError) in
            try await head(id, repeatability: .safe, control)
        }
    }

    /// Discards an upload and its bytes on the server (`DELETE`, extension "termination"). Succeeds if it no longer
    /// exists.
    ///
    /// `lockLimit` is the maximum total wait for an upload that another request has locked (423); `onLock` is
    /// called before each wait.
    ///
    /// - Throws: `TusError`; `.locked` if the lock outlasts the limit.
    public func terminate(
        _ id: String,
        lockLimit: Duration = .seconds(300),
        control: TransferControl = TransferControl(),
        onLock: () -> Void = {}
    ) async throws(TusError) {
        let request = request(.delete, try resource(id))
        var lock = RetryPolicy.tusLock
        lock.totalDelay = lockLimit
        do throws(TusError) {
            try await waitingForLocks(control, lock, onLock) { () async throws(TusError) in
                let response = try await exchange(request, control)
                guard !TusError.isWebPage(response) else {
                    let detail = "the response is a web page, not from a tus server"
                    throw TusError(.unexpectedResponse, detail: detail, status: response.status)
                }
            }
        } catch  where error.kind == .gone {
            return
        }
    }

    /// Sends the missing bytes, in chunks.
    ///
    /// After every failure, the server's own offset (`HEAD`) determines where to resume; only an increase of that
    /// offset counts as progress. If the server already has bytes, the prefix is read again and compared with the
    /// content's proofs before anything is sent.
    ///
    /// `stop` and `abandon` of `control` end the call immediately, as does canceling the task; the upload stays
    /// resumable. If chunks have a fixed size, a `stop` after the last byte waits for the response. A `content.keep` in
    /// progress is awaited. `onEvent` is called on any thread and must return quickly.
    public func send(
        _ content: TusContent,
        to id: String,
        options: TusSendOptions = TusSendOptions(),
        control: TransferControl = TransferControl(),
        onEvent: @escaping @Sendable (TusEvent) -> Void = { _ in }
    ) async throws(TusError) -> TusDelivery {
        var sender = try TusSender(self, content, to: id, options, control, onEvent)
        return try await sender.run()
    }
}

extension TusClient {
    /// The path of an upload on the configured server. Throws `.refused` for an invalid ID.
    func resource(_ id: String) throws(TusError) -> String {
        guard TusLocation.isID(id) else { throw TusError(.refused, detail: "\"\(id)\" is not an upload ID") }
        return path + PercentEncoding.encode(id)
    }

    /// A request with the common fields. Only `OPTIONS` is sent without a version (tus 1.0.0 "Tus-Resumable").
    func request(
        _ method: HTTPMethod,
        _ resource: String? = nil,
        headers: [HTTPHeader] = [],
        body: (any RequestBody)? = nil,
        repeatability: Repeatability = .safe,
        repeatsUnavailable: Bool = true
    ) -> HTTPRequest {
        let version = method == .options ? [] : [HTTPHeader("Tus-Resumable", "1.0.0")]
        return HTTPRequest(
            method,
            server.resource(resource ?? path),
            headers: version + self.headers + headers,
            body: body,
            authorization: authorization,
            repeatability: repeatability,
            verdict: { head in
                // A limit on unfinished uploads does not affect other requests.
                if method == .post, case .atMostOnce = repeatability, head.status == 429 { return .final }
                return repeatsUnavailable || head.status != 503 ? .byStatus : .final
            },
            // Creation has checked the credentials, and a server that ignores the field would cost a second per chunk.
            expectsContinue: false,
            timeouts: timeouts,
            destination: .memory(limit: 64 << 10)
        )
    }

    /// - Throws: `TusError` for any response except a 2xx.
    func exchange(_ request: HTTPRequest, _ control: TransferControl) async throws(TusError) -> HTTPResponse {
        let response: HTTPResponse
        do throws(TransportError) {
            response = try await http.execute(request, control: control)
        } catch {
            throw TusError(error)
        }
        guard (200..<300).contains(response.status) else { throw TusError(response: response, to: request.method) }
        return response
    }

    func create(
        _ fields: [HTTPHeader],
        _ metadata: [TusMetadata],
        repeatsUnavailable: Bool = true,
        isRepeatable: Bool = true,
        _ control: TransferControl
    ) async throws(TusError) -> TusCreation {
        var fields = fields
        if let value = try TusMetadata.fieldValue(of: metadata) { fields.append(HTTPHeader("Upload-Metadata", value)) }
        // libcurl would label an empty body as a form.
        fields.append(HTTPHeader("Content-Type", ""))
        var request = request(
            .post,
            headers: fields,
            repeatability: isRepeatable ? .safe : .atMostOnce,
            repeatsUnavailable: repeatsUnavailable
        )
        // Without the response, the ID is unknown, and the upload stays on the server until it expires.
        if isRepeatable { request.finishesWithin = Self.creationGrace }
        let response = try await exchange(request, control)
        guard let location = response.head.value(of: "Location") else {
            throw TusError(.unexpectedResponse, detail: "the response has no Location", status: response.status)
        }
        guard let id = TusLocation.id(in: location, createdAt: path) else {
            throw TusError(.unexpectedResponse, detail: "invalid Location \"\(location)\"", status: response.status)
        }
        return TusCreation(id: id, expiresAt: response.head.expiry)
    }

    func head(
        _ id: String,
        repeatability: Repeatability,
        _ control: TransferControl
    ) async throws(TusError) -> TusStatus {
        let request = request(.head, try resource(id), repeatability: repeatability)
        let response = try await exchange(request, control)
        guard let offset = response.head.byteCount("Upload-Offset") else {
            throw TusError(.unexpectedResponse, detail: "the response has no Upload-Offset", status: response.status)
        }
        return TusStatus(
            offset: offset,
            byteCount: response.head.byteCount("Upload-Length"),
            expiresAt: response.head.expiry
        )
    }

    /// Repeats `body` while the upload is locked, as long as the policy allows.
    func waitingForLocks<Value: Sendable>(
        _ control: TransferControl,
        _ policy: RetryPolicy = .tusLock,
        _ onLock: () -> Void = {},
        _ body: () async throws(TusError) -> Value
    ) async throws(TusError) -> Value {
        var locks = Backoff(policy)
        return try await locks.run(
            pausing: control.waitForStop(upTo:),
            canceled: TusError(.cancelled),
            retryAfter: { $0.kind == .locked ? .zero : nil },
            onRetry: { (_, _, _) throws(TusError) in onLock() },
            body
        )
    }
}

extension HTTPResponseHead {
    /// nil if the field is missing or is not a number of bytes.
    func byteCount(_ name: String) -> Int64? {
        guard let value = value(of: name), value.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return Int64(value)
    }

    /// `Upload-Expires` (extension "expiration": a date as in RFC 9110 section 5.6.7).
    var expiry: Date? {
        value(of: "Upload-Expires").flatMap { HTTPDate.parse($0) }.map { Date(timeIntervalSince1970: Double($0)) }
    }
}

extension TusFeatures {
    init(_ head: HTTPResponseHead) throws(TusError) {
        func list(_ name: String) -> [String] {
            (head.value(of: name) ?? "").split(separator: ",").map { $0.filter { $0 != " " && $0 != "\t" } }
                .filter { !$0.isEmpty }
        }
        let versions = list("Tus-Version")
        guard versions.contains("1.0.0") else {
            let detail = versions.isEmpty ? "no tus server at this address" : "the server supports tus \(versions)"
            throw TusError(.unsupported, detail: detail, status: head.status)
        }
        self.init(
            versions: versions,
            extensions: Set(list("Tus-Extension").compactMap { Extension(rawValue: $0.lowercased()) }),
            maximumBytes: head.byteCount("Tus-Max-Size"),
            checksumAlgorithms: list("Tus-Checksum-Algorithm")
        )
    }

    /// SHA-256 if the server supports it, otherwise SHA-1; nil if it supports neither or does not offer the extension.
    public var preferredChecksum: DigestAlgorithm? {
        guard extensions.contains(.checksum) else { return nil }
        return [.sha256, .sha1].first { checksumAlgorithms.contains($0.tusName) }
    }
}

extension DigestAlgorithm {
    var tusName: String {
        switch self {
        case .sha256: "sha256"
        case .sha1: "sha1"
        }
    }
}

struct ChunkOutcome {
    /// nil if the server has the whole chunk.
    var error: TusError?
    var bytesSent: Int64 = 0
    /// Whether the whole chunk was hashed and its proof is stored.
    var isKept = false
}

extension TusClient {
    /// Sends a chunk once, and stores its proof at the same time. With `completes`, a stop after its last byte
    /// waits for the response.
    func patch(
        _ id: String,
        _ chunk: ChunkBody,
        of content: TusContent,
        _ checksum: DigestAlgorithm?,
        completes: Bool = false,
        _ control: TransferControl,
        _ onEvent: @escaping @Sendable (TusEvent) -> Void
    ) async -> ChunkOutcome {
        let range = chunk.range(in: content)
        let request: HTTPRequest
        do throws(TusError) {
            request = try await patchRequest(id, chunk, at: range.lowerBound, checksum, completes: completes)
        } catch {
            return ChunkOutcome(error: error)
        }
        let end = chunk.end
        async let keeping: Void = keepProof(of: content, at: range.upperBound, chunk.pipeline, when: end)
        var outcome = ChunkOutcome()
        do throws(TransportError) {
            let response = try await http.execute(request, control: control) { progress in
                onEvent(.progress(offset: range.lowerBound + progress.bytesAcknowledged, progress))
            }
            outcome.error = refusal(in: response, of: range)
            outcome.bytesSent = response.metrics.bodyBytesSent
        } catch {
            outcome.error = TusError(error)
            outcome.bytesSent = error.metrics.bodyBytesSent
        }
        end.transferEnded()
        await keeping
        if let failure = end.failure {
            let isStopped = Task.isCancelled || control.isStopRequested
            outcome.error =
                isStopped ? TusError(.cancelled) : TusError(.journal, detail: "\(failure)", underlying: failure)
        }
        outcome.isKept = end.isReleased
        return outcome
    }

    private func patchRequest(
        _ id: String,
        _ chunk: ChunkBody,
        at offset: Int64,
        _ checksum: DigestAlgorithm?,
        completes: Bool
    ) async throws(TusError) -> HTTPRequest {
        var headers = [
            HTTPHeader("Upload-Offset", String(offset)), HTTPHeader("Content-Type", "application/offset+octet-stream"),
        ]
        if let checksum {
            do {
                let digest = try await checksum.digest(
                    ofFile: chunk.file.descriptor,
                    from: chunk.start,
                    byteCount: chunk.byteCount
                )
                let value = Data(digest).base64EncodedString()
                headers.append(HTTPHeader("Upload-Checksum", "\(checksum.tusName) \(value)"))
            } catch is CancellationError {
                throw TusError(.cancelled)
            } catch {
                throw TusError(.sourceFailed, detail: "\(error)", underlying: error)
            }
        }
        return request(
            .patch,
            try resource(id),
            headers: headers,
            body: chunk,
            repeatability: completes ? .atMostOnce : .resumable
        )
    }

    /// nil if the response confirms the whole chunk.
    private func refusal(in response: HTTPResponse, of chunk: Range<Int64>) -> TusError? {
        guard (200..<300).contains(response.status) else { return TusError(response: response, to: .patch) }
        let offset = response.head.byteCount("Upload-Offset")
        if offset == chunk.upperBound { return nil }
        let detail = offset.map { "the response has offset \($0), expected \(chunk.upperBound)" }
        return TusError(
            .unexpectedResponse,
            detail: detail ?? "the response has no Upload-Offset",
            status: response.status
        )
    }

    /// Stores the proof of everything up to the end of a chunk, then releases the chunk's last byte.
    private func keepProof(
        of content: TusContent,
        at offset: Int64,
        _ pipeline: HashPipeline,
        when end: ChunkEnd
    ) async {
        guard await end.reached() else { return }
        do {
            let digest = try await pipeline.finish().digest
            try await content.keep(TusProof(offset: offset, digest: digest))
            end.release()
        } catch {
            end.fail(error)
        }
    }
}
