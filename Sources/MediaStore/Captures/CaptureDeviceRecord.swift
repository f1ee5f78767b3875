public import Foundation

/// The registration of this machine with a capture server, and the location of its key.
public struct CaptureDeviceRecord: Sendable, Equatable {
    /// The location of the key.
    public enum KeySource: Sendable, Equatable {
        /// A PKCS#8 file; a bare name refers to the directory of keys.
        case file(String)
        /// Accessible through an OpenSSL provider. `isOurs` if a registration created it, and may remove it.
        case provider(uri: String, provider: String, isOurs: Bool = false)
        /// An external program and its arguments.
        case command([String])
    }

    /// Address of the server.
    public var server: String
    /// UUID issued at registration.
    public var deviceID: String
    /// The server's profile.
    public var profile: String
    /// The relying party ID for which the device was registered.
    public var rpID: String
    /// The level that the server assigned.
    public var level: String
    /// SEC 1, 65 bytes.
    public var publicKey: [UInt8]
    public var keySource: KeySource
    /// When the device was registered.
    public var createdAt: Date

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

/// As JSON: `{"file":…}`, `{"provider":…,"uri":…}`, optionally with `"ours":true`, or `{"command":[…]}`.
extension CaptureDeviceRecord.KeySource: Codable {
    private struct Members: Codable {
        enum CodingKeys: CodingKey {
            case file, uri, provider, ours, command
        }

        var file: String?
        var uri: String?
        var provider: String?
        var ours: Bool?
        var command: [String]?
    }

    /// - Throws: `DecodingError` for a source that no version could have written.
    public init(from decoder: any Decoder) throws {
        let values = try Members(from: decoder)
        switch (values.file, values.uri, values.provider, values.command) {
        case (let file?, nil, nil, nil): self = .file(file)
        case (nil, let uri?, let provider?, nil):
            self = .provider(uri: uri, provider: provider, isOurs: values.ours ?? false)
        case (nil, nil, nil, let command?): self = .command(command)
        default:
            let path = decoder.codingPath + [Members.CodingKeys.file]
            throw DecodingError.dataCorrupted(.init(codingPath: path, debugDescription: "unknown source"))
        }
    }

    /// Encodes only the keys of its case.
    public func encode(to encoder: any Encoder) throws {
        switch self {
        case .file(let name): try Members(file: name).encode(to: encoder)
        case .provider(let uri, let provider, let isOurs):
            try Members(uri: uri, provider: provider, ours: isOurs ? true : nil).encode(to: encoder)
        case .command(let arguments): try Members(command: arguments).encode(to: encoder)
        }
    }
}
