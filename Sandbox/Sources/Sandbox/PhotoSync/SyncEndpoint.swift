import GRDB
import HTTPTypes

/// `/api/sync/*` without its files: status, listing, claims (photosync contract 4, 5 and 7).
struct SyncEndpoint {
    let catalog: PhotoCatalog

    private var isStub: Bool { catalog.settings.isStub }

    func status(_ exchange: Exchange, of user: UserRecord) throws -> Response {
        let id = exchange.header("X-Device-ID") ?? ""
        let photos = PhotoRecord.filter(sql: "user_id = ?", arguments: [user.id])
        let (total, own, legacy) = try catalog.queue.read { db in
            (
                try photos.fetchCount(db),
                isStub ? 0 : try photos.filter(sql: "device_id = ?", arguments: [id]).fetchCount(db),
                isStub ? 0 : try photos.filter(sql: "device_id IS NULL").fetchCount(db)
            )
        }
        var status: JSONValue = [
            "totalPhotos": .int(total), "devicePhotos": .int(own), "otherDevicePhotos": .int(total - own - legacy),
            "legacyPhotos": .int(legacy),
        ]
        if !isStub { status["lastSyncAt"] = try catalog.device(id)?.lastSyncAt.map { .string($0.text) } }
        status["serverVersion"] = .int(total)
        status["needsLegacyClaim"] = .bool(legacy > 0)
        return .photoSync(.ok, status)
    }

    func list(_ body: [UInt8], of user: UserRecord, _ plan: FaultPlan) throws -> Response {
        let fields = try GoFields(body: body)
        let device = try fields.string("deviceId") ?? ""
        let cursor = try fields.string("cursor").flatMap { $0.isEmpty ? nil : $0 }
        let wanted = try fields.int("limit") ?? 0
        let limit = wanted <= 0 ? 100 : min(wanted, 500)
        let showsThumbnails = try fields.bool("includeThumbnailUrls") ?? false
        let since = try fields.time("sinceTimestamp")
        let page = try catalog.page(of: user.id, after: plan.cursor(cursor), since: since, limit: limit)
        if !isStub, !device.isEmpty, !page.photos.isEmpty { try catalog.noteSync(of: device) }
        let items = page.photos.map { photo in
            Self.item(
                photo,
                photo.deviceID.flatMap { page.devices[$0] },
                currentDevice: device,
                showsThumbnail: showsThumbnails && photo.pixels != nil
            )
        }
        let listing = PhotoListing(
            photos: items,
            cursor: page.hasMore ? page.photos.last?.id : nil,
            totalCount: page.totalCount
        )
        return .photoSync(.ok, plan.changed(listing, requestedAfter: cursor).json)
    }

    private static func item(
        _ photo: PhotoRecord,
        _ origin: DeviceRecord?,
        currentDevice: String,
        showsThumbnail: Bool
    ) -> JSONValue {
        var item: JSONValue = [
            "id": .string(photo.id), "fileHash": .string(photo.hash), "originalFilename": .string(photo.name),
            "fileSize": .int(photo.size), "dateTaken": .string(photo.takenAt.text),
            "uploadedAt": .string(photo.uploadedAt.text),
        ]
        if let origin {
            item["originDevice"] = [
                "id": .string(origin.id), "name": .string(origin.name), "platform": .string(origin.platform),
                "isCurrentDevice": .bool(origin.id == currentDevice),
            ]
        }
        if showsThumbnail { item["thumbnailUrl"] = .string("/api/web/photos/\(photo.id)/thumbnail") }
        if let pixels = photo.pixels {
            item["width"] = .int(pixels.width)
            item["height"] = .int(pixels.height)
        }
        return item
    }

    func claim(_ body: [UInt8], of user: UserRecord) throws -> Response {
        let fields = try GoFields(body: body)
        let device = try fields.string("deviceId") ?? ""
        let claimsAll = try fields.bool("claimAll") ?? false
        let ids = try fields.strings("photoIds")
        guard !device.isEmpty else { throw PhotoSyncRefusal("Device ID is required") }
        guard try catalog.device(device)?.userId == user.id else { throw PhotoSyncRefusal("Invalid device") }
        guard claimsAll || !ids.isEmpty else { throw PhotoSyncRefusal("No photos specified to claim") }
        // PostgreSQL uses 16 bits for the number of a statement's parameters, one of which is the device.
        guard claimsAll || ids.count <= 65_534 else { return .photoSyncDatabaseError }
        let claimed =
            isStub ? 0 : try claimsAll ? catalog.claimAll(of: user.id, for: device) : catalog.claim(ids, for: device)
        return .photoSync(.ok, ["claimed": .int(claimed), "alreadyClaimed": 0, "failed": 0])
    }
}

struct PhotoListing {
    var photos: [JSONValue]
    var cursor: String?
    var totalCount: Int

    var json: JSONValue {
        var pagination: JSONValue = [:]
        if let cursor { pagination["cursor"] = .string(cursor) }
        pagination["hasMore"] = .bool(cursor != nil)
        let sync: JSONValue = [
            "totalCount": .int(totalCount), "returnedCount": .int(photos.count), "serverVersion": .int(totalCount),
        ]
        return ["photos": .array(photos), "pagination": pagination, "sync": sync]
    }
}
