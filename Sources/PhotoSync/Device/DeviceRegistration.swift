public import MediaStore

/// Makes this machine a device of a user (photosync contract 1.2 and 1.3).
public struct DeviceRegistration: Sendable {
    let client: PhotoSyncClient
    let library: LibraryStore
    let deviceName: String

    /// - Parameters:
    ///   - client: The server; its key is the one to log in with, where there is one.
    ///   - library: Keeps the login and the device token.
    ///   - deviceName: What other clients call this machine, for example its host name.
    public init(client: PhotoSyncClient, library: LibraryStore, deviceName: String) {
        self.client = client
        self.library = library
        self.deviceName = deviceName
    }

    /// Proves a key with `GET /api/sync/status`, registers this machine under its own token, and keeps key and device id.
    ///
    /// A token that turns out to be another user's device (it is not in the user's own list) is replaced by a new one.
    ///
    /// - Parameter apiKey: The issued key.
    /// - Returns: The kept login.
    /// - Throws: `PhotoSyncError`. Nothing is kept then, and an earlier login stays.
    public func logIn(apiKey: String) async throws(PhotoSyncError) -> Login { throw PhotoSyncError(.internalError) }

    /// Logs in by e-mail address, lower-cased, and password. **Voids the user's key on all other clients**; ask first.
    ///
    /// - Returns: The kept login.
    /// - Throws: `PhotoSyncError`; `.keyNotRotated` where the server's own defect makes it impossible (contract 1.2): the
    ///   old key goes on working then.
    public func logIn(email: String, password: String) async throws(PhotoSyncError) -> Login {
        throw PhotoSyncError(.internalError)
    }
}
