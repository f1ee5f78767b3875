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
}
