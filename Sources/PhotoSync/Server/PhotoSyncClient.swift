internal import MediaCore
public import MediaStore
public import MediaTransport

/// Requests to and responses from one PhotoSync server (photosync contract); stateless.
///
/// Safe and idempotent requests (including claims and registrations) are retried by the client's retry policy, and
/// after 500 `Database error`; never while the setup gate is active (contract sections 0 and 10). Every method throws
/// `PhotoSyncError`: `.cancelled` when the task is canceled or `control` is stopped. The key is sent only to the
/// server's own origin: redirects are not followed (`.redirected`).
public struct PhotoSyncClient: Sendable {
    /// The server's address, with or without a path.
    public let server: ServerURL
    /// The API key; nil for requests that do not need a key.
    public let authorization: Authorization?
    let http: HTTPClient
    let timeouts: TransferTimeouts

    public init(
        server: ServerURL,
        http: HTTPClient,
        authorization: Authorization?,
        timeouts: TransferTimeouts = TransferTimeouts()
    ) {
        self.server = server
        self.http = http
        self.authorization = authorization
        self.timeouts = timeouts
        // The same server also receives requests without a login, and may repeat the secret in its responses to them.
        if let authorization { KnownSecrets.add(authorization) }
    }

    /// A client for the same server with a different key.
    public func authorized(_ authorization: Authorization) -> PhotoSyncClient {
        PhotoSyncClient(server: server, http: http, authorization: authorization, timeouts: timeouts)
    }

    /// `GET /api/health` and `GET /api/setup/status`, without a key (contract section 2).
    public func health() async throws(PhotoSyncError) -> ServerHealth {
        let status = try ServerHealth.status(in: await json(of: openRequest(.get, "/api/health")))
        let setup = try await response(to: openRequest(.get, "/api/setup/status"))
        return ServerHealth(status: status, isSetUp: ServerHealth.isSetUp(setup))
    }

    /// `GET /api/sync/status` (contract section 4). This also validates the key. The photos of `device` are counted
    /// separately; only this call sends it in a header field (contract 1.1).
    public func status(
        device: String?,
        control: TransferControl = TransferControl()
    ) async throws(PhotoSyncError) -> SyncStatus {
        let headers = device.map { [HTTPHeader("X-Device-ID", $0)] } ?? []
        let request = try request(.get, "/api/sync/status", headers: headers)
        return try SyncStatus(reading: await json(of: request, control: control))
    }

    /// `POST /api/sync/photos` (contract section 5). Parses a page without checking its consistency.
    ///
    /// `cursor` is nil for the first page. `limit` is clamped to 1 to 500, because the server interprets other values
    /// differently. The server updates the `lastSyncAt` of `device`. `since` is sent in UTC, because the server ignores
    /// offsets (trap 4).
    ///
    /// - Throws: `.invalidDate` for a `since` outside the years 0000 to 9999, `.unexpectedResponse` for a page that
    ///   contains an invalid value or is longer than 16 MiB.
    public func photos(
        cursor: String?,
        limit: Int = 500,
        device: String?,
        since: PhotoTime? = nil,
        control: TransferControl = TransferControl()
    ) async throws(PhotoSyncError) -> PhotoPage {
        var body: JSONObject = [
            "limit": .integer(Int64(min(max(limit, 1), Self.largestPage))), "includeThumbnailUrls": false,
        ]
        body["cursor"] = cursor.map(JSONValue.string)
        body["deviceId"] = device.map(JSONValue.string)
        if let since { body["sinceTimestamp"] = .string(try since.canonicalText()) }
        let request = try request(.post, "/api/sync/photos", body: body)
        return try PhotoPageParser.page(in: await json(of: request, control: control))
    }

    /// `POST /api/photos/check` (contract 3.7) in blocks of 1,000 digests, 64 lowercase hexadecimal digits each.
    /// Returns the digests of photos that are on the server, regardless of their owner.
    public func existing(
        _ digests: [String],
        control: TransferControl = TransferControl()
    ) async throws(PhotoSyncError) -> Set<String> {
        var existing: Set<String> = []
        for block in digests.chunks(of: Self.largestCheck) {
            let body: JSONObject = ["hashes": .array(block.map(JSONValue.string))]
            let response = try await json(of: request(.post, "/api/photos/check", body: body), control: control)
            existing.formUnion(try CheckResponse.existing(in: response).intersection(block))
        }
        return existing
    }

    /// `POST /api/sync/claim-legacy` (contract section 7): assigns all of the user's legacy photos to a device. Returns
    /// the number of claimed photos. This number is 0 if the response to an earlier attempt was lost, so count again to
    /// be sure.
    ///
    /// - Throws: `.invalidDevice` if the device does not belong to the user.
    public func claimAll(
        device: String,
        control: TransferControl = TransferControl()
    ) async throws(PhotoSyncError) -> Int64 {
        try await claim(["deviceId": .string(device), "claimAll": true], control)
    }

    /// Like `claimAll`, for 1 to 500 distinct IDs of photos, which must be in the user's own listing.
    public func claim(
        _ ids: [String],
        device: String,
        control: TransferControl = TransferControl()
    ) async throws(PhotoSyncError) -> Int64 {
        let ids = JSONValue.array(ids.map(JSONValue.string))
        return try await claim(["deviceId": .string(device), "claimAll": false, "photoIds": ids], control)
    }

    private func claim(_ body: JSONObject, _ control: TransferControl) async throws(PhotoSyncError) -> Int64 {
        let request = try request(.post, "/api/sync/claim-legacy", body: body)
        return try ClaimResponse.claimed(in: await json(of: request, control: control))
    }

    /// `POST /api/devices/register` (contract 1.3). `name` is shown to the user in other clients; `token` is the
    /// device's identity: a random, stored value. For a known token, the server returns the token's device, regardless
    /// of the owner.
    public func registerDevice(name: String, token: String) async throws(PhotoSyncError) -> RegisteredDevice {
        let body: JSONObject = [
            "deviceName": .string(name), "platform": .string(RegisteredDevice.ownPlatform), "fcmToken": .string(token),
        ]
        return try RegisteredDevice.one(in: await json(of: request(.post, "/api/devices/register", body: body)))
    }

    /// `GET /api/devices`: the user's own devices.
    public func devices() async throws(PhotoSyncError) -> [RegisteredDevice] {
        try RegisteredDevice.all(in: await json(of: request(.get, "/api/devices")))
    }

    /// `POST /api/mobile/auth/login` (contract 1.2 no. 2). **Revokes the user's key everywhere else.** Not retried.
    /// `email` is sent in lowercase, as the server stores it; the device is described as for `registerDevice`.
    ///
    /// - Throws: `.notLoggedIn` for a wrong address or password, `.keyNotRotated` if the server cannot issue a key for a
    ///   second user (trap 9).
    public func logIn(
        email: String,
        password: String,
        deviceName: String,
        deviceToken: String
    ) async throws(PhotoSyncError) -> LoginResponse {
        let body: JSONObject = [
            "email": .string(email.lowercased()), "password": .string(password), "deviceName": .string(deviceName),
            "platform": .string(RegisteredDevice.ownPlatform), "fcmToken": .string(deviceToken),
        ]
        var request = openRequest(.post, "/api/mobile/auth/login", body: body, repeatability: .atMostOnce)
        request.tokens = [password]
        let response = try await response(to: request)
        // Accept the key even if a proxy changed the content type.
        if response.status == 200, let login = try? LoginResponse(reading: response.body) { return login }
        return try LoginResponse(reading: Self.json(in: response, to: .login))
    }
}

extension PhotoSyncClient {
    /// Maximum number of photos per page (contract section 5); the server silently clamps larger values (trap 18).
    static let largestPage = 500
    /// Maximum number of digests per `/check` (contract 3.7).
    static let largestCheck = 1000

    /// The path of a photo, or of a resource below it.
    static func path(of id: String, _ rest: String = "") throws(PhotoSyncError) -> String {
        // A path segment of dots would refer to a different resource (RFC 3986 section 5.2.4).
        guard !["", ".", ".."].contains(id) else { throw PhotoSyncError(.unknownPhoto, detail: "not a photo ID") }
        return "/api/photos/\(PercentEncoding.encode(id))\(rest)"
    }

    /// Maximum length of a response in bytes; 500 photos take about 250 KB.
    private static let longestResponse = 16 << 20

    func request(
        _ method: HTTPMethod,
        _ path: String,
        body: JSONObject? = nil,
        headers: [HTTPHeader] = [],
        repeatability: Repeatability = .safe
    ) throws(PhotoSyncError) -> HTTPRequest {
        guard let authorization else {
            throw PhotoSyncError(.notLoggedIn, detail: "no API key for \(server)")
        }
        var request = openRequest(method, path, body: body, repeatability: repeatability)
        request.headers += headers
        request.authorization = authorization
        return request
    }

    func openRequest(
        _ method: HTTPMethod,
        _ path: String,
        body: JSONObject? = nil,
        repeatability: Repeatability = .safe
    ) -> HTTPRequest {
        var headers = [HTTPHeader("Accept", "application/json")]
        if body != nil { headers.append(HTTPHeader("Content-Type", "application/json")) }
        return HTTPRequest(
            method,
            server.resource(path),
            headers: headers,
            body: body.map { BytesBody($0.json()) },
            repeatability: repeatability,
            verdict: ServerRefusal.verdict,
            timeouts: timeouts,
            destination: .memory(limit: Self.longestResponse)
        )
    }

    /// Whether a caller with its own retry loop may retry after this error.
    func mayRetry(after error: PhotoSyncError) -> Bool {
        guard error.isRetryable else { return false }
        return error.transport.map { http.configuration.mayRetry?(.failure($0)) ?? true } ?? true
    }

    /// Reports the wait before a retry made by the caller.
    func noteRetry(after error: PhotoSyncError, delay: Duration) {
        let outcome = error.transport.map(Result<Int, TransportError>.failure) ?? .success(error.httpStatus ?? 0)
        http.configuration.onRetry?(RetryNotice(outcome: outcome, delay: delay))
    }

    /// Returns the response regardless of its status.
    func response(
        to request: HTTPRequest,
        control: TransferControl = TransferControl(),
        progress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws(PhotoSyncError) -> HTTPResponse {
        do {
            return try await http.execute(request, control: control, progress: progress)
        } catch {
            throw PhotoSyncError(error)
        }
    }

    /// Returns the body of a 200 response with JSON.
    func json(
        of request: HTTPRequest,
        call: OutcomeTable.Call = .other,
        control: TransferControl = TransferControl(),
        progress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws(PhotoSyncError) -> [UInt8] {
        let response = try await response(to: request, control: control, progress: progress)
        return try Self.json(in: response, to: call)
    }

    static func json(in response: HTTPResponse, to call: OutcomeTable.Call) throws(PhotoSyncError) -> [UInt8] {
        guard response.status == 200 else { throw ServerRefusal(response).error(of: call) }
        guard response.head.mediaType == "application/json" else {
            let type = response.head.mediaType.map(ServerText.sentence) ?? "of unknown type"
            throw PhotoSyncError(.unexpectedResponse, detail: "the response is \(type), not JSON", httpStatus: 200)
        }
        return response.body
    }
}

extension PhotoSyncClient {
    /// `POST /api/photos/upload` (contract section 3), streamed from the file, without retries. Repeating an upload is
    /// safe, since the server identifies the bytes by their hash. `progress` receives the byte counts of the whole
    /// body, multipart framing included.
    ///
    /// - Throws: `.bodyTooSlow` after the server's 30 seconds (contract 3.4), `.invalidDevice` for a device unknown to
    ///   the server, `.sourceChanged` if the file became shorter, `.invalidDate` for a time outside the years 0000 to
    ///   9999.
    public func upload(
        _ photo: PhotoUpload,
        control: TransferControl = TransferControl(),
        progress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws(PhotoSyncError) -> PhotoReceipt {
        let form = MultipartForm(
            fields: try photo.fields(),
            file: photo.content,
            name: "file",
            fileName: photo.partName,
            fileType: "application/octet-stream"
        )
        var request = try request(.post, "/api/photos/upload", repeatability: .atMostOnce)
        request.headers.append(HTTPHeader("Content-Type", form.contentType))
        request.body = form
        let call = OutcomeTable.Call.photo(namesDevice: photo.deviceID != nil)
        return try PhotoReceipt(reading: await json(of: request, call: call, control: control, progress: progress))
    }

    /// `GET /api/photos/{id}/download` (contract section 6), without retries: the caller resumes after a failure.
    ///
    /// Only the bytes of a 200 or 206 reach the receiver. Its `begin` receives the head first (`DownloadHead` parses
    /// it) and may refuse the response by throwing a `PhotoSyncError`, which is rethrown here. It is called on the
    /// transfer loop's thread.
    ///
    /// `offset` is the number of bytes already present; 0 requests the whole file. `ifRange` is the `Last-Modified` of
    /// the response that provided those bytes: if the file has since changed, the response is a 200 with the whole
    /// file. `progress` is called with the number of bytes of this response.
    ///
    /// - Returns: A head with status 200, 206, or 416 (nothing after the offset; the receiver is not called).
    /// - Throws: `PhotoSyncError`, with the photo's ID. A truncated response is a retryable `.transport`.
    public func download(
        id: String,
        from offset: Int64 = 0,
        ifRange: String? = nil,
        receiver: any ResponseReceiver,
        control: TransferControl = TransferControl(),
        progress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws(PhotoSyncError) -> DownloadHead {
        let gate = DownloadGate(offset: offset, receiver: receiver)
        do throws(PhotoSyncError) {
            var request = try request(
                .get,
                Self.path(of: id, "/download"),
                headers: gate.rangeHeaders(ifRange: ifRange),
                repeatability: .resumable
            )
            request.destination = .receiver(gate)
            request.verdict = { ServerRefusal.verdict(gate.refusal.completed($0)) }
            let response = try await response(to: request, control: control, progress: progress)
            guard let head = gate.head else { throw ServerRefusal(gate.refusal.completed(response)).error() }
            return head
        } catch {
            throw error.at(photo: id)
        }
    }
}
