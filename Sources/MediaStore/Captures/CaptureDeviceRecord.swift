public import Foundation

/// This machine as a capture server knows it, and where its key is.
public struct CaptureDeviceRecord: Sendable, Equatable {
    /// Where the key is.
    public enum KeySource: Sendable, Equatable {
        /// A PKCS#8 file; a name alone lies in the directory of keys.
        case file(String)
        /// Reached by an OpenSSL provider.
        case provider(uri: String, provider: String)
        /// An external program and its arguments.
        case command([String])
    }

    /// Address of the server.
    public var server: String
    /// UUID issued at registration.
    public var deviceID: String
    /// The server's profile.
    public var profile: String
    /// The relying party id it was registered for.
    public var rpID: String
    /// Level the server gave.
    public var level: String
    /// SEC 1, 65 bytes.
    public var publicKey: [UInt8]
    /// Where the key is.
    public var keySource: KeySource
    /// When it was registered.
    public var createdAt: Date

    /// Makes a record.
    public init(
        server: String,
        deviceID: String,
        profile: String,
        rpID: String,
        level: String,
        publicKey: [UInt8],
        keySource: KeySource,
        createdAt: Date
    ) {
        self.server = server
        self.deviceID = deviceID
        self.profile = profile
        self.rpID = rpID
        self.level = level
        self.publicKey = publicKey
        self.keySource = keySource
        self.createdAt = createdAt
    }
}
