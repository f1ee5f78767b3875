import Foundation
import GRDB
import HTTPTypes

/// `/api/photos` without its files: check, browse, get, delete (photosync contract 3.7 and 8).
struct PhotosEndpoint {
    let catalog: PhotoCatalog

    func check(_ body: [UInt8]) throws -> Reply {
        guard let given = try? GoFields(body: body).strings("hashes") else {
            return .photoSyncError(.badRequest, "Invalid request body.")
        }
        guard !given.isEmpty else { return .photoSyncError(.badRequest, "At least one hash is required.") }
        guard given.count <= 1000 else {
            return .photoSyncError(.badRequest, "Maximum 1000 hashes can be checked at once.")
        }
        var seen: Set<String> = []
        let hashes = given.map { $0.trimmingCharacters(in: .whitespacesAndNewlines).lowercased() }
            .filter { seen.insert($0).inserted }
        let known = try catalog.known(hashes)
        return .photoSync(
            .ok,
            [
                "existing": .array(known.map(JSONValue.string)),
                "missing": .array(hashes.filter { !known.contains($0) }.map(JSONValue.string)),
            ]
        )
    }

    func browse(_ query: QueryParameters) throws -> Reply {
        let skip = max(0, query["skip"].flatMap { Int($0) } ?? 0)
        let wanted = query["take"].flatMap { Int($0) } ?? 0
        let take = (1...100).contains(wanted) ? wanted : 50
        let (photos, total) = try catalog.browse(skip: skip, take: take)
        return .photoSync(
            .ok,
            [
                "photos": .array(photos.map(Self.item)),
                "totalCount": .int(total),
                "skip": .int(skip),
                "take": .int(take),
            ]
        )
    }

    /// Of any user: the real server does not look whose it is.
    func photo(_ id: String) throws -> Reply {
        guard let photo = try catalog.photo(id) else { return .photoSyncError(.notFound, "Photo not found.") }
        return .photoSync(.ok, Self.item(photo))
    }

    /// Of any user, at once.
    func delete(_ id: String) throws -> Reply {
        guard try catalog.delete(id) else { return .photoSyncError(.notFound, "Photo not found.") }
        return Reply(status: .noContent, origin: .photoSync, body: .empty)
    }

    private static func item(_ photo: PhotoRecord) -> JSONValue {
        [
            "id": .string(photo.id),
            "originalFilename": .string(photo.name),
            "storedPath": .string(photo.path),
            "fileSize": .int(photo.size),
            "dateTaken": .string(photo.takenAt.text),
            "uploadedAt": .string(photo.uploadedAt.text),
        ]
    }
}

/// The stored files, with single ranges and dates (photosync contract 6).
struct PhotoDownloadEndpoint {
    let catalog: PhotoCatalog

    func reply(id: String, to exchange: Exchange, from user: UserRecord) throws -> Reply {
        guard let photo = try catalog.photo(id) else { return .photoSyncText(.notFound, "Photo not found") }
        guard photo.userID == user.id else { return .photoSyncText(.forbidden, "Access denied") }
        return try serve(photo, Self.headers(photo), exchange)
    }

    /// Only the user's own photos exist here.
    func reply(hash: String, to exchange: Exchange, from user: UserRecord) throws -> Reply {
        guard let photo = try catalog.photo(hash: hash), photo.userID == user.id else {
            return .photoSyncText(.notFound, "Photo not found")
        }
        return try serve(photo, Self.headers(photo) + [("X-Photosync-Id", photo.id)], exchange)
    }

    /// The sandbox makes no thumbnails, but serves those that a test stores. Without one, there is none of files that are not
    /// pictures, and of pictures it was lost.
    func thumbnail(id: String, to exchange: Exchange, from user: UserRecord) throws -> Reply {
        guard let photo = try catalog.photo(id) else { return .photoSyncText(.notFound, "Photo not found") }
        guard photo.userID == user.id else { return .photoSyncText(.forbidden, "Access denied") }
        if let file = OpenFile(path: catalog.folder.thumbnailPath(photo.id)) {
            let common: [(name: String, value: String)] = [
                ("Cache-Control", "public, max-age=31536000"), ("Accept-Ranges", "bytes"),
            ]
            let whole = Reply(
                status: .ok,
                origin: .photoSync,
                body: .file(StoredRange(file: file, offset: 0, count: file.size)),
                headers: common + [("Content-Type", "image/jpeg")]
            )
            return exchange.header("Range").map { range($0, of: file, whole, common) } ?? whole
        }
        return .photoSyncText(.notFound, photo.pixels == nil ? "Thumbnail not available" : "Thumbnail not found")
    }

    private static func headers(_ photo: PhotoRecord) -> [(name: String, value: String)] {
        [
            ("Content-Disposition", "attachment; filename=\"\(photo.name)\""),
            ("X-Photosync-Hash", photo.hash),
            ("X-Photosync-Datetaken", photo.takenAt.wholeSecondText),
        ]
    }

    private func serve(
        _ photo: PhotoRecord,
        _ headers: [(name: String, value: String)],
        _ exchange: Exchange
    ) throws -> Reply {
        guard PhotoName.isSafe(photo.path) else { return .photoSyncText(.notFound, "File not found") }
        guard let file = OpenFile(path: catalog.folder.photoPath(photo.path)) else {
            var reply = Reply.photoSyncNotFound
            reply.headers += headers
            return reply
        }
        let modified = HTTPDate.text(time_t(file.modifiedAt))
        let common = headers + [("Accept-Ranges", "bytes"), ("Last-Modified", modified)]
        if let since = exchange.header("If-Modified-Since").flatMap(HTTPDate.seconds), file.modifiedAt <= since {
            return Reply(status: .notModified, origin: .photoSync, body: .empty, headers: common)
        }
        let type = ("Content-Type", PhotoName.contentType(photo.path) ?? "application/octet-stream")
        let whole = Reply(
            status: .ok,
            origin: .photoSync,
            body: .file(StoredRange(file: file, offset: 0, count: file.size)),
            headers: common + [type]
        )
        guard let header = exchange.header("Range"), !exchange.plan.has(.ignoreRange), isRangeMeant(exchange, file)
        else { return whole }
        return range(header, of: file, whole, common)
    }

    /// `If-Range` with another date means: all of it if it has changed (RFC 9110 section 13.1.5).
    private func isRangeMeant(_ exchange: Exchange, _ file: OpenFile) -> Bool {
        guard let condition = exchange.header("If-Range") else { return true }
        return HTTPDate.seconds(condition) == file.modifiedAt
    }

    private func range(
        _ header: String,
        of file: OpenFile,
        _ whole: Reply,
        _ common: [(name: String, value: String)]
    ) -> Reply {
        // Several ranges are ignored.
        guard !header.contains(",") else { return whole }
        guard let range = ByteRange(header, size: file.size) else {
            return Self.refusal("invalid range", common)
        }
        guard let bytes = range.bytes else {
            return Self.refusal(
                "invalid range: failed to overlap",
                common + [("Content-Range", "bytes */\(file.size)")]
            )
        }
        var part = whole
        part.status = .partialContent
        part.body = .file(StoredRange(file: file, offset: bytes.lowerBound, count: bytes.count))
        part.headers.append(
            ("Content-Range", "bytes \(bytes.lowerBound)-\(bytes.upperBound - 1)/\(file.size)")
        )
        return part
    }

    private static func refusal(_ text: String, _ headers: [(name: String, value: String)]) -> Reply {
        var reply = Reply.photoSyncText(.rangeNotSatisfiable, text)
        reply.headers += headers
        return reply
    }
}

/// Login and devices (photosync contract 1.2 and 1.3).
struct PeopleEndpoint {
    let catalog: PhotoCatalog

    // MARK: Login

    func login(_ body: [UInt8]) throws -> Reply {
        let fields = try GoFields(body: body)
        var texts: [String: String] = [:]
        for (key, name) in Self.requiredAtLogin {
            let text = try fields.string(key) ?? ""
            guard !text.isEmpty else { return .photoSyncText(.badRequest, name + " is required") }
            texts[key] = text
        }
        // Stored in lower case and compared as sent.
        guard let user = try catalog.user(email: texts["email"] ?? "") else { return Self.wrongLogin }
        guard user.isActive else { return .photoSyncText(.internalServerError, "Internal server error") }
        guard let hash = user.passwordHash else {
            return .photoSyncText(.badRequest, "Password not set for this user")
        }
        guard Digest.hex(of: texts["password"] ?? "") == hash else { return Self.wrongLogin }
        let device: DeviceRecord
        switch try meetOrAddDevice(
            user,
            name: texts["deviceName"] ?? "",
            platform: texts["platform"] ?? "",
            token: texts["fcmToken"] ?? ""
        ) {
        case .success(let known): device = known
        case .failure(let refusal): return refusal.reply
        }
        guard let key = try? catalog.rotateKey(of: user) else {
            return .photoSyncText(.internalServerError, "Failed to save API key")
        }
        return .photoSync(.ok, ["success": true, "user": user.json, "device": device.json, "apiKey": .string(key)])
    }

    private static let requiredAtLogin = [
        ("email", "Email"), ("password", "Password"), ("deviceName", "Device name"), ("platform", "Platform"),
        ("fcmToken", "FCM token"),
    ]

    private static let wrongLogin = Reply.photoSyncText(.unauthorized, "Invalid email or password")

    // MARK: Devices

    func register(_ body: [UInt8], for user: UserRecord) throws -> Reply {
        let fields = try GoFields(body: body)
        let name = try fields.string("deviceName") ?? ""
        let platform = try fields.string("platform") ?? ""
        let token = try fields.string("fcmToken") ?? ""
        guard !token.isEmpty else { return .photoSyncText(.badRequest, "FCM token is required") }
        return switch try meetOrAddDevice(user, name: name, platform: platform, token: token) {
        case .success(let device): .photoSync(.ok, device.json)
        case .failure(let refusal): refusal.reply
        }
    }

    /// A known token is its device, unchanged, over all users.
    private func meetOrAddDevice(
        _ user: UserRecord,
        name: String,
        platform: String,
        token: String
    ) throws -> Result<DeviceRecord, PhotoSyncRefusal> {
        if let known = try catalog.meetDevice(token: token) { return .success(known) }
        let name = name.trimmingCharacters(in: .whitespacesAndNewlines)
        let platform = platform.lowercased()
        guard !name.isEmpty else {
            return .failure(PhotoSyncRefusal(reply: .photoSyncText(.badRequest, "device name cannot be empty")))
        }
        guard ["ios", "android"].contains(platform) else {
            return .failure(
                PhotoSyncRefusal(reply: .photoSyncText(.badRequest, "platform must be 'ios' or 'android'"))
            )
        }
        return .success(try catalog.addDevice(user: user.id, name: name, platform: platform, token: token))
    }

    func devices(of user: UserRecord) throws -> Reply {
        .photoSync(.ok, .array(try catalog.devices(of: user.id).map(\.json)))
    }

    func delete(_ id: String, of user: UserRecord) throws -> Reply {
        guard try catalog.deleteDevice(id, of: user.id) else { return .photoSyncText(.notFound, "Device not found") }
        return .photoSync(.ok, ["success": true])
    }
}
