import GRDB

/// The photos of one device.
public struct DevicePhotos: Sendable, Equatable {
    /// The device.
    public var device: PhotoDevice
    /// Its photos that are not gone.
    public var photos: Int64

    /// Makes a number of photos.
    public init(device: PhotoDevice, photos: Int64 = 0) {
        self.device = device
        self.photos = photos
    }
}

extension SyncIndex {
    /// The devices that a server's photos came from, most photos first.
    public func devices(of server: String) throws(StoreError) -> [DevicePhotos] {
        try read { db in
            try Row.fetchAll(
                db,
                sql: """
                    SELECT device_id, name, platform, present FROM origins
                    WHERE server = (SELECT number FROM servers WHERE address = ?)
                        AND device_id IS NOT NULL AND present > 0
                    ORDER BY present DESC, name, device_id
                    """,
                arguments: [server]
            )
            .map { row in
                let (name, platform): (String?, String?) = (row["name"], row["platform"])
                return DevicePhotos(
                    device: PhotoDevice(id: row["device_id"], name: name ?? "", platform: platform ?? ""),
                    photos: row["present"]
                )
            }
        }
    }
}
