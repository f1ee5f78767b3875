/// The name of a setting in the settings file; flags and environment variables are derived from it.
enum SettingKey: String, CaseIterable, Sendable {
    case server
    case uploadsURL = "uploads_url"
    case syncURL = "sync_url"
    case captureURL = "capture_url"
    case libraryURL = "library_url"
    case user
    case caFile = "cacert"
    case pinnedKey = "pinned_key"
    case insecure
    case allowHTTP = "allow_http"
    case http2
    case connectTimeout = "connect_timeout"
    case stallTimeout = "stall_timeout"
    case responseTimeout = "response_timeout"
    case finishTimeout = "finish_timeout"
    case settleTimeout = "settle_timeout"
    case limitRate = "limit_rate"
    case retries
    case maxBytes = "max_bytes"
    case contact
    case orgName = "org_name"
    case eventType = "event_type"
    case color
    case jobs
    case transport
    case chunkSize = "chunk_size"
    case captureProfile = "capture_profile"
    case captureRPID = "capture_rp_id"
    case albumsEnabled = "albums.enabled"
    case albumsLibrary = "albums.library"
    case albumsFolderRoot = "albums.folder.root"
    case albumsUpload = "albums.upload"
    case deleteAssociatedAlbum = "features.deleteAssociatedAlbum"

    /// For example `--stall-timeout`.
    var flag: String {
        switch self {
        case .albumsLibrary: "--library"
        default: "--" + rawValue.replacing("_", with: "-")
        }
    }

    /// For example `MEDIACTL_STALL_TIMEOUT`.
    var environmentVariable: String {
        switch self {
        case .deleteAssociatedAlbum: "MEDIACTL_FEATURE_DELETE_ALBUM"
        default: "MEDIACTL_" + rawValue.replacing(".", with: "_").uppercased()
        }
    }

    /// Settings whose name has changed, by their old name, which is still accepted.
    static let deprecated: [String: SettingKey] = ["answer_timeout": .responseTimeout]

    /// The old name of the setting as an environment variable; nil if it never had another.
    var deprecatedVariable: String? {
        Self.deprecated.first { $0.value == self }.map { "MEDIACTL_" + $0.key.uppercased() }
    }

    /// Whether the settings file must have a YAML boolean here.
    var isBoolean: Bool {
        [.insecure, .allowHTTP, .http2, .albumsEnabled, .albumsUpload, .deleteAssociatedAlbum].contains(self)
    }

    /// Whether the value is a path, which in the settings file begins at its directory.
    var isPath: Bool { self == .caFile || self == .albumsFolderRoot }

    /// Names that only group others: `albums` and `albums.folder`, and the like.
    static let groups: Set<String> = Set(
        allCases.flatMap { key in
            let parts = key.rawValue.split(separator: ".")
            return parts.indices.dropFirst().map { parts[..<$0].joined(separator: ".") }
        }
    )

    /// The settings that name a server.
    static let addresses: [SettingKey] = [.server, .uploadsURL, .syncURL, .captureURL, .libraryURL]
}
