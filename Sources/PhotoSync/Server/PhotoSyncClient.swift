internal import MediaCore
public import MediaStore
public import MediaTransport

/// One PhotoSync server: requests and answers (photosync contract), no state.
///
/// Requests that change nothing, and those that change no more when they come twice (a claim, a registration), are tried
/// again as the client's retry policy says, and also after 500 `Database error`; never behind the setup gate (contract
/// sections 0 and 10). Every method throws `PhotoSyncError`; a task that is cancelled, or a `control` that is stopped,
/// gives `.cancelled`. The key goes to the server's own origin only: redirects are not followed (`.redirected`).
public struct PhotoSyncClient: Sendable {
    /// The server's address; it may live below a path.
    public let server: ServerURL
    /// The API key; nil for what needs none.
    public let authorization: Authorization?
    let http: HTTPClient
    let timeouts: TransferTimeouts

    /// Makes a client.
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
        // Requests without a login go to the same server.
        if let authorization { KnownSecrets.add(authorization) }
    }

    /// The same server with another key.
    public func authorized(_ authorization: Authorization) -> PhotoSyncClient {
        PhotoSyncClient(server: server, http: http, authorization: authorization, timeouts: timeouts)
    }

    /// `GET /api/health` and `GET /api/setup/status`, without a key (contract section 2).
    public func health() async throws(PhotoSyncError) -> ServerHealth {
        let status = try ServerHealth.status(in: await json(of: openRequest(.get, "/api/health")))
        let setup = try await answer(to: openRequest(.get, "/api/setup/status"))
        return ServerHealth(status: status, isSetUp: ServerHealth.isSetUp(setup))
    }

    /// `GET /api/sync/status` (contract section 4): also the test of a key.
    ///
    /// - Parameter device: Whose photos are counted apart. The only call that names it in a header field (contract 1.1).
    /// - Returns: The counts.
    /// - Throws: `PhotoSyncError`.
    public func status(device: String?) async throws(PhotoSyncError) -> SyncStatus {
        let headers = device.map { [HTTPHeader("X-Device-ID", $0)] } ?? []
        return try SyncStatus(reading: await json(of: request(.get, "/api/sync/status", headers: headers)))
    }

    /// `POST /api/sync/photos` (contract section 5). The answer is read page by page as it is; nothing is judged here.
    ///
    /// - Parameters:
    ///   - cursor: Where the page begins; nil for the first.
    ///   - limit: 1 to 500; others become the nearest of these, since the server would take them for something else.
    ///   - device: Moves this device's `lastSyncAt`; nil moves none.
    ///   - since: Photos uploaded at or after this time. Sent in UTC, since the server ignores offsets (trap 4).
    ///   - control: Breaks the request off.
    /// - Returns: The page.
    /// - Throws: `PhotoSyncError`: `.invalidDate` for a `since` outside the years 0000 to 9999, `.unexpectedAnswer` for a
    ///   page with a value that means nothing or longer than 16 MiB.
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

    /// `POST /api/photos/check` (contract 3.7) in blocks of 1,000.
    ///
    /// - Parameters:
    ///   - digests: Any number, 64 lower-case hexadecimal characters each.
    ///   - control: Breaks the request off.
    /// - Returns: Those that the server has, whoever owns them.
    /// - Throws: `PhotoSyncError`.
    public func existing(
        _ digests: [String],
        control: TransferControl = TransferControl()
    ) async throws(PhotoSyncError) -> Set<String> {
        var existing: Set<String> = []
        var rest = digests[...]
        while !rest.isEmpty {
            let block = rest.prefix(Self.largestCheck)
            rest = rest.dropFirst(block.count)
            let body: JSONObject = ["hashes": .array(block.map(JSONValue.string))]
            let answer = try await json(of: request(.post, "/api/photos/check", body: body), control: control)
            existing.formUnion(try CheckReply.existing(in: answer).intersection(block))
        }
        return existing
    }

    /// `POST /api/sync/claim-legacy` (contract section 7) for all legacy photos of the user.
    ///
    /// - Parameter device: The user's device that they are claimed for.
    /// - Returns: How many were claimed. 0 also when the answer to a first try was lost: count anew to be sure.
    /// - Throws: `PhotoSyncError`: `.invalidDevice` for a device that is not the user's.
    public func claimAll(device: String) async throws(PhotoSyncError) -> Int64 {
        try await claim(["deviceId": .string(device), "claimAll": true])
    }

    /// `POST /api/sync/claim-legacy` for some photos, which must come from the user's own listing.
    ///
    /// - Parameters:
    ///   - ids: 1 to 500, distinct.
    ///   - device: The user's device that they are claimed for.
    /// - Returns: How many were claimed. 0 also when the answer to a first try was lost: count anew to be sure.
    /// - Throws: `PhotoSyncError`: `.invalidDevice` for a device that is not the user's.
    public func claim(_ ids: [String], device: String) async throws(PhotoSyncError) -> Int64 {
        try await claim([
            "deviceId": .string(device), "claimAll": false, "photoIds": .array(ids.map(JSONValue.string)),
        ])
    }

    private func claim(_ body: JSONObject) async throws(PhotoSyncError) -> Int64 {
        try ClaimReply.claimed(in: await json(of: request(.post, "/api/sync/claim-legacy", body: body)))
    }

    /// `POST /api/devices/register` (contract 1.3). A token that is known gives its device, unchanged, whoever owns it.
    ///
    /// - Parameters:
    ///   - name: Shown to the user in other clients.
    ///   - token: The device's identity: random, kept.
    /// - Returns: The device.
    /// - Throws: `PhotoSyncError`.
    public func registerDevice(name: String, token: String) async throws(PhotoSyncError) -> RegisteredDevice {
        let body: JSONObject = [
            "deviceName": .string(name), "platform": .string(RegisteredDevice.ownPlatform), "fcmToken": .string(token),
        ]
        return try RegisteredDevice.one(in: await json(of: request(.post, "/api/devices/register", body: body)))
    }

    /// `GET /api/devices`: the user's own.
    public func devices() async throws(PhotoSyncError) -> [RegisteredDevice] {
        try RegisteredDevice.all(in: await json(of: request(.get, "/api/devices")))
    }

    /// `POST /api/mobile/auth/login` (contract 1.2 no. 2). **Voids the user's key everywhere else.** Sent at most once.
    ///
    /// - Parameters:
    ///   - email: Sent in lower case, as the server stores it.
    ///   - password: Secret.
    ///   - deviceName: Shown to the user in other clients.
    ///   - deviceToken: The device's identity: random, kept.
    /// - Returns: The new key, with the device.
    /// - Throws: `PhotoSyncError`: `.notLoggedIn` for a wrong address or password, `.keyNotRotated` where the server
    ///   cannot make a key for a second user (trap 9).
    public func logIn(
        email: String,
        password: String,
        deviceName: String,
        deviceToken: String
    ) async throws(PhotoSyncError) -> LoginReply {
        let body: JSONObject = [
            "email": .string(email.lowercased()), "password": .string(password), "deviceName": .string(deviceName),
            "platform": .string(RegisteredDevice.ownPlatform), "fcmToken": .string(deviceToken),
        ]
        var request = openRequest(.post, "/api/mobile/auth/login", body: body, repeatability: .atMostOnce)
        request.tokens = [password]
        let answer = try await answer(to: request)
        // A proxy may have changed the type; a key is a key.
        if answer.status == 200, let reply = try? LoginReply(reading: answer.body) { return reply }
        return try LoginReply(reading: Self.json(in: answer, to: .login))
    }
}

extension PhotoSyncClient {
    /// Photos on one page, at most (contract section 5): more are clamped silently (trap 18).
    static let largestPage = 500
    /// Digests in one `/check`, at most (contract 3.7).
    static let largestCheck = 1000

    /// Longest listing that is read, in bytes: 500 photos are some 250 KB.
    private static let longestAnswer = 16 << 20

    /// A request with the user's key.
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

    /// A request without a key.
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
            destination: .memory(limit: Self.longestAnswer)
        )
    }

    /// Sends a request and waits for its answer, whatever its status.
    func answer(
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

    /// Sends a request and waits for the JSON of a 200.
    func json(
        of request: HTTPRequest,
        call: ServerRefusal.Call = .ordinary,
        control: TransferControl = TransferControl(),
        progress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws(PhotoSyncError) -> [UInt8] {
        let response = try await answer(to: request, control: control, progress: progress)
        return try Self.json(in: response, to: call)
    }

    /// The JSON of a 200.
    static func json(in response: HTTPResponse, to call: ServerRefusal.Call) throws(PhotoSyncError) -> [UInt8] {
        guard response.status == 200 else { throw ServerRefusal(response).error(of: call) }
        guard response.head.mediaType == "application/json" else {
            let type = response.head.mediaType.map(ServerText.sentence) ?? "of no type"
            throw PhotoSyncError(.unexpectedAnswer, detail: "the answer is \(type), not JSON", httpStatus: 200)
        }
        return response.body
    }
}

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
