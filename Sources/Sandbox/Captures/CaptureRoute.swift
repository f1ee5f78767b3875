import Foundation
import HTTPTypes

/// What a request asks the capture server for.
enum CaptureRoute: Sendable, Equatable {
    case challenge, register
    case hashOnly, full
    case capture(String), captureByHash(String)
    case publicPage(String), verifyFile
    case notFound, methodNotAllowed

    private static let prefix = "/api/v1/"

    /// Nil when the path is none of the capture server's.
    init?(method: HTTPRequest.Method, path: String, profile: CaptureSettings.Profile) {
        guard path.hasPrefix(Self.prefix) else { return nil }
        let segments = path.dropFirst(Self.prefix.count).split(separator: "/", omittingEmptySubsequences: false)
            .map(String.init)
        guard let (wanted, route) = Self.route(segments, profile) else {
            self = .notFound
            return
        }
        self = method == wanted ? route : .methodNotAllowed
    }

    private static func route(
        _ segments: [String],
        _ profile: CaptureSettings.Profile
    ) -> (HTTPRequest.Method, CaptureRoute)? {
        let last = segments.last ?? ""
        guard !last.isEmpty else { return nil }
        switch (segments[0], segments.count) {
        case ("devices", 2) where last == "challenge": return (.get, .challenge)
        case ("devices", 2) where last == "register": return (.post, .register)
        case ("captures", 1): return (.post, .full)
        case ("captures", 2): return last == "hash-only" ? (.post, .hashOnly) : (.get, .capture(last))
        case ("captures", 3) where segments[1] == "by-hash" && profile == .mediactl1:
            return (.get, .captureByHash(last))
        case ("verify-file", 1): return (.post, .verifyFile)
        case ("verify", 2): return (.get, .publicPage(last))
        default: return nil
        }
    }

    /// Whether it works without a device.
    var isOpen: Bool {
        switch self {
        case .hashOnly, .full, .capture, .captureByHash: false
        default: true
        }
    }

    /// Which faults strike it.
    var place: Fault.Place? {
        switch self {
        case .challenge: .challenge
        case .register: .register
        case .hashOnly: .capture
        case .full: .captureFull
        case .capture, .captureByHash, .publicPage, .verifyFile: .captureRead
        case .notFound, .methodNotAllowed: nil
        }
    }
}

/// Ids of devices, captures and requests.
enum CaptureID {
    static func new() -> String { newUUID() }

    /// In lower case; nil for anything but a UUID.
    static func read(_ text: String) -> String? { UUID(uuidString: text)?.uuidString.lowercased() }
}
