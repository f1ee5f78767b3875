public import MediaStore
internal import MediaTransport

/// Makes this machine a device of a user (photosync contract 1.2 and 1.3).
public struct DeviceRegistration: Sendable {
    let client: PhotoSyncClient
    let library: LibraryStore
    let deviceName: String

    /// - Parameters:
    ///   - client: The server; its key is the one to log in with, where there is one.
    ///   - library: Keeps the login and the device token.
    ///   - deviceName: What other clients call this machine, for example its host name. Control characters are dropped,
    ///     and what is longer than 100 characters is cut.
    public init(client: PhotoSyncClient, library: LibraryStore, deviceName: String) {
        self.client = client
        self.library = library
        self.deviceName = DeviceName.cleaned(deviceName)
    }

    /// Proves a key with `GET /api/sync/status`, registers this machine under its own token, and keeps key and device id.
    ///
    /// A token that turns out to be another user's device (it is not in the user's own list) is replaced by a new one.
    ///
    /// - Parameter apiKey: The issued key; blanks around it do not count.
    /// - Returns: The kept login.
    /// - Throws: `PhotoSyncError`. Nothing is kept then, and an earlier login stays.
    public func logIn(apiKey: String) async throws(PhotoSyncError) -> Login {
        let key = try Self.checked(apiKey.trimmingBlanks())
        let user = authorized(key)
        _ = try await user.status(device: nil)
        let device = try await ownDevice(of: user)
        let login = login(key, device: device)
        try keep(login)
        return login
    }

    /// Logs in by e-mail address, lower-cased, and password. **Voids the user's key on all other clients**; ask first.
    ///
    /// The new key is kept as soon as it is there, before anything else is asked: the old one is void by then.
    ///
    /// - Returns: The kept login.
    /// - Throws: `PhotoSyncError`; `.keyNotRotated` where the server's own defect makes it impossible (contract 1.2): the
    ///   old key goes on working then. An error after the server's answer leaves a login without a device.
    public func logIn(email: String, password: String) async throws(PhotoSyncError) -> Login {
        let token = try token(isRenewed: false)
        let reply = try await client.logIn(
            email: email,
            password: password,
            deviceName: deviceName,
            deviceToken: token
        )
        let key = try Self.checked(reply.apiKey)
        let email = reply.email ?? email.lowercased()
        try keep(login(key, device: nil, email: email))
        let user = authorized(key)
        let device = try await ownDevice(of: user, reply.device)
        let login = login(key, device: device, email: email)
        try keep(login)
        return login
    }

    // MARK: Devices

    /// This machine as a device of the user: the one that a login has registered, if it is theirs. A server hands out the
    /// device of a known token whoever owns it (trap 10), and complains only when photos are claimed for it.
    private func ownDevice(
        of user: PhotoSyncClient,
        _ registered: RegisteredDevice? = nil
    ) async throws(PhotoSyncError) -> RegisteredDevice {
        var device = registered
        if device == nil {
            device = try await user.registerDevice(name: deviceName, token: token(isRenewed: false))
        }
        if let device, try await user.devices().contains(where: { $0.id == device.id }) { return device }
        return try await newDevice(of: user)
    }

    /// A device under a token that nobody has used before.
    private func newDevice(of user: PhotoSyncClient) async throws(PhotoSyncError) -> RegisteredDevice {
        let device = try await user.registerDevice(name: deviceName, token: token(isRenewed: true))
        guard try await user.devices().contains(where: { $0.id == device.id }) else {
            throw PhotoSyncError(.invalidDevice, detail: "the server does not list the device that it has registered")
        }
        return device
    }

    // MARK: Steps

    private func authorized(_ key: String) -> PhotoSyncClient {
        client.authorized(.apiKey(key, for: client.server.origin))
    }

    /// A key that can stand in a header field.
    private static func checked(_ key: String) throws(PhotoSyncError) -> String {
        guard !key.isEmpty, key.utf8.allSatisfy({ (0x21...0x7e).contains($0) }) else {
            throw PhotoSyncError(.unauthorized, detail: "the API key is empty or contains invalid characters")
        }
        return key
    }

    private func login(_ key: String, device: RegisteredDevice?, email: String? = nil) -> Login {
        Login(
            server: client.server.description,
            apiKey: key,
            deviceID: device?.id,
            deviceName: device?.name,
            email: email
        )
    }

    private func token(isRenewed: Bool) throws(PhotoSyncError) -> String {
        do {
            return try library.deviceToken(for: client.server.description, isRenewed: isRenewed)
        } catch {
            throw PhotoSyncError(error)
        }
    }

    private func keep(_ login: Login) throws(PhotoSyncError) {
        do {
            try library.keep(login)
        } catch {
            throw PhotoSyncError(error)
        }
    }
}

/// What a device is called on servers.
enum DeviceName {
    /// In characters.
    private static let longest = 100

    /// A name that servers take (they refuse an empty one) and other clients can show.
    static func cleaned(_ name: String) -> String {
        let visible = String(String.UnicodeScalarView(name.unicodeScalars.filter { !isControl($0) }))
        let cut = String(visible.trimmingBlanks().prefix(longest)).trimmingBlanks()
        return cut.isEmpty ? "mediactl" : cut
    }

    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: true
        default: false
        }
    }
}
