public import MediaStore

/// `GET /api/sync/status` (photosync contract section 4).
public struct SyncStatus: Sendable, Equatable {
    /// Photos that the user owns.
    public var totalPhotos: Int64
    /// Of those, the ones of the device that was named; 0 when none was.
    public var devicePhotos: Int64
    /// Of those, the ones of no device.
    public var legacyPhotos: Int64
    /// The others; without a named device its own photos are among them.
    public var otherDevicePhotos: Int64
    /// When the device last got a page that was not empty. Not when it last was complete (trap 20).
    public var lastSyncAt: PhotoTime?

    /// Makes a status.
    package init(
        totalPhotos: Int64,
        devicePhotos: Int64,
        legacyPhotos: Int64,
        otherDevicePhotos: Int64,
        lastSyncAt: PhotoTime? = nil
    ) {
        self.totalPhotos = totalPhotos
        self.devicePhotos = devicePhotos
        self.legacyPhotos = legacyPhotos
        self.otherDevicePhotos = otherDevicePhotos
        self.lastSyncAt = lastSyncAt
    }
}

/// A page of `POST /api/sync/photos` (photosync contract section 5).
public struct PhotoPage: Sendable, Equatable {
    /// The photos, oldest upload first.
    public var photos: [PhotoRecord]
    /// Where the next page begins; absent on the last one.
    public var cursor: String?
    /// Whether there is a next page.
    public var hasMore: Bool
    /// All photos of the user, whatever was asked for (trap 19).
    public var totalCount: Int64

    /// Makes a page.
    package init(photos: [PhotoRecord], cursor: String?, hasMore: Bool, totalCount: Int64) {
        self.photos = photos
        self.cursor = cursor
        self.hasMore = hasMore
        self.totalCount = totalCount
    }
}

/// A registered device (photosync contract 1.3).
public struct RegisteredDevice: Sendable, Equatable {
    /// The server's id.
    public var id: String
    /// Its name.
    public var name: String
    /// `ios` or `android`.
    public var platform: String
    /// When it was registered.
    public var registeredAt: PhotoTime
    /// When it was last used.
    public var lastSeenAt: PhotoTime
    /// Whether it is in use.
    public var isActive: Bool

    /// Makes a device.
    package init(
        id: String,
        name: String,
        platform: String,
        registeredAt: PhotoTime,
        lastSeenAt: PhotoTime,
        isActive: Bool
    ) {
        self.id = id
        self.name = name
        self.platform = platform
        self.registeredAt = registeredAt
        self.lastSeenAt = lastSeenAt
        self.isActive = isActive
    }
}

/// The answer to an upload (photosync contract 3.3).
public struct PhotoReceipt: Sendable, Equatable {
    /// Id of the new row, or of the row that has the bytes already, whoever owns it.
    public var id: String
    /// Whether the server had the bytes already. Not "backed up for me" (trap 11).
    public var isDuplicate: Bool

    /// Makes a receipt.
    package init(id: String, isDuplicate: Bool) {
        self.id = id
        self.isDuplicate = isDuplicate
    }
}

/// What `POST /api/mobile/auth/login` gives (photosync contract 1.2 no. 2).
public struct LoginReply: Sendable, Equatable {
    /// The new key; every earlier one of the user is void. Secret.
    public var apiKey: String
    /// The device of this machine; nil in an answer of which the key alone can be read.
    public var device: RegisteredDevice?
    /// The user's e-mail address; nil as the device.
    public var email: String?

    /// Makes a reply.
    package init(apiKey: String, device: RegisteredDevice?, email: String?) {
        self.apiKey = apiKey
        self.device = device
        self.email = email
    }
}

/// What a server without a key tells (photosync contract section 2).
public struct ServerHealth: Sendable, Equatable {
    /// What `GET /api/health` says, `healthy` when all is well.
    public var status: String
    /// Whether the administrator has finished the setup; nil when the server does not say.
    public var isSetUp: Bool?

    /// Whether the server can be used.
    public var isHealthy: Bool { status == "healthy" && isSetUp != false }

    /// Makes a report.
    package init(status: String, isSetUp: Bool?) {
        self.status = status
        self.isSetUp = isSetUp
    }
}
