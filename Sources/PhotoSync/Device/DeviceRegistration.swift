public import MediaStore
internal import MediaTransport

/// Registers this machine as a device of a user (photosync contract 1.2 and 1.3).
public struct DeviceRegistration: Sendable {
    let client: PhotoSyncClient
    let library: LibraryStore
    let deviceName: String

    /// `library` stores the login and the device token. `deviceName` is this machine's name in other clients, for example
    /// its host name. Control characters are removed, and the name is truncated to 100 characters.
    public init(client: PhotoSyncClient, library: LibraryStore, deviceName: String) {
        self.client = client
        self.library = library
        self.deviceName = DeviceName.cleaned(deviceName)
    }

    /// Verifies a key with `GET /api/sync/status`, registers this machine with its token, and stores the key and the
    /// device ID.
    ///
    /// A token that belongs to another user's device (it is not in the user's own list) is replaced by a new one.
    /// Whitespace around the key is ignored. Returns the stored login.
    ///
    /// - Throws: `PhotoSyncError`; nothing is stored, and an earlier login is kept.
    public func logIn(apiKey: String) async throws(PhotoSyncError) -> Login {
        let key = try Self.checked(apiKey.trimmingBlanks())
        let user = authorized(key)
        _ = try await user.status(device: nil)
        let device = try await ownDevice(of: user)
        let login = login(key, device: device)
        try PhotoSyncError.stored(library.keep(login))
        return login
    }

    /// Logs in by email address and password. **Revokes the user's key on all other clients**; confirm first.
    ///
    /// The new key is stored at once, before any other request, since the old one is already revoked.
    ///
    /// - Returns: The stored login.
    /// - Throws: `PhotoSyncError`; `.keyNotRotated` if a server defect prevents the login (contract 1.2): the old key
    ///   then remains valid. An error after the login response leaves a login without a device.
    public func logIn(email: String, password: String) async throws(PhotoSyncError) -> Login {
        let token = try token(isRenewed: false)
        let response = try await client.logIn(
            email: email,
            password: password,
            deviceName: deviceName,
            deviceToken: token
        )
        let key = try Self.checked(response.apiKey)
        let email = response.email ?? email.lowercased()
        try PhotoSyncError.stored(library.keep(login(key, device: nil, email: email)))
        let user = authorized(key)
        let device = try await ownDevice(of: user, response.device)
        let login = login(key, device: device, email: email)
        try PhotoSyncError.stored(library.keep(login))
        return login
    }

    // MARK: Devices

    /// Returns the registered device of this machine if the user owns it. A server returns the device of a known token
    /// regardless of its owner (trap 10), and fails only when photos are claimed for that device.
    private func ownDevice(
        of user: PhotoSyncClient,
        _ registered: RegisteredDevice? = nil
    ) async throws(PhotoSyncError) -> RegisteredDevice {
        var device = registered
        for isRenewed in [false, true] {
            if device == nil {
                device = try await user.registerDevice(name: deviceName, token: token(isRenewed: isRenewed))
            }
            if let device, try await user.devices().contains(where: { $0.id == device.id }) { return device }
            device = nil
        }
        throw PhotoSyncError(.invalidDevice, detail: "the server does not list the registered device")
    }

    // MARK: Steps

    private func authorized(_ key: String) -> PhotoSyncClient {
        client.authorized(.apiKey(key, for: client.server.origin))
    }

    /// A key that is valid in a header field.
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
        try PhotoSyncError.stored(library.deviceToken(for: client.server.description, isRenewed: isRenewed))
    }
}

enum DeviceName {
    /// Maximum length in characters.
    private static let longest = 100

    /// A name that servers accept (they reject empty names) and other clients can display.
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
