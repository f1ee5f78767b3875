internal import MediaCrypto
public import MediaStore
internal import MediaTransport

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
