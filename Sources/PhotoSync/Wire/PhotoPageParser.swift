internal import MediaStore
internal import MediaTransport

/// Parses the response to `POST /api/sync/photos` (photosync contract section 5) directly into records, since a run may
/// list a million of them.
///
/// Unknown members are skipped, and `null` is treated as absent. Any invalid value (hash, ID, size or time) rejects the
/// whole page.
package struct PhotoPageParser {
    private var members: MemberReader
    /// Devices on this page, kept to let its photos share their strings.
    private var devices: [String: PhotoDevice] = [:]
    /// Recent devices and their offsets in the page: most photos repeat one of them literally.
    private var recentDevices: [PhotoDevice] = []
    private var recentTexts: [Range<Int>] = []
    private static let recentCount = 8

    /// - Throws: `PhotoSyncError.unexpectedResponse`, with the member's name.
    package static func page(in body: [UInt8]) throws(PhotoSyncError) -> PhotoPage {
        var parser = PhotoPageParser(members: MemberReader(body))
        var photos: [PhotoRecord]?
        var cursor: String?
        var hasMore: Bool?
        var totalCount: Int64?
        try parser.members.enterObject()
        while let name = try parser.members.next() {
            switch name {
            case "photos":
                photos = try parser.members.beginArray("photos") ? [] : nil
                photos?.reserveCapacity(PhotoSyncClient.largestPage)
                while photos != nil, try parser.members.nextElement() { photos?.append(try parser.photo()) }
            case "pagination": (cursor, hasMore) = try parser.pagination()
            case "sync": totalCount = try parser.totalCount()
            default: try parser.members.skip()
            }
        }
        try parser.members.finish()
        return PhotoPage(
            photos: try MemberReader.require(photos, "photos"),
            cursor: cursor,
            hasMore: try MemberReader.require(hasMore, "pagination.hasMore"),
            totalCount: try MemberReader.require(totalCount, "sync.totalCount")
        )
    }

    private mutating func pagination() throws(PhotoSyncError) -> (cursor: String?, hasMore: Bool?) {
        var cursor: String?
        var hasMore: Bool?
        guard try members.beginObject("pagination") else { return (nil, nil) }
        while let name = try members.next() {
            switch name {
            case "cursor": cursor = try members.text("pagination.cursor")
            case "hasMore": hasMore = try members.flag("pagination.hasMore")
            default: try members.skip()
            }
        }
        // As a request's cursor, an empty string would mean the first page.
        return (cursor?.isEmpty == true ? nil : cursor, hasMore)
    }

    private mutating func totalCount() throws(PhotoSyncError) -> Int64? {
        var count: Int64?
        guard try members.beginObject("sync") else { return nil }
        while let name = try members.next() {
            if name == "totalCount" {
                count = try members.count("sync.totalCount")
            } else {
                try members.skip()
            }
        }
        return count
    }

    // MARK: Photos

    private mutating func photo() throws(PhotoSyncError) -> PhotoRecord {
        var id: String?
        var sha256: String?
        var fileName: String?
        var fileSize: Int64?
        var takenAt: PhotoTime?
        var uploadedAt: PhotoTime?
        var device: PhotoDevice?
        var width: Int64?
        var height: Int64?
        guard try members.beginObject("photos[]") else { throw MemberReader.unusable("photos[]", "is null") }
        while let name = try members.next() {
            switch name {
            case "id": id = try members.identifier("id")
            case "fileHash": sha256 = try members.digest("fileHash")
            case "originalFilename": fileName = try members.text("originalFilename")
            case "fileSize": fileSize = try members.count("fileSize")
            case "dateTaken": takenAt = try members.time("dateTaken")
            case "uploadedAt": uploadedAt = try members.time("uploadedAt")
            case "originDevice": device = try self.device()
            case "width": width = try members.count("width")
            case "height": height = try members.count("height")
            default: try members.skip()
            }
        }
        return PhotoRecord(
            id: try MemberReader.require(id, "id"),
            sha256: try MemberReader.require(sha256, "fileHash"),
            originalFilename: try MemberReader.require(fileName, "originalFilename"),
            fileSize: try MemberReader.require(fileSize, "fileSize"),
            takenAt: try MemberReader.require(takenAt, "dateTaken"),
            uploadedAt: try MemberReader.require(uploadedAt, "uploadedAt"),
            originDevice: device,
            width: width.map(Int.init),
            height: height.map(Int.init)
        )
    }

    private mutating func device() throws(PhotoSyncError) -> PhotoDevice? {
        for place in recentTexts.indices where members.skipRepetition(of: recentTexts[place]) {
            return recentDevices[place]
        }
        let start = members.start()
        guard let device = try newDevice() else { return nil }
        if recentTexts.count == Self.recentCount {
            recentTexts.removeFirst()
            recentDevices.removeFirst()
        }
        recentTexts.append(start..<members.start())
        recentDevices.append(device)
        return device
    }

    private mutating func newDevice() throws(PhotoSyncError) -> PhotoDevice? {
        var id: String?
        var deviceName: String?
        var platform: String?
        guard try members.beginObject("originDevice") else { return nil }
        while let name = try members.next() {
            switch name {
            case "id": id = try members.identifier("originDevice.id")
            case "name": deviceName = try members.text("originDevice.name")
            case "platform": platform = try members.text("originDevice.platform")
            default: try members.skip()
            }
        }
        let device = PhotoDevice(
            id: try MemberReader.require(id, "originDevice.id"),
            name: deviceName ?? "",
            platform: platform ?? ""
        )
        if let known = devices[device.id], known == device { return known }
        devices[device.id] = device
        return device
    }
}
