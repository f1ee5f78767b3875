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
    case answerTimeout = "answer_timeout"
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

    /// For example `--stall-timeout`.
    var flag: String { "--" + rawValue.replacing("_", with: "-") }
    /// For example `MEDIACTL_STALL_TIMEOUT`.
    var environmentVariable: String { "MEDIACTL_" + rawValue.uppercased() }

    /// Whether the settings file must have a YAML boolean here.
    var isBoolean: Bool { [.insecure, .allowHTTP, .http2].contains(self) }
    /// The settings that name a server.
    static let addresses: [SettingKey] = [.server, .uploadsURL, .syncURL, .captureURL, .libraryURL]
}
