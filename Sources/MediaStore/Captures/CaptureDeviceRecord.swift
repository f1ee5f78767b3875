public import Foundation
import GRDB

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

/// Rows of the table `capture_devices`.
enum CaptureDeviceRow {
    private static let columns = "server, device_id, profile, rp_id, level, public_key, key_source, created_at"

    static let selectByServer = "SELECT \(columns) FROM capture_devices WHERE server = ?"

    static func keep(_ device: CaptureDeviceRecord, _ db: Database) throws {
        try db.execute(
            sql: "INSERT OR REPLACE INTO capture_devices (\(columns)) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            arguments: [
                device.server, device.deviceID, device.profile, device.rpID, device.level, Data(device.publicKey),
                try KeySourceText(device.keySource).json, device.createdAt.milliseconds,
            ]
        )
    }

    /// - Throws: `StoreError` `.corrupt`, naming the server, for a key source that no version has written.
    static func device(_ row: Row) throws -> CaptureDeviceRecord {
        let server: String = row["server"]
        guard let source = KeySourceText(json: row["key_source"])?.source else {
            throw StoreError(
                .corrupt,
                path: StoreSchema.library.fileName,
                detail: "the capture device at \(server) has an unknown key source"
            )
        }
        return CaptureDeviceRecord(
            server: server,
            deviceID: row["device_id"],
            profile: row["profile"],
            rpID: row["rp_id"],
            level: row["level"],
            publicKey: [UInt8](row["public_key"] as Data),
            keySource: source,
            createdAt: Date(milliseconds: row["created_at"])
        )
    }
}

/// A key source as JSON: `{"file":…}`, `{"provider":…,"uri":…}` or `{"command":[…]}`.
private struct KeySourceText: Codable {
    var file: String?
    var uri: String?
    var provider: String?
    var command: [String]?

    init(_ source: CaptureDeviceRecord.KeySource) {
        switch source {
        case .file(let name): file = name
        case .provider(let uri, let provider): (self.uri, self.provider) = (uri, provider)
        case .command(let arguments): command = arguments
        }
    }

    init?(json: String) {
        guard let value = try? JSONDecoder().decode(Self.self, from: Data(json.utf8)) else { return nil }
        self = value
    }

    var json: String {
        get throws {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            return String(decoding: try encoder.encode(self), as: UTF8.self)
        }
    }

    var source: CaptureDeviceRecord.KeySource? {
        switch (file, uri, provider, command) {
        case (let file?, nil, nil, nil): .file(file)
        case (nil, let uri?, let provider?, nil): .provider(uri: uri, provider: provider)
        case (nil, nil, nil, let command?): .command(command)
        default: nil
        }
    }
}
