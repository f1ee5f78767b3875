public import MediaStore
public import MediaTransport

/// One PhotoSync server: requests and answers (photosync contract), no state.
///
/// GET requests and POST requests that change nothing are tried again as the client's retry policy says, and also after
/// 500 `Database error`. Every method throws `PhotoSyncError`; a task that is cancelled, or a `control` that is stopped,
/// gives `.cancelled`.
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
    }

    /// The same server with another key.
    public func authorized(_ authorization: Authorization) -> PhotoSyncClient {
        PhotoSyncClient(server: server, http: http, authorization: authorization, timeouts: timeouts)
    }

    /// `GET /api/health` and `GET /api/setup/status`, without a key (contract section 2).
    public func health() async throws(PhotoSyncError) -> ServerHealth { throw PhotoSyncError(.internalError) }

    /// `GET /api/sync/status` (contract section 4): also the test of a key.
    public func status(device: String?) async throws(PhotoSyncError) -> SyncStatus {
        throw PhotoSyncError(.internalError)
    }

    /// `POST /api/sync/photos` (contract section 5). The answer is read page by page as it is; nothing is judged here.
    ///
    /// - Parameters:
    ///   - cursor: Where the page begins; nil for the first.
    ///   - limit: 1 to 500.
    ///   - device: Moves this device's `lastSyncAt`; nil moves none.
    ///   - since: Photos uploaded at or after this time.
    ///   - control: Breaks the request off.
    public func photos(
        cursor: String?,
        limit: Int = 500,
        device: String?,
        since: PhotoTime? = nil,
        control: TransferControl = TransferControl()
    ) async throws(PhotoSyncError) -> PhotoPage { throw PhotoSyncError(.internalError) }

    /// `POST /api/photos/check` (contract 3.7) in blocks of 1,000.
    ///
    /// - Parameter digests: Any number, 64 lower-case hexadecimal characters each.
    /// - Returns: Those that the server has, whoever owns them.
    public func existing(
        _ digests: [String],
        control: TransferControl = TransferControl()
    ) async throws(PhotoSyncError) -> Set<String> { throw PhotoSyncError(.internalError) }

    /// `POST /api/sync/claim-legacy` (contract section 7) for all legacy photos of the user.
    ///
    /// - Returns: How many were claimed by this call.
    public func claimAll(device: String) async throws(PhotoSyncError) -> Int64 { throw PhotoSyncError(.internalError) }

    /// `POST /api/sync/claim-legacy` for some photos, which must come from the user's own listing.
    ///
    /// - Parameter ids: 1 to 500, distinct.
    /// - Returns: How many were claimed by this call.
    public func claim(_ ids: [String], device: String) async throws(PhotoSyncError) -> Int64 {
        throw PhotoSyncError(.internalError)
    }

    /// `POST /api/devices/register` (contract 1.3). A token that is known gives its device, unchanged, whoever owns it.
    ///
    /// - Parameters:
    ///   - name: Shown to the user in other clients.
    ///   - token: The device's identity: random, kept.
    public func registerDevice(name: String, token: String) async throws(PhotoSyncError) -> RegisteredDevice {
        throw PhotoSyncError(.internalError)
    }

    /// `GET /api/devices`: the user's own.
    public func devices() async throws(PhotoSyncError) -> [RegisteredDevice] { throw PhotoSyncError(.internalError) }

    /// `POST /api/mobile/auth/login` (contract 1.2 no. 2). **Voids the user's key everywhere else.** Sent at most once.
    public func logIn(
        email: String,
        password: String,
        deviceName: String,
        deviceToken: String
    ) async throws(PhotoSyncError) -> LoginReply { throw PhotoSyncError(.internalError) }
}
