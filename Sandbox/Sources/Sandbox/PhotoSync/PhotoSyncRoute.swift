import HTTPTypes

enum PhotoSyncRoute: Sendable, Equatable {
    case health, version, info, setupStatus
    case login, refreshKey
    case status, list, legacyPhotos, claim
    case upload, check, browse
    case photo(String), deletePhoto(String)
    case download(id: String), downloadByHash(String), thumbnail(id: String)
    case registerDevice, devices, deleteDevice(String)
    /// Requires the cookie of a browser.
    case cookieOnly
    case notFound, methodNotAllowed

    init?(method: HTTPRequest.Method, path: String) {
        // A doubled slash is not normalized: the path is still PhotoSync's, and unknown to it.
        let segments = path.split(separator: "/").map(String.init)
        guard Self.belongs(segments) else { return nil }
        // Only these may end in a slash.
        let roots = ["/api/photos/", "/api/devices/", "/api/web/collections/"]
        guard path == "/" + segments.joined(separator: "/") || roots.contains(path) else {
            self = .notFound
            return
        }
        let routes = Self.routes(segments)
        self = routes.isEmpty ? .notFound : routes[method] ?? .methodNotAllowed
    }

    private static func belongs(_ segments: [String]) -> Bool {
        if segments == ["health"] { return true }
        let areas = [
            "health", "version", "info", "setup", "mobile", "sync", "photos", "devices", "web", "users", "admin",
            "invite", "collections",
        ]
        return segments.count > 1 && segments[0] == "api" && areas.contains(segments[1])
    }

    private static func routes(_ segments: [String]) -> [HTTPRequest.Method: PhotoSyncRoute] {
        let (last, count) = (segments.last ?? "", segments.count)
        switch (segments.dropFirst().first, count > 2 ? segments[2] : "") {
        case (nil, _), ("health", ""): return [.get: .health]
        case ("version", ""): return [.get: .version]
        case ("info", ""): return [.get: .info]
        case ("setup", "status") where count == 3: return [.get: .setupStatus]
        case ("mobile", "auth") where count == 4:
            return ["login": [.post: .login], "refresh-key": [.post: .refreshKey]][last] ?? [:]
        case ("photos", ""): return [.get: .browse]
        case ("photos", let id) where count == 3:
            let post: [HTTPRequest.Method: PhotoSyncRoute] =
                ["upload": [.post: .upload], "check": [.post: .check]][id] ?? [:]
            return post.merging([.get: .photo(id), .delete: .deletePhoto(id)]) { own, _ in own }
        case ("photos", let id) where count == 4 && last == "download": return [.get: .download(id: id)]
        case ("photos", let id) where count == 4 && last == "thumbnail": return [.get: .thumbnail(id: id)]
        case ("sync", "status") where count == 3: return [.get: .status]
        case ("sync", "photos") where count == 3: return [.post: .list]
        case ("sync", "legacy-photos") where count == 3: return [.get: .legacyPhotos]
        case ("sync", "claim-legacy") where count == 3: return [.post: .claim]
        case ("sync", "download") where count == 4: return [.get: .downloadByHash(last.lowercased())]
        case ("sync", "thumbnail") where count == 4: return [.get: .thumbnail(id: last)]
        case ("devices", ""): return [.get: .devices]
        case ("devices", "register") where count == 3: return [.post: .registerDevice]
        case ("devices", let id) where count == 3: return [.delete: .deleteDevice(id)]
        case ("users", "me") where count == 3: return [.get: .cookieOnly]
        case ("web", _) where count >= 3:
            return [.get: .cookieOnly, .post: .cookieOnly, .put: .cookieOnly, .delete: .cookieOnly]
        default: return [:]
        }
    }

    var isOpen: Bool {
        switch self {
        case .version, .info, .cookieOnly, .notFound, .methodNotAllowed: true
        default: isBeforeSetup
        }
    }

    var isBeforeSetup: Bool { [.health, .setupStatus, .login, .refreshKey].contains(self) }

    var place: Fault.Place? {
        switch self {
        case .health, .version, .info, .setupStatus: .photosHealth
        case .login, .refreshKey: .login
        case .status: .photosStatus
        case .list: .photosList
        case .legacyPhotos: .photosLegacy
        case .claim: .photosClaim
        case .upload: .photosUpload
        case .check: .photosCheck
        case .browse, .photo: .photosBrowse
        case .deletePhoto: .photosDelete
        case .download, .downloadByHash: .photosDownload
        case .thumbnail: .photosThumbnail
        case .registerDevice, .devices, .deleteDevice: .devices
        case .cookieOnly, .notFound, .methodNotAllowed: nil
        }
    }
}

/// A request that is rejected with 400 and this message.
struct PhotoSyncRefusal: Refusal {
    let reply: Reply

    init(_ text: String) { reply = .photoSyncText(.badRequest, text) }
}

extension Reply {
    /// A 2xx response, or an error in JSON (photosync contract 0).
    static func photoSync(_ status: HTTPResponse.Status = .ok, _ value: JSONValue) -> Reply {
        Reply(status, .photoSync, .json(value))
    }

    /// `{"error":"…"}`: the auth layer, `/api/photos*`, the setup gate.
    static func photoSyncError(_ status: HTTPResponse.Status, _ message: String) -> Reply {
        .photoSync(status, ["error": .string(message)])
    }

    /// Plain text, as written by Go's `http.Error`: sync, download, devices, login.
    static func photoSyncText(_ status: HTTPResponse.Status, _ message: String) -> Reply {
        Reply(status, .photoSync, .plainText(message + "\n"), [("X-Content-Type-Options", "nosniff")])
    }

    static let photoSyncNotFound = photoSyncText(.notFound, "404 page not found")
    static let photoNotFound = photoSyncText(.notFound, "Photo not found")
    static let invalidRequestBody = photoSyncText(.badRequest, "Invalid request body")
    static let photoSyncDatabaseError = photoSyncText(.internalServerError, "Database error")
    static let notMultipart = photoSyncError(.badRequest, "Request must be multipart/form-data.")
}
