import Foundation
import HTTPTypes

/// `/api/sync/*` without its files: status, listing, legacy photos, claims (photosync contract 4, 5 and 7).
struct SyncEndpoint {
    let catalog: PhotoCatalog

    func status(_ exchange: Exchange, of user: UserRecord) throws -> Reply {
        let device = exchange.header("X-Device-ID") ?? ""
        let counts = try catalog.counts(of: user.id, device: device)
        var status: JSONObject = [
            "totalPhotos": .int(counts.total),
            "devicePhotos": .int(counts.device),
            "otherDevicePhotos": .int(counts.total - counts.device - counts.legacy),
            "legacyPhotos": .int(counts.legacy),
        ]
        if !catalog.settings.isStub, let lastSync = try catalog.lastSync(of: device) {
            status["lastSyncAt"] = .string(lastSync.text)
        }
        status["serverVersion"] = .int(counts.total)
        status["needsLegacyClaim"] = .bool(counts.legacy > 0)
        return .photoSync(.ok, .object(status))
    }

    // MARK: Listing

    func list(_ body: [UInt8], of user: UserRecord, _ plan: FaultPlan) throws -> Reply {
        let fields = try GoFields(body: body)
        let device = try fields.string("deviceId") ?? ""
        let cursor = try fields.string("cursor").flatMap { $0.isEmpty ? nil : $0 }
        let wanted = try fields.int("limit") ?? 0
        let limit = wanted <= 0 ? 100 : min(wanted, 500)
        let showsThumbnails = try fields.bool("includeThumbnailUrls") ?? false
        let since = try fields.time("sinceTimestamp")
        let page =
            catalog.settings.isStub
            ? try catalog.stubPage(of: user.id, limit: limit)
            : try catalog.page(of: user.id, after: plan.cursor(cursor), since: since, limit: limit)
        if !catalog.settings.isStub, !device.isEmpty, let last = page.photos.last {
            try catalog.noteSync(of: device, lastPhoto: last.id)
        }
        let items = page.photos.map { photo in
            let origin = photo.deviceID.flatMap { page.devices[$0] }
            return Self.item(
                photo,
                origin,
                currentDevice: device,
                showsThumbnail: showsThumbnails && photo.pixels != nil
            )
        }
        let listing = PhotoListing(
            photos: items,
            cursor: page.hasMore ? page.photos.last?.id : nil,
            hasMore: page.hasMore,
            totalCount: page.totalCount
        )
        return .photoSync(.ok, plan.changed(listing, askedAfter: cursor).json)
    }

    private static func item(
        _ photo: PhotoRecord,
        _ origin: DeviceRecord?,
        currentDevice: String,
        showsThumbnail: Bool
    ) -> JSONObject {
        var item: JSONObject = [
            "id": .string(photo.id),
            "fileHash": .string(photo.hash),
            "originalFilename": .string(photo.name),
            "fileSize": .int(photo.size),
            "dateTaken": .string(photo.takenAt.text),
            "uploadedAt": .string(photo.uploadedAt.text),
        ]
        if let origin {
            item["originDevice"] = [
                "id": .string(origin.id),
                "name": .string(origin.name),
                "platform": .string(origin.platform),
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

    // MARK: Legacy photos

    func legacyPhotos(_ query: QueryParameters, of user: UserRecord) throws -> Reply {
        let wanted = query["limit"].flatMap { Int($0) } ?? 0
        let limit = (1...500).contains(wanted) ? wanted : 100
        let (photos, total) =
            catalog.settings.isStub ? ([], 0) : try catalog.legacyPhotos(of: user.id, limit: limit)
        // The address is given even where there is no thumbnail.
        let items = photos.map { JSONValue.object(Self.item($0, nil, currentDevice: "", showsThumbnail: true)) }
        return .photoSync(
            .ok,
            [
                "photos": .array(items),
                "totalCount": .int(total),
                "message": "These photos have no device yet. Claim them to assign them to this one.",
            ]
        )
    }

    func claim(_ body: [UInt8], of user: UserRecord) throws -> Reply {
        let fields = try GoFields(body: body)
        let device = try fields.string("deviceId") ?? ""
        let claimsAll = try fields.bool("claimAll") ?? false
        let ids = try fields.strings("photoIds")
        guard !device.isEmpty else { return .photoSyncText(.badRequest, "Device ID is required") }
        guard try catalog.device(device)?.userID == user.id else {
            return .photoSyncText(.badRequest, "Invalid device")
        }
        guard claimsAll || !ids.isEmpty else { return .photoSyncText(.badRequest, "No photos specified to claim") }
        // PostgreSQL numbers the parameters of a statement with 16 bits, and the device takes one.
        guard claimsAll || ids.count <= 65_534 else { return .photoSyncDatabaseError }
        let claimed: Int
        if catalog.settings.isStub {
            claimed = 0
        } else if claimsAll {
            claimed = try catalog.claimAll(of: user.id, for: device)
        } else {
            claimed = try catalog.claim(ids, for: device)
        }
        return .photoSync(.ok, ["claimed": .int(claimed), "alreadyClaimed": 0, "failed": 0])
    }
}

/// The reply to a listing before it is written.
struct PhotoListing {
    var photos: [JSONObject]
    /// Present when there is more.
    var cursor: String?
    var hasMore: Bool
    var totalCount: Int

    var json: JSONValue {
        var pagination: JSONObject = [:]
        if let cursor { pagination["cursor"] = .string(cursor) }
        pagination["hasMore"] = .bool(hasMore)
        return [
            "photos": .array(photos.map(JSONValue.object)),
            "pagination": .object(pagination),
            "sync": [
                "totalCount": .int(totalCount),
                "returnedCount": .int(photos.count),
                "serverVersion": .int(totalCount),
            ],
        ]
    }
}
