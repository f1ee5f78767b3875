/// Who may use a path: the table of gighive contract 1.
enum AccessRule: Sendable {
    case everybody
    case anyUser
    case users(Set<String>, realm: String, orUploadToken: Bool = false)

    private static let uploaders: Set<String> = ["admin", "uploader"]

    init(path: String, dialect: Dialect) {
        func isBelow(_ prefix: String) -> Bool { path == prefix || path.hasPrefix(prefix + "/") }
        switch path {
        case "/", "/index.php", "/db/health.php": self = .everybody
        // The scripts check the event link themselves.
        case _ where dialect >= .d3 && GuestCall(path: path) != nil: self = .everybody
        case "/db/delete_media_files.php": self = .users(Self.uploaders, realm: "GigHive Admin")
        case _ where isBelow("/api/uploads.php") || isBelow("/api/media-files"):
            self = .users(Self.uploaders, realm: "GigHive Upload")
        case _ where isBelow("/api/uploads") || isBelow("/files"):
            self = .users(Self.uploaders, realm: "GigHive Upload", orUploadToken: dialect >= .d3)
        // D1 has no such pages: 404 for every user.
        case _ where isBelow("/admin") && dialect != .d1: self = .users(["admin"], realm: "GigHive Admin")
        case _ where dialect == .d4 && isBelow("/media"): self = .anyUser
        case _ where ["/db", "/api", "/audio", "/video", "/docs"].contains(where: isBelow): self = .anyUser
        default: self = .everybody
        }
    }

    /// The realm of a refusal; nil lets the request through.
    func refusal(user: String?, hasUploadToken: Bool) -> String? {
        switch self {
        case .everybody: nil
        case .anyUser: user == nil ? "GigHive Protected" : nil
        case .users(let names, let realm, let orUploadToken):
            user.map(names.contains) ?? false || (orUploadToken && hasUploadToken) ? nil : realm
        }
    }
}
