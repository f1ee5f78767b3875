public import MediaTransport

/// One tus 1.0.0 server (https://tus.io/protocols/resumable-upload): requests, answers and the sending of a file in
/// chunks. Knows no media server.
///
/// An upload is named by its id, the last segment of the `Location` that creation answered. Addresses are always built
/// from the configured server and path, so that a foreign `Location` never gets credentials.
public struct TusClient: Sendable {
    let http: HTTPClient
    let server: ServerURL
    let path: String
    let authorization: Authorization?
    let headers: [HTTPHeader]
    let timeouts: TransferTimeouts

    /// Makes a client.
    ///
    /// - Parameters:
    ///   - http: Sends the requests.
    ///   - server: The server.
    ///   - path: Where uploads are created, with a slash at its end (`/files/`).
    ///   - authorization: Proof of identity, if any.
    ///   - headers: Fields for every request besides tus's own, such as a secret of the media server.
    ///   - timeouts: Silence limits.
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

    /// Asks what the server can do (`OPTIONS`, tus 1.0.0 section "OPTIONS").
    ///
    /// - Parameters:
    ///   - repeatsUnavailable: Whether a 503 is retried here, and not left to the caller.
    ///   - control: Stops it at once.
    /// - Returns: What the server can do.
    /// - Throws: `TusError`; `.unsupported` when no server of tus 1.0.0 answers there.
    public func features(
        repeatsUnavailable: Bool = true,
        control: TransferControl = TransferControl()
    ) async throws(TusError) -> TusFeatures {
        let answer = try await exchange(
            request(.options, repeatsUnavailable: repeatsUnavailable),
            as: .options,
            control
        )
        return try TusFeatures(answer.head)
    }

    /// Creates an upload (`POST`, extension "creation").
    ///
    /// A lost answer leaves an empty upload on the server, which costs nothing where the number of uploads is not limited;
    /// creation is therefore repeated like any safe request, unless `isRepeatable` is false.
    ///
    /// - Parameters:
    ///   - byteCount: Length of the whole upload.
    ///   - metadata: `Upload-Metadata`.
    ///   - isPartial: Whether it will be joined with others (extension "concatenation").
    ///   - repeatsUnavailable: Whether a 503 is retried here, and not left to the caller.
    ///   - isRepeatable: Whether the request may be sent again when its answer is lost.
    ///   - control: Stops it at once.
    /// - Returns: The upload's id.
    /// - Throws: `TusError`; `.tooLarge` when the server takes no upload of this length.
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

    /// Joins finished partial uploads, in order, to one (extension "concatenation").
    ///
    /// A partial upload that is still locked (423) is waited for, up to five minutes.
    ///
    /// - Throws: `TusError`.
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

    /// Asks how far an upload has got (`HEAD`).
    ///
    /// An upload that is locked by another request (423) is waited for, up to five minutes.
    ///
    /// - Throws: `TusError`; `.gone` when the server does not know it (any more).
    public func status(
        of id: String,
        control: TransferControl = TransferControl()
    ) async throws(TusError) -> TusStatus {
        try await waitingForLocks(control) { () async throws(TusError) in
            try await head(id, repeatability: .safe, control)
        }
    }

    /// Gives an upload up, with its bytes on the server (`DELETE`, extension "termination"). One that is gone already is
    /// no error.
    ///
    /// - Parameters:
    ///   - id: The upload.
    ///   - lockLimit: Maximum total time to wait for an upload that another request has locked (423).
    ///   - control: Cancels it at once.
    ///   - onLock: Called before each wait for a lock.
    /// - Throws: `TusError`; `.locked` when the lock outlasts the limit.
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
                _ = try await exchange(request, as: .delete, control)
            }
        } catch  where error.kind == .gone {
            return
        }
    }

    /// Sends what the server lacks, in chunks, until it has everything.
    ///
    /// After every fault the server's own offset (`HEAD`) decides where it goes on; only a completed `PATCH` counts as
    /// progress. Where bytes are on the server already, the prefix is read again and compared with the content's proofs
    /// before anything is sent.
    ///
    /// - Parameters:
    ///   - content: The bytes.
    ///   - id: The upload.
    ///   - options: Size of chunks, tries.
    ///   - control: `stop` and `abandon` end it at once, like cancelling the task; the upload stays resumable. A
    ///     `content.keep` that has begun is waited for.
    ///   - onEvent: Called on any thread; must return quickly.
    /// - Returns: The digest of the whole content, and what was sent.
    /// - Throws: `TusError`.
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
