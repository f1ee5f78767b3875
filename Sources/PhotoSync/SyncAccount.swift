internal import Foundation
internal import MediaCrypto
public import MediaStore
public import MediaTransport

/// One user of one server, as this machine is known there.
public struct SyncAccount: Sendable {
    /// The server, with the user's key.
    public let client: PhotoSyncClient
    /// The id of this machine's device; nil when it is not registered.
    public let deviceID: String?
    /// What the servers have told.
    public let index: SyncIndex
    /// What is on this machine.
    public let library: LibraryStore
    /// This machine's clock.
    var now: @Sendable () -> Date = { Date() }

    /// Makes an account.
    public init(client: PhotoSyncClient, deviceID: String?, index: SyncIndex, library: LibraryStore) {
        self.client = client
        self.deviceID = deviceID
        self.index = index
        self.library = library
    }

    /// The key of the server in index and library.
    public var server: String { client.server.description }

    /// What tells this user from the other users of the server, whose photos the index never mixes: the device, which is
    /// one user's only. Without one it is the key, as far as a digest of it tells: nothing that would open a door.
    ///
    /// - Throws: `PhotoSyncError` `.internalError` when there is no SHA-256.
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

    /// What the index knows of this user's photos. Nil before the first pull, and when it has those of another user.
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

/// An account in one call: with an HTTP client of its own, and index and library in one directory.
extension SyncAccount {
    /// Proves a key, makes this machine a device of its user, and keeps both in the directory (`DeviceRegistration`).
    ///
    /// - Parameters:
    ///   - server: The server; it may live below a path.
    ///   - apiKey: The issued key; blanks around it do not count. It is kept in `library.sqlite`, 0600.
    ///   - deviceName: What other clients call this machine, for example its host name.
    ///   - directory: Holds index and library.
    /// - Returns: The account.
    /// - Throws: `PhotoSyncError`; an earlier login stays then.
    public static func logIn(
        to server: ServerURL,
        apiKey: String,
        deviceName: String,
        in directory: DataDirectory
    ) async throws(PhotoSyncError) -> SyncAccount {
        let library = try library(in: directory)
        let client = try client(of: server, apiKey: apiKey.trimmingBlanks())
        let login = try await DeviceRegistration(client: client, library: library, deviceName: deviceName)
            .logIn(apiKey: apiKey)
        return try account(client, login, in: directory, library)
    }

    /// The account that an earlier login has left in the directory. Asks no server.
    ///
    /// - Parameters:
    ///   - server: The server.
    ///   - directory: Holds index and library.
    /// - Returns: nil when nobody is logged in there.
    /// - Throws: `PhotoSyncError` `.storeUnusable`.
    public static func kept(for server: ServerURL, in directory: DataDirectory) throws(PhotoSyncError) -> SyncAccount? {
        let library = try library(in: directory)
        let login: Login?
        do { login = try library.login(for: server.description) } catch { throw PhotoSyncError(error) }
        guard let login else { return nil }
        return try account(client(of: server, apiKey: login.apiKey), login, in: directory, library)
    }

    // MARK: Parts

    private static func library(in directory: DataDirectory) throws(PhotoSyncError) -> LibraryStore {
        do { return try LibraryStore(in: directory) } catch { throw PhotoSyncError(error) }
    }

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
        let index: SyncIndex
        do { index = try SyncIndex(in: directory) } catch { throw PhotoSyncError(error) }
        return SyncAccount(client: client, deviceID: login.deviceID, index: index, library: library)
    }
}
