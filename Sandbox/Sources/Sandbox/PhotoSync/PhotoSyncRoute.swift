import HTTPTypes

/// What a request asks PhotoSync for.
enum PhotoSyncRoute: Sendable, Equatable {
    case health, version, info, setupStatus
    case login, refreshKey
    case status, list, legacyPhotos, claim
    case upload, check, browse
    case photo(String), deletePhoto(String)
    case download(id: String), downloadByHash(String), thumbnail(id: String)
    case registerDevice, devices, deleteDevice(String)
    /// Needs the cookie of a browser.
    case cookieOnly
    case notFound, methodNotAllowed

    /// Nil when the path is none of PhotoSync's.
    init?(method: HTTPRequest.Method, path: String) {
        // A doubled slash hides nothing from the sandbox: the path is still PhotoSync's, and still unknown to it.
        let segments = path.split(separator: "/").map(String.init)
        guard Self.belongs(segments) else { return nil }
        guard path == "/" + segments.joined(separator: "/") || Self.isListRoot(path) else {
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

    /// Only these may end in a slash.
    private static func isListRoot(_ path: String) -> Bool {
        ["/api/photos/", "/api/devices/", "/api/web/collections/"].contains(path)
    }

    private static func routes(_ segments: [String]) -> [HTTPRequest.Method: PhotoSyncRoute] {
        let last = segments.last ?? ""
        switch (segments.dropFirst().first, segments.count) {
        case (nil, _), ("health", 2): return [.get: .health]
        case ("version", 2): return [.get: .version]
        case ("info", 2): return [.get: .info]
        case ("setup", 3) where last == "status": return [.get: .setupStatus]
        case ("mobile", 4) where segments[2] == "auth":
            return ["login": [.post: .login], "refresh-key": [.post: .refreshKey]][last] ?? [:]
        case ("photos", _): return photoRoutes(segments)
        case ("sync", 3...): return syncRoutes(segments)
        case ("devices", 2): return [.get: .devices]
        case ("devices", 3): return last == "register" ? [.post: .registerDevice] : [.delete: .deleteDevice(last)]
        case ("users", 3) where last == "me": return [.get: .cookieOnly]
        case ("web", 3...):
            return [.get: .cookieOnly, .post: .cookieOnly, .put: .cookieOnly, .delete: .cookieOnly]
        default: return [:]
        }
    }

    private static func photoRoutes(_ segments: [String]) -> [HTTPRequest.Method: PhotoSyncRoute] {
        switch (segments.count, segments.last ?? "") {
        case (2, _): return [.get: .browse]
        case (3, "upload"): return [.post: .upload, .get: .photo("upload"), .delete: .deletePhoto("upload")]
        case (3, "check"): return [.post: .check, .get: .photo("check"), .delete: .deletePhoto("check")]
        case (3, let id): return [.get: .photo(id), .delete: .deletePhoto(id)]
        case (4, "download"): return [.get: .download(id: segments[2])]
        case (4, "thumbnail"): return [.get: .thumbnail(id: segments[2])]
        default: return [:]
        }
    }

    private static func syncRoutes(_ segments: [String]) -> [HTTPRequest.Method: PhotoSyncRoute] {
        switch (segments.count, segments[2]) {
        case (3, "status"): return [.get: .status]
        case (3, "photos"): return [.post: .list]
        case (3, "legacy-photos"): return [.get: .legacyPhotos]
        case (3, "claim-legacy"): return [.post: .claim]
        case (4, "download"): return [.get: .downloadByHash(segments[3].lowercased())]
        case (4, "thumbnail"): return [.get: .thumbnail(id: segments[3])]
        default: return [:]
        }
    }

    /// Whether it works without a key.
    var isOpen: Bool {
        switch self {
        case .health, .version, .info, .setupStatus, .login, .refreshKey, .cookieOnly, .notFound, .methodNotAllowed:
            true
        default: false
        }
    }

    /// Whether it works before the setup is done.
    var isBeforeSetup: Bool {
        switch self {
        case .health, .setupStatus, .login, .refreshKey: true
        default: false
        }
    }

    /// Which faults strike it.
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

/// A handler's way to say that it is done, and how.
struct PhotoSyncRefusal: Error {
    var reply: Reply
}

extension Reply {
    /// A 2xx answer, or an error of the JSON kind (photosync contract 0).
    static func photoSync(_ status: HTTPResponse.Status = .ok, _ value: JSONValue) -> Reply {
        Reply(status: status, origin: .photoSync, body: .goJSON(value))
    }

    /// `{"error":"…"}`: the auth layer, `/api/photos*`, the setup gate.
    static func photoSyncError(_ status: HTTPResponse.Status, _ message: String) -> Reply {
        .photoSync(status, ["error": .string(message)])
    }

    /// A bare sentence, as Go's `http.Error` writes it: sync, download, devices, login.
    static func photoSyncText(_ status: HTTPResponse.Status, _ message: String) -> Reply {
        Reply(
            status: status,
            origin: .photoSync,
            body: .plainText(message + "\n"),
            headers: [("X-Content-Type-Options", "nosniff")]
        )
    }

    /// No such path.
    static let photoSyncNotFound = photoSyncText(.notFound, "404 page not found")
    /// No such method.
    static let photoSyncMethodNotAllowed = Reply(status: .methodNotAllowed, origin: .photoSync, body: .empty)
    static let invalidRequestBody = photoSyncText(.badRequest, "Invalid request body")
    static let photoSyncDatabaseError = photoSyncText(.internalServerError, "Database error")
    static let notMultipart = photoSyncError(.badRequest, "Request must be multipart/form-data.")
}
