import HTTPTypes

enum PhotoSyncRoute: Sendable, Equatable {
    case health, version, setupStatus, login
    case status, list, claim
    case upload, check
    case photo(String), deletePhoto(String)
    case download(String), thumbnail(String)
    case registerDevice, devices, deleteDevice(String)
    case notFound, methodNotAllowed

    init?(method: HTTPRequest.Method, path: String) {
        // A PhotoSync path with a double slash returns 404.
        let segments = path.split(separator: "/").map(String.init)
        guard Self.belongs(segments) else { return nil }
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
        case ("setup", "status") where count == 3: return [.get: .setupStatus]
        case ("mobile", "auth") where count == 4 && last == "login": return [.post: .login]
        case ("photos", let id) where count == 3:
            let post: [HTTPRequest.Method: PhotoSyncRoute] =
                ["upload": [.post: .upload], "check": [.post: .check]][id] ?? [:]
            return post.merging([.get: .photo(id), .delete: .deletePhoto(id)]) { own, _ in own }
        case ("photos", let id) where count == 4 && last == "download": return [.get: .download(id)]
        case ("photos", let id) where count == 4 && last == "thumbnail": return [.get: .thumbnail(id)]
        case ("sync", "status") where count == 3: return [.get: .status]
        case ("sync", "photos") where count == 3: return [.post: .list]
        case ("sync", "claim-legacy") where count == 3: return [.post: .claim]
        case ("devices", ""): return [.get: .devices]
        case ("devices", "register") where count == 3: return [.post: .registerDevice]
        case ("devices", let id) where count == 3: return [.delete: .deleteDevice(id)]
        default: return [:]
        }
    }

    var isOpen: Bool {
        switch self {
        case .version, .notFound, .methodNotAllowed: true
        default: isBeforeSetup
        }
    }

    var isBeforeSetup: Bool { [.health, .setupStatus, .login].contains(self) }

    var place: Fault.Place? {
        switch self {
        case .health, .version, .setupStatus: .photosHealth
        case .login: .login
        case .status: .photosStatus
        case .list: .photosList
        case .claim: .photosClaim
        case .upload: .photosUpload
        case .check: .photosCheck
        case .photo: .photosGet
        case .deletePhoto: .photosDelete
        case .download: .photosDownload
        case .thumbnail: .photosThumbnail
        case .registerDevice, .devices, .deleteDevice: .devices
        case .notFound, .methodNotAllowed: nil
        }
    }
}

/// A 400 in plain text.
struct PhotoSyncRefusal: Refusal {
    let response: Response

    init(_ text: String) { response = .photoSyncText(.badRequest, text) }
}

extension Response {
    /// A response in JSON (photosync contract 0).
    static func photoSync(_ status: HTTPResponse.Status = .ok, _ value: JSONValue) -> Response {
        Response(status, .photoSync, .json(value))
    }

    /// `{"error":"…"}`: authentication, `/api/photos*`, setup.
    static func photoSyncError(_ status: HTTPResponse.Status, _ message: String) -> Response {
        .photoSync(status, ["error": .string(message)])
    }

    /// Plain text, like Go's `http.Error`: sync, download, devices, login.
    static func photoSyncText(_ status: HTTPResponse.Status, _ message: String) -> Response {
        Response(status, .photoSync, .plainText(message + "\n"), [("X-Content-Type-Options", "nosniff")])
    }

    static let photoSyncNotFound = photoSyncText(.notFound, "404 page not found")
    static let photoNotFound = photoSyncText(.notFound, "Photo not found")
    static let invalidRequestBody = photoSyncText(.badRequest, "Invalid request body")
    static let photoSyncDatabaseError = photoSyncText(.internalServerError, "Database error")
    static let notMultipart = photoSyncError(.badRequest, "Request must be multipart/form-data.")
}
