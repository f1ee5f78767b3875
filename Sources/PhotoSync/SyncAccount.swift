internal import Foundation
internal import MediaCrypto
public import MediaStore
public import MediaTransport

/// One user on one server, with this machine's device and stores.
public struct SyncAccount: Sendable {
    /// The client, with the user's key.
    public let client: PhotoSyncClient
    /// The ID of this machine's device; nil if it is not registered.
    public let deviceID: String?
    /// The index of the servers' photos.
    public let index: SyncIndex
    /// The photos and logins on this machine.
    public let library: LibraryStore
    var now: @Sendable () -> Date = { Date() }

    public init(client: PhotoSyncClient, deviceID: String?, index: SyncIndex, library: LibraryStore) {
        self.client = client
        self.deviceID = deviceID
        self.index = index
        self.library = library
    }

    /// The server's key in the index and the library.
    public var server: String { client.server.description }

    /// Identifies the user in the index, which never contains photos of several users: the device, which belongs to
    /// only one user, or else a short digest of the key, which does not reveal the key.
    ///
    /// - Throws: `PhotoSyncError` `.internalError` if SHA-256 is not available.
    func indexKey() throws(PhotoSyncError) -> String {
        if let deviceID { return deviceID }
        do {
            var hasher = try SHA256Hasher()
            Array((client.authorization?.apiKey ?? "").utf8).withUnsafeBytes { hasher.update($0) }
            return "key " + (try hasher.snapshot().hex.prefix(16))
        } catch {
            throw PhotoSyncError(.internalError, detail: "\(error)")
        }
    }

    /// The index's state for this user; nil before the first pull, or if the index has another user's photos.
    ///
    /// - Throws: `PhotoSyncError` `.storeUnusable`.
    public func state() throws(PhotoSyncError) -> SyncState? {
        do {
            guard let state = try index.state(of: server), state.account == (try indexKey()) else { return nil }
            return state
        } catch {
            throw PhotoSyncError.ofStore(error)
        }
    }
}

/// Opens an account in one call, with a new HTTP client, and with the index and the library in one directory.
extension SyncAccount {
    /// Verifies a key, registers this machine as a device of the key's user, and stores the key and the device
    /// (`DeviceRegistration`). The key is stored in `library.sqlite`, mode 0600. `directory` contains the index and the
    /// library.
    ///
    /// - Throws: `PhotoSyncError`; an earlier login is then kept.
    public static func logIn(
        to server: ServerURL,
        apiKey: String,
        deviceName: String,
        in directory: DataDirectory
    ) async throws(PhotoSyncError) -> SyncAccount {
        let library = try PhotoSyncError.stored(LibraryStore(in: directory))
        let client = try client(of: server, apiKey: apiKey.trimmingBlanks())
        let login = try await DeviceRegistration(client: client, library: library, deviceName: deviceName)
            .logIn(apiKey: apiKey)
        return try account(client, login, in: directory, library)
    }

    /// The account of an earlier login; nil if there is none. Sends nothing.
    ///
    /// - Throws: `PhotoSyncError` `.storeUnusable`.
    public static func kept(for server: ServerURL, in directory: DataDirectory) throws(PhotoSyncError) -> SyncAccount? {
        let library = try PhotoSyncError.stored(LibraryStore(in: directory))
        guard let login = try PhotoSyncError.stored(library.login(for: server.description)) else { return nil }
        return try account(client(of: server, apiKey: login.apiKey), login, in: directory, library)
    }

    // MARK: Components

    private static func client(of server: ServerURL, apiKey: String) throws(PhotoSyncError) -> PhotoSyncClient {
        let http: HTTPClient
        do { http = try HTTPClient() } catch { throw PhotoSyncError(error) }
        return PhotoSyncClient(server: server, http: http, authorization: .apiKey(apiKey, for: server.origin))
    }

    private static func account(
        _ client: PhotoSyncClient,
        _ login: Login,
        in directory: DataDirectory,
        _ library: LibraryStore
    ) throws(PhotoSyncError) -> SyncAccount {
        let index = try PhotoSyncError.stored(SyncIndex(in: directory))
        return SyncAccount(client: client, deviceID: login.deviceID, index: index, library: library)
    }
}
