internal import MediaCore
public import MediaStore
internal import MediaTransport

/// `GET /api/sync/status` (photosync contract section 4).
public struct SyncStatus: Sendable, Equatable {
    /// Number of photos that the user owns.
    public var totalPhotos: Int64
    /// Number of the user's photos from the requested device; 0 if none was requested.
    public var devicePhotos: Int64
    /// Number of the user's photos without a device.
    public var legacyPhotos: Int64
    /// Number of the user's photos from other devices; if no device was requested, this includes photos from this
    /// device.
    public var otherDevicePhotos: Int64
    /// When the device last received a non-empty page, not when its listing was last complete (trap 20).
    public var lastSyncAt: PhotoTime?
}

/// A page of `POST /api/sync/photos` (photosync contract section 5).
public struct PhotoPage: Sendable, Equatable {
    /// The photos, oldest upload first.
    public var photos: [PhotoRecord]
    /// Cursor of the next page; absent on the last page.
    public var cursor: String?
    /// Whether there is a next page.
    public var hasMore: Bool
    /// Total number of the user's photos, regardless of the request (trap 19).
    public var totalCount: Int64
}

/// A registered device (photosync contract 1.3).
public struct RegisteredDevice: Sendable, Equatable {
    public var id: String
    public var name: String
    /// `ios` or `android`.
    public var platform: String
    public var registeredAt: PhotoTime
    /// When the device was last used.
    public var lastSeenAt: PhotoTime
    public var isActive: Bool
}

/// The response to an upload (photosync contract 3.3).
public struct PhotoReceipt: Sendable, Equatable {
    /// ID of the new row, or of the existing row with these bytes, regardless of the owner.
    public var id: String
    /// Whether the bytes were already on the server. Does not imply that the user owns the photo (trap 11).
    public var isDuplicate: Bool
}

/// The response to `POST /api/mobile/auth/login` (photosync contract 1.2 no. 2).
public struct LoginResponse: Sendable, Equatable {
    /// The new key; all of the user's earlier keys are revoked. Secret.
    public var apiKey: String
    /// The device of this machine; nil if only the key could be parsed.
    public var device: RegisteredDevice?
    /// The user's email address; nil if only the key could be parsed.
    public var email: String?
}

/// State of a server; the request does not need a key (photosync contract section 2).
public struct ServerHealth: Sendable, Equatable {
    /// `status` from `GET /api/health`; `healthy` if the server works.
    public var status: String
    /// Whether the administrator has finished the setup; nil if unknown.
    public var isSetUp: Bool?

    /// Whether the server can be used.
    public var isHealthy: Bool { status == "healthy" && isSetUp != false }
}

extension SyncStatus {
    init(reading body: [UInt8]) throws(PhotoSyncError) {
        var counts: [String: Int64] = [:]
        var lastSyncAt: PhotoTime?
        try MemberReader.read(body) { (name, members) throws(PhotoSyncError) in
            switch name {
            case "totalPhotos", "devicePhotos", "legacyPhotos", "otherDevicePhotos":
                counts[name] = try members.count(name)
            case "lastSyncAt": lastSyncAt = try members.time(name)
            default: try members.skip()
            }
        }
        self.init(
            totalPhotos: try MemberReader.require(counts["totalPhotos"], "totalPhotos"),
            devicePhotos: try MemberReader.require(counts["devicePhotos"], "devicePhotos"),
            legacyPhotos: try MemberReader.require(counts["legacyPhotos"], "legacyPhotos"),
            otherDevicePhotos: try MemberReader.require(counts["otherDevicePhotos"], "otherDevicePhotos"),
            lastSyncAt: lastSyncAt
        )
    }
}

extension RegisteredDevice {
    /// The platform sent for this machine: servers accept only `ios` and `android`, not `linux` (contract 1.2). The
    /// Android client also walks a file system, and no server treats the two differently.
    static let ownPlatform = "android"

    static func one(in body: [UInt8]) throws(PhotoSyncError) -> RegisteredDevice {
        var members = MemberReader(body)
        let device = try RegisteredDevice(&members, "device")
        try members.finish()
        return try MemberReader.require(device, "device")
    }

    static func all(in body: [UInt8]) throws(PhotoSyncError) -> [RegisteredDevice] {
        var members = MemberReader(body)
        var devices: [RegisteredDevice] = []
        guard try members.beginArray("devices") else { return [] }
        while try members.nextElement() {
            devices.append(try MemberReader.require(RegisteredDevice(&members, "devices[]"), "devices[]"))
        }
        try members.finish()
        return devices
    }

    /// - Returns: nil for `null`.
    fileprivate init?(_ members: inout MemberReader, _ name: String) throws(PhotoSyncError) {
        var id: String?
        var deviceName: String?
        var platform: String?
        var registeredAt: PhotoTime?
        var lastSeenAt: PhotoTime?
        var isActive: Bool?
        guard try members.beginObject(name) else { return nil }
        while let name = try members.next() {
            switch name {
            case "id": id = try members.identifier(name)
            case "deviceName": deviceName = try members.text(name)
            case "platform": platform = try members.text(name)
            case "registeredAt": registeredAt = try members.time(name)
            case "lastSeenAt": lastSeenAt = try members.time(name)
            case "isActive": isActive = try members.flag(name)
            default: try members.skip()
            }
        }
        self.init(
            id: try MemberReader.require(id, "id"),
            name: try MemberReader.require(deviceName, "deviceName"),
            platform: try MemberReader.require(platform, "platform"),
            registeredAt: try MemberReader.require(registeredAt, "registeredAt"),
            lastSeenAt: try MemberReader.require(lastSeenAt, "lastSeenAt"),
            isActive: try MemberReader.require(isActive, "isActive")
        )
    }
}

extension LoginResponse {
    /// Parses a response. The earlier key is already revoked, so a malformed response must yield at least the new key.
    init(reading body: [UInt8]) throws(PhotoSyncError) {
        do {
            self = try Self.whole(body)
        } catch {
            guard let apiKey = Self.key(in: body) else { throw error }
            self.init(apiKey: apiKey, device: nil, email: nil)
        }
    }

    /// Finds the key in a response that is not valid JSON.
    private static func key(in body: [UInt8]) -> String? {
        String(decoding: body, as: UTF8.self).firstMatch(of: /"apiKey"\s*:\s*"([!#-\[\]-~]+)"/).map { String($0.1) }
    }

    private static func whole(_ body: [UInt8]) throws(PhotoSyncError) -> LoginResponse {
        var apiKey: String?
        var device: RegisteredDevice?
        var email: String?
        try MemberReader.read(body) { (name, members) throws(PhotoSyncError) in
            switch name {
            case "apiKey": apiKey = try members.identifier(name)
            case "device": device = try RegisteredDevice(&members, name)
            case "user": email = try Self.email(&members)
            default: try members.skip()
            }
        }
        return LoginResponse(
            apiKey: try MemberReader.require(apiKey, "apiKey"),
            device: try MemberReader.require(device, "device"),
            email: try MemberReader.require(email, "user.email")
        )
    }

    private static func email(_ members: inout MemberReader) throws(PhotoSyncError) -> String? {
        var email: String?
        guard try members.beginObject("user") else { return nil }
        while let name = try members.next() {
            if name == "email" { email = try members.text("user.email") } else { try members.skip() }
        }
        return email
    }
}

extension PhotoReceipt {
    init(reading body: [UInt8]) throws(PhotoSyncError) {
        var id: String?
        var isDuplicate: Bool?
        try MemberReader.read(body) { (name, members) throws(PhotoSyncError) in
            switch name {
            case "id": id = try members.identifier(name)
            case "isDuplicate": isDuplicate = try members.flag(name)
            default: try members.skip()
            }
        }
        self.init(
            id: try MemberReader.require(id, "id"),
            isDuplicate: try MemberReader.require(isDuplicate, "isDuplicate")
        )
    }
}

extension ServerHealth {
    static func status(in body: [UInt8]) throws(PhotoSyncError) -> String {
        let status = JSONValue.object(in: body[...])?["status"]?.text
        return ServerText.cut(try MemberReader.require(status, "status"))
    }

    /// nil for an invalid response.
    static func isSetUp(_ response: HTTPResponse) -> Bool? {
        guard response.status == 200,
            case .bool(let isComplete)? = JSONValue.object(in: response.body[...])?["isComplete"]
        else { return nil }
        return isComplete
    }
}

/// The response to `POST /api/photos/check` (contract 3.7).
enum CheckResponse {
    static func existing(in body: [UInt8]) throws(PhotoSyncError) -> Set<String> {
        var existing: Set<String>?
        try MemberReader.read(body) { (name, members) throws(PhotoSyncError) in
            if name == "existing" { existing = try digests(&members) } else { try members.skip() }
        }
        return try MemberReader.require(existing, "existing")
    }

    private static func digests(_ members: inout MemberReader) throws(PhotoSyncError) -> Set<String>? {
        guard try members.beginArray("existing") else { return nil }
        var digests: Set<String> = []
        while try members.nextElement() {
            digests.insert(try MemberReader.require(members.digest("existing[]"), "existing[]"))
        }
        return digests
    }
}

/// The response to `POST /api/sync/claim-legacy` (contract section 7). Its other numbers are always 0.
enum ClaimResponse {
    static func claimed(in body: [UInt8]) throws(PhotoSyncError) -> Int64 {
        var claimed: Int64?
        try MemberReader.read(body) { (name, members) throws(PhotoSyncError) in
            if name == "claimed" { claimed = try members.count(name) } else { try members.skip() }
        }
        return try MemberReader.require(claimed, "claimed")
    }
}
