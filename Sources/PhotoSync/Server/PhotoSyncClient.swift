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
        var members: [(name: String, value: JSONText.Value)] = [
            ("limit", .number(Int64(min(max(limit, 1), Self.largestPage)))), ("includeThumbnailUrls", .bool(false)),
        ]
        if let cursor { members.append(("cursor", .string(cursor))) }
        if let device { members.append(("deviceId", .string(device))) }
        if let since { members.append(("sinceTimestamp", .string(try since.canonicalText()))) }
        let body = JSONText.object(members)
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
            let body = "{\"hashes\":\(JSONText.array(block))}"
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
        try await claim(JSONText.object([("deviceId", .string(device)), ("claimAll", .bool(true))]))
    }

    /// `POST /api/sync/claim-legacy` for some photos, which must come from the user's own listing.
    ///
    /// - Parameters:
    ///   - ids: 1 to 500, distinct.
    ///   - device: The user's device that they are claimed for.
    /// - Returns: How many were claimed. 0 also when the answer to a first try was lost: count anew to be sure.
    /// - Throws: `PhotoSyncError`: `.invalidDevice` for a device that is not the user's.
    public func claim(_ ids: [String], device: String) async throws(PhotoSyncError) -> Int64 {
        let device = JSONText.quoted(device)
        return try await claim("{\"deviceId\":\(device),\"claimAll\":false,\"photoIds\":\(JSONText.array(ids))}")
    }

    private func claim(_ body: String) async throws(PhotoSyncError) -> Int64 {
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
        let body = JSONText.object([
            ("deviceName", .string(name)), ("platform", .string(RegisteredDevice.ownPlatform)),
            ("fcmToken", .string(token)),
        ])
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
        let body = JSONText.object([
            ("email", .string(email.lowercased())), ("password", .string(password)),
            ("deviceName", .string(deviceName)), ("platform", .string(RegisteredDevice.ownPlatform)),
            ("fcmToken", .string(deviceToken)),
        ])
        var request = openRequest(.post, "/api/mobile/auth/login", body: body, repeatability: .atMostOnce)
        request.tokens = [password]
        let answer = try await answer(to: request)
        // A proxy may have changed the type; a key is a key.
        if answer.status == 200, let reply = try? LoginReply(reading: answer.body) { return reply }
        return try LoginReply(reading: Self.json(in: answer, to: .login))
    }
}
