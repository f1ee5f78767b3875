import Foundation
import GRDB
import HTTPTypes

/// `/api/photos` without its files: check, get, delete (photosync contract 3.7 and 8).
struct PhotosEndpoint {
    let catalog: PhotoCatalog

    func check(_ body: [UInt8]) throws -> Response {
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
        let missing = hashes.filter { !known.contains($0) }
        return .photoSync(
            .ok,
            ["existing": .array(known.map(JSONValue.string)), "missing": .array(missing.map(JSONValue.string))]
        )
    }

    private static let notFound = Response.photoSyncError(.notFound, "Photo not found.")

    /// Returns the photo of any user, as on the real server.
    func photo(_ id: String) throws -> Response {
        try catalog.photo(id).map { .photoSync(.ok, Self.item($0)) } ?? Self.notFound
    }

    /// Deletes the photo of any user.
    func delete(_ id: String) throws -> Response {
        try catalog.delete(id) ? Response(.noContent, .photoSync, .empty) : Self.notFound
    }

    private static func item(_ photo: PhotoRecord) -> JSONValue {
        [
            "id": .string(photo.id), "originalFilename": .string(photo.name), "storedPath": .string(photo.path),
            "fileSize": .int(photo.size), "dateTaken": .string(photo.takenAt.text),
            "uploadedAt": .string(photo.uploadedAt.text),
        ]
    }
}

/// The stored files, with single ranges and dates (photosync contract 6).
struct PhotoDownloadEndpoint {
    let catalog: PhotoCatalog

    func response(id: String, to exchange: Exchange, from user: UserRecord) throws -> Response {
        guard let photo = try catalog.photo(id) else { return .photoNotFound }
        guard photo.userID == user.id else { return .photoSyncText(.forbidden, "Access denied") }
        return serve(photo, Self.headers(photo), exchange)
    }

    /// Serves only thumbnails that a test has stored.
    func thumbnail(id: String, to exchange: Exchange, from user: UserRecord) throws -> Response {
        guard let photo = try catalog.photo(id) else { return .photoNotFound }
        guard photo.userID == user.id else { return .photoSyncText(.forbidden, "Access denied") }
        guard let file = StoredRange(path: catalog.folder.thumbnailPath(photo.id)) else {
            return .photoSyncText(.notFound, photo.pixels == nil ? "Thumbnail not available" : "Thumbnail not found")
        }
        let headers = [("Cache-Control", "public, max-age=31536000"), ("Accept-Ranges", "bytes")]
        return Self.response(serving: file, exchange.header("Range"), headers, type: "image/jpeg")
    }

    private static func headers(_ photo: PhotoRecord) -> HeaderList {
        [
            ("Content-Disposition", "attachment; filename=\"\(photo.name)\""),
            ("X-Photosync-Hash", photo.hash),
            ("X-Photosync-Datetaken", photo.takenAt.wholeSecondText),
        ]
    }

    private func serve(_ photo: PhotoRecord, _ headers: HeaderList, _ exchange: Exchange) -> Response {
        guard PhotoName.isSafe(photo.path) else { return .photoSyncText(.notFound, "File not found") }
        guard let file = StoredRange(path: catalog.folder.photoPath(photo.path)) else {
            return Response.photoSyncNotFound.with { $0.headers += headers }
        }
        let common = headers + [("Accept-Ranges", "bytes"), ("Last-Modified", HTTPDate.text(file.modifiedAt))]
        // RFC 9110 section 13.1.5.
        let isSame = exchange.header("If-Range").map { HTTPDate.seconds($0) == file.modifiedAt } ?? true
        let range = isSame && !exchange.plan.has(.ignoreRange) ? exchange.header("Range") : nil
        return Self.response(
            serving: file,
            range,
            common,
            type: PhotoName.contentType(photo.path) ?? "application/octet-stream"
        )
    }

    /// Like Go's file server: several ranges are ignored, invalid syntax is refused.
    private static func response(
        serving file: StoredRange,
        _ range: String?,
        _ common: HeaderList,
        type: String
    ) -> Response {
        let range = range?.contains(",") == true ? nil : range
        func refusal(_ text: String) -> Response {
            Response.photoSyncText(.rangeNotSatisfiable, text).with { $0.headers += common }
        }
        if let range, ByteRange(range, size: file.count) == nil { return refusal("invalid range") }
        return Response(.ok, .photoSync, .empty, common + [("Content-Type", type)])
            .serving(file, range, refusal: refusal("invalid range: failed to overlap"))
    }
}

/// Login and devices (photosync contract 1.2 and 1.3).
struct PeopleEndpoint {
    let catalog: PhotoCatalog

    func login(_ body: [UInt8]) throws -> Response {
        let fields = try GoFields(body: body)
        var texts: [String: String] = [:]
        for (key, name) in [
            ("email", "Email"), ("password", "Password"), ("deviceName", "Device name"), ("platform", "Platform"),
            ("fcmToken", "FCM token"),
        ] {
            texts[key] = try fields.string(key) ?? ""
            if texts[key] == "" { throw PhotoSyncRefusal(name + " is required") }
        }
        let wrongLogin = Response.photoSyncText(.unauthorized, "Invalid email or password")
        // Addresses are stored in lowercase, but compared as sent.
        guard let user = try catalog.user(email: texts["email"] ?? "") else { return wrongLogin }
        guard user.isActive else { return .photoSyncText(.internalServerError, "Internal server error") }
        guard let hash = user.passwordHash else { return .photoSyncText(.badRequest, "Password not set for this user") }
        guard Digest.hex(of: texts["password"] ?? "") == hash else { return wrongLogin }
        let device = try meetOrAddDevice(fields, of: user)
        guard let key = try? catalog.rotateKey(of: user) else {
            return .photoSyncText(.internalServerError, "Failed to save API key")
        }
        return .photoSync(.ok, ["success": true, "user": user.json, "device": device.json, "apiKey": .string(key)])
    }

    func register(_ body: [UInt8], for user: UserRecord) throws -> Response {
        .photoSync(.ok, try meetOrAddDevice(GoFields(body: body), of: user).json)
    }

    /// A known token identifies its device, regardless of the user.
    private func meetOrAddDevice(_ fields: GoFields, of user: UserRecord) throws -> DeviceRecord {
        let name = (try fields.string("deviceName") ?? "").trimmingCharacters(in: .whitespacesAndNewlines)
        let platform = (try fields.string("platform") ?? "").lowercased()
        let token = try fields.string("fcmToken") ?? ""
        guard !token.isEmpty else { throw PhotoSyncRefusal("FCM token is required") }
        if let known = try catalog.meetDevice(token: token) { return known }
        guard !name.isEmpty else { throw PhotoSyncRefusal("device name cannot be empty") }
        guard ["ios", "android"].contains(platform) else {
            throw PhotoSyncRefusal("platform must be 'ios' or 'android'")
        }
        return try catalog.addDevice(user: user.id, name: name, platform: platform, token: token)
    }

    func devices(of user: UserRecord) throws -> Response {
        let own = DeviceRecord.filter(sql: "user_id = ?", arguments: [user.id]).order(sql: "last_seen_at DESC")
        let devices = try catalog.queue.read { try own.fetchAll($0) }
        return .photoSync(.ok, .array(devices.map(\.json)))
    }

    func delete(_ id: String, of user: UserRecord) throws -> Response {
        guard try catalog.deleteDevice(id, of: user.id) else { return .photoSyncText(.notFound, "Device not found") }
        return .photoSync(.ok, ["success": true])
    }
}
