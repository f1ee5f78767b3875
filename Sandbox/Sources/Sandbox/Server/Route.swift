import ArgumentParser
import Foundation
import HTTPTypes

enum Route: Sendable {
    case upload
    case tus(TusCall)
    case finalize
    case guest(GuestCall)
    case asset(Int)
    /// Any other method or path below the upload API.
    case unknownUploadCall
    case mediaFilesListing
    case delete, listing, health
    case media(MediaKind, fileName: String)
    /// A media file served by PHP (D4).
    case stream([MediaKind], fileName: String)
    case home
    /// A PHP script that does not exist (D4).
    case missingScript
    case unknown

    init(method: HTTPRequest.Method, path: String, dialect: Dialect) {
        self = Self.general(path, method: method)
        guard dialect == .d4 else { return }
        // Paths that tusd and Apache serve in D3 are handled by PHP as well (gighive-d4 contract 2).
        switch self {
        case _ where path == "/files": self = .tus(TusCall(method: method, path: ""))
        case _ where path.hasPrefix("/media/"):
            self = .stream(MediaKind.allCases, fileName: String(path.dropFirst("/media/".count)))
        case .media(let kind, let fileName): self = .stream([kind], fileName: fileName)
        case .unknown where path.hasSuffix(".php"): self = .missingScript
        default: break
        }
    }

    private static func general(_ path: String, method: HTTPRequest.Method) -> Route {
        switch path {
        case "/", "/index.php": return .home
        case "/db/health.php": return .health
        case "/db/database.php": return .listing
        case "/db/delete_media_files.php": return .delete
        case "/api/uploads.php", "/api/uploads": return method == .post ? .upload : .unknownUploadCall
        case "/api/uploads.php/finalize" where method == .post, "/api/uploads/finalize" where method == .post:
            return .finalize
        case "/api/media-files": return method == .post ? .upload : .mediaFilesListing
        default: break
        }
        if let path = rest(of: path, after: "/files/") { return .tus(TusCall(method: method, path: path)) }
        if let call = GuestCall(path: path) { return .guest(call) }
        if let id = rest(of: path, after: "/api/uploads/") ?? rest(of: path, after: "/api/uploads.php/") {
            return method == .get ? Int(id).map(Route.asset) ?? .unknownUploadCall : .unknownUploadCall
        }
        for kind in MediaKind.allCases {
            if let fileName = rest(of: path, after: "/\(kind.rawValue)/") { return .media(kind, fileName: fileName) }
        }
        return .unknown
    }

    private static func rest(of path: String, after prefix: String) -> String? {
        path.hasPrefix(prefix) ? String(path.dropFirst(prefix.count)) : nil
    }

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
        case .media, .stream: .media
        case .unknownUploadCall, .mediaFilesListing, .home, .missingScript, .unknown: nil
        }
    }
}

/// Who may use a path: the table of gighive contract 1.
enum AccessRule {
    /// The realm of a refusal; nil permits the request.
    static func refusal(_ path: String, _ dialect: Dialect, user: String?, hasUploadToken: Bool) -> String? {
        func isBelow(_ prefixes: String...) -> Bool { prefixes.contains { path == $0 || path.hasPrefix($0 + "/") } }
        let isUploader = user == "admin" || user == "uploader"
        switch path {
        case "/", "/index.php", "/db/health.php": return nil
        // The scripts check the event link themselves.
        case _ where dialect >= .d3 && GuestCall(path: path) != nil: return nil
        case "/db/delete_media_files.php": return isUploader ? nil : "GigHive Admin"
        case _ where isBelow("/api/uploads.php", "/api/media-files"): return isUploader ? nil : "GigHive Upload"
        case _ where isBelow("/api/uploads", "/files"):
            return isUploader || (dialect >= .d3 && hasUploadToken) ? nil : "GigHive Upload"
        // D1 has no such pages: 404 for every user.
        case _ where isBelow("/admin") && dialect != .d1: return user == "admin" ? nil : "GigHive Admin"
        case _ where isBelow("/db", "/api", "/audio", "/video", "/docs") || (dialect == .d4 && isBelow("/media")):
            return user == nil ? "GigHive Protected" : nil
        default: return nil
        }
    }
}

/// A user of the sandbox; the name is the role (gighive contract 1).
struct Account: Sendable, Equatable {
    var name: String
    var password: String

    static let defaults = ["admin", "uploader", "viewer"].map { Account(name: $0, password: $0) }
}

extension Account: ExpressibleByArgument {
    init?(argument: String) {
        guard let colon = argument.firstIndex(of: ":"), colon != argument.startIndex else { return nil }
        self.init(name: String(argument[..<colon]), password: String(argument[argument.index(after: colon)...]))
    }

    /// The user and password of a Basic `Authorization` header (RFC 7617).
    init?(authorization header: String?) {
        guard let header, header.lowercased().hasPrefix("basic "),
            let bytes = base64Bytes(header.dropFirst(6).trimmingCharacters(in: .whitespaces))
        else { return nil }
        self.init(argument: String(decoding: bytes, as: UTF8.self))
    }
}
