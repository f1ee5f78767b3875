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

extension CaptureDeviceRecord: Storable {
    static let table = "capture_devices"

    private enum CodingKeys: String, CodingKey {
        case server, profile, level
        case deviceID = "device_id"
        case rpID = "rp_id"
        case publicKey = "public_key"
        case keySource = "key_source"
        case createdAt = "created_at"
    }
}

/// As JSON: `{"file":…}`, `{"provider":…,"uri":…}` or `{"command":[…]}`.
extension CaptureDeviceRecord.KeySource: Codable {
    private enum CodingKeys: CodingKey {
        case file, uri, provider, command
    }

    /// - Throws: `DecodingError` for a source that no version has written.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        let file = try values.decodeIfPresent(String.self, forKey: .file)
        let uri = try values.decodeIfPresent(String.self, forKey: .uri)
        let provider = try values.decodeIfPresent(String.self, forKey: .provider)
        switch (file, uri, provider, try values.decodeIfPresent([String].self, forKey: .command)) {
        case (let file?, nil, nil, nil): self = .file(file)
        case (nil, let uri?, let provider?, nil): self = .provider(uri: uri, provider: provider)
        case (nil, nil, nil, let command?): self = .command(command)
        default: throw DecodingError.dataCorruptedError(forKey: .file, in: values, debugDescription: "unknown source")
        }
    }

    /// Writes the keys of its own case only.
    public func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: CodingKeys.self)
        switch self {
        case .file(let name): try values.encode(name, forKey: .file)
        case .provider(let uri, let provider):
            try values.encode(uri, forKey: .uri)
            try values.encode(provider, forKey: .provider)
        case .command(let arguments): try values.encode(arguments, forKey: .command)
        }
    }
}
