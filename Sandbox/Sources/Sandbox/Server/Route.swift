import ArgumentParser
import Foundation
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
    /// A media file as PHP serves it (D4).
    case stream([MediaKind], fileName: String)
    case home
    /// A PHP script that does not exist (D4).
    case missingScript
    case unknown

    init(method: HTTPRequest.Method, path: String, dialect: Dialect) {
        self = dialect == .d4 ? Self.ofPHP(path, method: method) : Self.general(path, method: method)
    }

    /// D4: what D3 leaves to tusd and Apache goes to PHP as well (gighive-d4 contract 2).
    private static func ofPHP(_ path: String, method: HTTPRequest.Method) -> Route {
        if path == "/files" { return .tus(TusCall(method: method, path: "")) }
        if path.hasPrefix("/media/") {
            return .stream(MediaKind.allCases, fileName: String(path.dropFirst("/media/".count)))
        }
        switch general(path, method: method) {
        case .media(let kind, let fileName): return .stream([kind], fileName: fileName)
        case .unknown where path.hasSuffix(".php"): return .missingScript
        case let route: return route
        }
    }

    private static func general(_ path: String, method: HTTPRequest.Method) -> Route {
        switch path {
        case "/": .home
        case "/index.php": .home
        case "/db/health.php": .health
        case "/db/database.php": .listing
        case "/db/delete_media_files.php": .delete
        case "/api/uploads.php", "/api/uploads": method == .post ? .upload : .unknownUploadCall
        case "/api/media-files": method == .post ? .upload : .mediaFilesListing
        default: below(path, method: method)
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
        case .media, .stream: .media
        case .unknownUploadCall, .mediaFilesListing, .home, .missingScript, .unknown: nil
        }
    }
}

/// Who may use a path: the table of gighive contract 1.
enum AccessRule: Sendable {
    case everyone
    case anyUser
    case users(Set<String>, realm: String, orUploadToken: Bool = false)

    private static let uploaders: Set<String> = ["admin", "uploader"]

    init(path: String, dialect: Dialect) {
        func isBelow(_ prefix: String) -> Bool { path == prefix || path.hasPrefix(prefix + "/") }
        switch path {
        case "/", "/index.php", "/db/health.php": self = .everyone
        // The scripts check the event link themselves.
        case _ where dialect >= .d3 && GuestCall(path: path) != nil: self = .everyone
        case "/db/delete_media_files.php": self = .users(Self.uploaders, realm: "GigHive Admin")
        case _ where isBelow("/api/uploads.php") || isBelow("/api/media-files"):
            self = .users(Self.uploaders, realm: "GigHive Upload")
        case _ where isBelow("/api/uploads") || isBelow("/files"):
            self = .users(Self.uploaders, realm: "GigHive Upload", orUploadToken: dialect >= .d3)
        // D1 has no such pages: 404 for every user.
        case _ where isBelow("/admin") && dialect != .d1: self = .users(["admin"], realm: "GigHive Admin")
        case _ where dialect == .d4 && isBelow("/media"): self = .anyUser
        case _ where ["/db", "/api", "/audio", "/video", "/docs"].contains(where: isBelow): self = .anyUser
        default: self = .everyone
        }
    }

    /// The realm of a refusal; nil lets the request through.
    func refusal(user: String?, hasUploadToken: Bool) -> String? {
        switch self {
        case .everyone: nil
        case .anyUser: user == nil ? "GigHive Protected" : nil
        case .users(let names, let realm, let orUploadToken):
            user.map(names.contains) ?? false || (orUploadToken && hasUploadToken) ? nil : realm
        }
    }
}

/// A user of the sandbox; the name is the role (gighive contract 1).
struct Account: Sendable, Equatable, ExpressibleByArgument {
    var name: String
    var password: String

    init(name: String, password: String) {
        self.name = name
        self.password = password
    }

    /// Reads `NAME:PASSWORD`.
    init?(argument: String) {
        guard let colon = argument.firstIndex(of: ":"), colon != argument.startIndex else { return nil }
        self.init(name: String(argument[..<colon]), password: String(argument[argument.index(after: colon)...]))
    }

    static let defaults = ["admin", "uploader", "viewer"].map { Account(name: $0, password: $0) }

    /// The user and password of a Basic `Authorization` header (RFC 7617).
    init?(authorization header: String?) {
        guard let header, header.lowercased().hasPrefix("basic "),
            let data = Data(base64Encoded: header.dropFirst(6).trimmingCharacters(in: .whitespaces)),
            let text = String(data: data, encoding: .utf8)
        else { return nil }
        self.init(argument: text)
    }
}
