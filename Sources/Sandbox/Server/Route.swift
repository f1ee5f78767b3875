import HTTPTypes

/// What a request asks for.
enum Route: Sendable {
    case upload
    case tus(TusCall)
    case finalize
    case guest(GuestCall)
    case asset(Int)
    /// Any other method or path below the upload API.
    case unknownUploadCall
    case mediaFilesListing
    case delete
    case listing
    case health
    case media(MediaKind, fileName: String)
    case home
    case unknown

    init(method: HTTPRequest.Method, path: String) {
        switch path {
        case "/": self = .home
        case "/index.php": self = .home
        case "/db/health.php": self = .health
        case "/db/database.php": self = .listing
        case "/db/delete_media_files.php": self = .delete
        case "/api/uploads.php", "/api/uploads": self = method == .post ? .upload : .unknownUploadCall
        case "/api/media-files": self = method == .post ? .upload : .mediaFilesListing
        default: self = Self.below(path, method: method)
        }
    }

    private static func below(_ path: String, method: HTTPRequest.Method) -> Route {
        if path.hasPrefix("/files/") {
            return .tus(TusCall(method: method, path: String(path.dropFirst("/files/".count))))
        }
        if let call = GuestCall(path: path) { return .guest(call) }
        if method == .post, ["/api/uploads/finalize", "/api/uploads.php/finalize"].contains(path) { return .finalize }
        for prefix in ["/api/uploads/", "/api/uploads.php/"] where path.hasPrefix(prefix) {
            guard method == .get, let id = Int(path.dropFirst(prefix.count)) else { return .unknownUploadCall }
            return .asset(id)
        }
        for kind in MediaKind.allCases where path.hasPrefix("/\(kind.rawValue)/") {
            return .media(kind, fileName: String(path.dropFirst(kind.rawValue.count + 2)))
        }
        return .unknown
    }

    /// Which faults strike it.
    var place: Fault.Place? {
        switch self {
        case .upload: .upload
        case .tus(let call): call.place
        case .finalize: .finalize
        case .guest(let call): call.place
        case .asset: .asset
        case .delete: .delete
        case .listing: .listing
        case .health: .health
        case .media: .media
        case .unknownUploadCall, .mediaFilesListing, .home, .unknown: nil
        }
    }
}
