/// How this machine is known to a photo server.
public struct Login: Sendable, Equatable, CustomStringConvertible, CustomReflectable {
    /// Address of the server.
    public var server: String
    /// The user's API key. Secret.
    public var apiKey: String
    /// The server's id of this machine; nil when it is not registered.
    public var deviceID: String?
    /// The name it is registered under.
    public var deviceName: String?
    /// The user's e-mail address, where it is known.
    public var email: String?

    /// Makes a login.
    public init(
        server: String,
        apiKey: String,
        deviceID: String? = nil,
        deviceName: String? = nil,
        email: String? = nil
    ) {
        self.server = server
        self.apiKey = apiKey
        self.deviceID = deviceID
        self.deviceName = deviceName
        self.email = email
    }

    /// Without the key.
    public var description: String { "login at \(server)" }
    /// Without the key, so that `dump` does not show it either.
    public var customMirror: Mirror { Mirror(self, children: ["server": server]) }
}
