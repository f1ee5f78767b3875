import HTTPTypes
import HummingbirdCore

extension TusSettings.Location {
    /// The value of `Location` for an upload.
    func url(ofUpload id: String, _ exchange: Exchange) -> String {
        switch self {
        case .relative: "/files/\(id)"
        case .foreign(let origin): "\(origin)/files/\(id)"
        case .absolute: "\(exchange.forwardedOrigin)/files/\(id)"
        }
    }
}

extension Exchange {
    /// Scheme and host as the client knows them, told by the proxies in front (as tusd asks them).
    fileprivate var forwardedOrigin: String {
        let forwarded = header("Forwarded") ?? ""
        let knownScheme: String = ["http", "https"].first { $0 == header("X-Forwarded-Proto") } ?? "http"
        let knownHost: String = header("X-Forwarded-Host") ?? request.head.authority ?? "localhost"
        let scheme: String = forwarded.firstMatch(of: /proto=(https?)/).map { String($0.1) } ?? knownScheme
        let host: String = forwarded.firstMatch(of: /host="?([^;",]+)/).map { String($0.1) } ?? knownHost
        return "\(scheme)://\(host)"
    }
}
